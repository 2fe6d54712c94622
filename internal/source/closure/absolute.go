package closure

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Absolute paths begin with the directory where the pod unpacks the repository, which is not known here: code is
// evaluated for two of them. A text that differs in more than this beginning is unknown. An unknown text that functions
// compute from an absolute path may be the path of any file, without a ".." in it: the closure is the whole repository.

// repositoryRoot and otherRoot are two directories of the repository, at different depths. Absolute paths in texts
// begin with the first one.
const (
	repositoryRoot = "/.repository"
	otherRoot      = "/.another/.place/.of/.the.repository"
)

// origin describes from what an expression is computed.
type origin int

const (
	// fromAbsolute is a text that is computed from an absolute path.
	fromAbsolute origin = 1 << iota
	// fromFragment is a text that is computed from the result of a function that takes an absolute path apart.
	fromFragment
	// fromName is a value that depends on an absolute path, such as its length, and has nothing of it.
	fromName
)

// outcome describes the result of a function, if it gets an absolute path.
type outcome int

const (
	// takesApart: the result may be any part of the path. It is that of each function without another outcome.
	takesApart outcome = iota
	// passesOn: the texts of the result are among those of the arguments, or contain them.
	passesOn
	// hasNoPath: the result has nothing of the path that leads to another directory.
	hasNoPath
)

// outcomes of the engine's functions.
var outcomes = func() map[string]outcome {
	all := map[string]outcome{}
	for _, name := range strings.Fields(
		`abspath pathexpand format formatlist join coalesce coalescelist try element lookup
		merge concat flatten toset tolist tomap tostring distinct compact one values sort reverse slice chunklist zipmap
		setunion setintersection setsubtract setproduct matchkeys transpose sensitive nonsensitive jsonencode yamlencode
		ephemeralasnull trimspace chomp indent`) {
		all[name] = passesOn
	}
	for _, name := range strings.Fields(`file filebase64 fileexists fileset filemd5 filesha1 filesha256 filesha512
		filebase64sha256 filebase64sha512 templatefile md5 sha1 sha256 sha512 base64sha256 base64sha512 bcrypt uuidv5
		basename length can contains alltrue anytrue startswith endswith strcontains index parseint tonumber tobool keys
		base64encode base64gzip textencodebase64 urlencode issensitive`) {
		all[name] = hasNoPath
	}
	return all
}()

// origin returns from what an expression is computed, through local values.
func (m *scope) origin(expr hclsyntax.Expression) origin {
	var found origin
	for stack := []hclsyntax.Expression{expr}; len(stack) > 0; {
		next := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch e := next.(type) {
		case *hclsyntax.FunctionCallExpr:
			name := nameOf(e)
			if name == "abspath" {
				found |= fromAbsolute
			}
			if outcomes[name] == passesOn {
				break
			}
			for _, arg := range e.Args {
				from := m.origin(arg)
				switch {
				case from != 0 && outcomes[name] == hasNoPath:
					from = fromName
				case from&fromAbsolute != 0:
					from |= fromFragment
				}
				found |= from
			}
			continue
		case *hclsyntax.ScopeTraversalExpr:
			found |= m.originOf(e.Traversal)
		}
		stack = append(stack, children(next)...)
	}
	return found
}

// originOf returns from what the value of a reference is computed.
func (m *scope) originOf(reference hcl.Traversal) origin {
	name := ""
	if len(reference) > 1 {
		name = nameOfStep(reference[1])
	}
	switch root := reference.RootName(); {
	case m.variables != nil:
		value, ok := m.variables[root]
		switch {
		case ok && !m.isSame(value, m.elsewhere.variables[root]):
			return fromAbsolute | fromFragment
		case ok && hasTop(value):
			return fromAbsolute
		}
	case root == "path" && name != "module" && name != "root":
		return fromAbsolute
	case root == "local" && m.locals[name] != nil:
		expr := m.locals[name]
		if object, ok := expr.(*hclsyntax.ObjectConsExpr); ok && len(reference) > 2 {
			if member := nameOfStep(reference[2]); member != "" {
				expr, name = memberOf(object, member), name+"."+member
			}
		}
		if _, ok := m.absolutes[name]; !ok && expr != nil {
			m.absolutes[name] = 0 // for a reference to itself
			m.absolutes[name] = m.origin(expr)
		}
		return m.absolutes[name]
	}
	return 0
}

// nameOfStep returns the name in a step of a reference, as in a.name and a["name"]; "" for another step.
func nameOfStep(step hcl.Traverser) string {
	switch step := step.(type) {
	case hcl.TraverseAttr:
		return step.Name
	case hcl.TraverseIndex:
		name, _ := asText(step.Key)
		return name
	}
	return ""
}

// memberOf returns the value of a member of an object; the object for one that is not among the literal names.
func memberOf(object *hclsyntax.ObjectConsExpr, name string) hclsyntax.Expression {
	for _, item := range object.Items {
		if key, ok := item.KeyExpr.(*hclsyntax.ObjectConsKeyExpr); ok && hcl.ExprAsKeyword(key.Wrapped) == name {
			return item.ValueExpr
		}
	}
	return object
}

// isLost reports whether an expression, whose value is unknown, computes a text from an absolute path that may be
// another path. Of its parts, only what they are computed from is read.
func (m *scope) isLost(expr hclsyntax.Expression) bool {
	if m.elsewhere == nil {
		return false
	}
	switch e := expr.(type) {
	case *hclsyntax.ForExpr:
		return m.origin(e.CollExpr)&fromFragment != 0
	case *hclsyntax.SplatExpr:
		return m.origin(e.Source)&fromFragment != 0
	case *hclsyntax.FunctionCallExpr:
		_, joined := m.parts(e)
		from := m.origin(e)
		switch {
		case outcomes[nameOf(e)] == takesApart:
			return from&fromAbsolute != 0 && !m.isName(e)
		case nameOf(e) == "join" && !joined:
			return from&fromFragment != 0 && !m.isName(e)
		}
	}
	return false
}

// isName reports whether an expression has known texts wherever the repository is, none of which has a directory.
func (m *scope) isName(expr hclsyntax.Expression) bool {
	for _, at := range []*scope{m, m.elsewhere} {
		value := at.evaluate(expr)
		if t := value.Type(); t == cty.Number || t == cty.Bool {
			continue
		}
		name := value.IsWhollyKnown()
		eachString(value, func(text string) { name = name && !strings.Contains(text, "/") && text != ".." })
		if !name {
			return false
		}
	}
	return true
}

// isSame reports whether a value is the one that another scope has for the same expression, but for the directory of
// the repository.
func (m *scope) isSame(value, other cty.Value) bool {
	return flatten(value, m.top).RawEquals(flatten(other, m.elsewhere.top))
}

// flatten returns a value whose unknown texts are known by their beginning, with the repository in the same directory.
func flatten(value cty.Value, top string) cty.Value {
	if value == cty.NilVal {
		return cty.DynamicVal
	}
	flat, err := cty.Transform(value, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if text, ok := asText(v); ok {
			return cty.StringVal(strings.ReplaceAll(text, top, repositoryRoot)), nil
		}
		if v.Type() == cty.String && !v.IsKnown() {
			return cty.StringVal(unknown + strings.ReplaceAll(prefixOf(v), top, repositoryRoot)), nil
		}
		return v, nil
	})
	if err != nil {
		return cty.DynamicVal
	}
	return flat
}

// hasTop reports whether a value has an absolute path of the repository.
func hasTop(value cty.Value) bool {
	found := strings.Contains(prefixOf(value), repositoryRoot)
	eachString(value, func(text string) { found = found || strings.Contains(text, repositoryRoot) })
	return found
}
