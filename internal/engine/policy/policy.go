// Package policy asks policies about a plan: modules of Open Policy Agent with the conventions of conftest, and
// validations in CEL. It is pure: policies reach neither network nor clock nor environment, and their result for a plan
// is always the same. Policies are not trusted: they can end a process or keep it busy for ever, so an Apart has one of
// its own for it.
package policy

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// largest is how long the text of a module may be.
const largest = 256 << 10

// Module is one file of policies.
type Module struct {
	// Name is the ConfigMap and the key in it, which ends in .rego, .yaml or .yml. Modules whose names are alike up to
	// the last slash see each other, and no others. Example: rules/tags.rego.
	Name string
	Text string
}

// Set is policies that are ready to be asked. It can be used by several goroutines at once.
type Set struct {
	rules       []rule
	validations []validation
	// checked is how many modules of Rego and validations there are.
	checked int32
}

// Invalid is an error in the text of a policy.
type Invalid struct {
	// Module that is wrong, and Line in it; 0 where that is not known.
	Module  string
	Line    int
	Message string
}

func (e *Invalid) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("policy %s, line %d: %s", e.Module, e.Line, e.Message)
	}
	return fmt.Sprintf("policy %s: %s", e.Module, e.Message)
}

// Compile reads policies. What is wrong with one of them is an *Invalid; where several are, it is the first one by
// name.
func Compile(modules []Module) (set *Set, err error) {
	defer func() {
		if p := recover(); p != nil {
			set, err = nil, &Invalid{Module: "", Message: fmt.Sprintf("it cannot be read: %v", p)}
		}
	}()
	modules = slices.Clone(modules)
	slices.SortFunc(modules, func(a, b Module) int { return strings.Compare(a.Name, b.Name) })
	set = &Set{}
	groups := map[string][]Module{}
	for i, m := range modules {
		if i > 0 && modules[i-1].Name == m.Name {
			return nil, &Invalid{Module: m.Name, Message: "there are two of this name"}
		}
		if len(m.Text) > largest {
			return nil, &Invalid{Module: m.Name, Message: fmt.Sprintf("it is longer than %d KiB", largest>>10)}
		}
		switch path.Ext(m.Name) {
		case ".rego":
			folder := path.Dir(m.Name)
			groups[folder] = append(groups[folder], m)
		case ".yaml", ".yml":
			validations, err := readValidations(m)
			if err != nil {
				return nil, err
			}
			set.validations = append(set.validations, validations...)
			set.checked += int32(len(validations))
		default:
			return nil, &Invalid{Module: m.Name, Message: "the name of a policy ends in .rego, .yaml or .yml"}
		}
	}
	var wrong []*Invalid
	for _, group := range groups {
		rules, checked, err := readRules(group)
		if invalid, ok := errors.AsType[*Invalid](err); ok {
			wrong = append(wrong, invalid)
		} else if err != nil {
			return nil, err
		}
		set.rules = append(set.rules, rules...)
		set.checked += checked
	}
	if len(wrong) > 0 {
		return nil, slices.MinFunc(wrong, func(a, b *Invalid) int { return cmp.Compare(a.Module, b.Module) })
	}
	slices.SortStableFunc(set.rules, func(a, b rule) int { return strings.Compare(a.module, b.module) })
	return set, nil
}
