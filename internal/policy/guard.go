package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// What one call of a function of Rego may allocate. The memory is checked every now and then, and a single call can be done, or
// have ended the process, before the next check.
const (
	// mostText is how long a text that is put together may be.
	mostText = 16 << 20
	// mostValue is how large a value may be that is written out as a whole. Lists in lists that are the same list take next
	// to nothing before, and double with each.
	mostValue = 64 << 20
	// perNode is what each value takes beside its text.
	perNode = 16
	// widestVerb is how wide a verb of sprintf can be.
	widestVerb = 1_000_000
)

var (
	errText  = fmt.Errorf("a text would be longer than %d MiB", mostText>>20)
	errValue = fmt.Errorf("a value is larger than %d MiB", mostValue>>20)
	errSteps = errors.New("a function would be at lists or texts of this length for too long")
)

// guards check the operands of functions before the call. An error means that the call would need too much memory or time.
var guards = map[string]func(operands []*ast.Term) error{
	"concat":                   guardConcat,
	"sprintf":                  guardSprintf,
	"internal.template_string": func(o []*ast.Term) error { return fits(o[0].Value, mostText, errText) },
	"json.marshal":             func(o []*ast.Term) error { return fits(o[0].Value, mostValue, errValue) },
	"urlquery.encode_object":   func(o []*ast.Term) error { return fits(o[0].Value, mostValue, errValue) },
	"indexof":                  guardIndex,
	"indexof_n":                guardIndex,
	"json.patch":               func(o []*ast.Term) error { return guardPairs(o[0], o[1]) },
	"object.subset":            func(o []*ast.Term) error { return guardPairs(o[0], o[1]) },
	"graph.reachable":          func(o []*ast.Term) error { return guardPairs(o[0], o[0]) },
}

// The functions of Rego are those of the process. Cairn evaluates Rego nowhere but here.
func init() {
	for name, places := range searches {
		guards[name] = func(o []*ast.Term) error { return guardSearch(o[places[0]], o[places[1]]) }
	}
	for name, guard := range guards {
		call := topdown.GetBuiltin(name)
		topdown.RegisterBuiltinFunc(name, func(c topdown.BuiltinContext, operands []*ast.Term, next func(*ast.Term) error) error {
			if err := guard(operands); err != nil {
				return topdown.Halt{Err: err} // any other error would only leave the rule undefined: it would pass
			}
			return call(c, operands, next)
		})
	}
}

func guardConcat(operands []*ast.Term) error {
	separator, _ := operands[0].Value.(ast.String)
	length := 0
	add := func(item *ast.Term) bool {
		text, _ := item.Value.(ast.String)
		length += len(text) + len(separator)
		return length > mostText
	}
	switch list := operands[1].Value.(type) {
	case *ast.Array:
		list.Until(add)
	case ast.Set:
		list.Until(add)
	}
	if length > mostText {
		return errText
	}
	return nil
}

// guardSprintf takes every verb for one that writes the longest of the values, escaped, as wide as the widest.
func guardSprintf(operands []*ast.Term) error {
	format, _ := operands[0].Value.(ast.String)
	values, ok := operands[1].Value.(*ast.Array)
	if !ok {
		return nil
	}
	longest := 0
	for i := range values.Len() {
		if err := fits(values.Elem(i).Value, mostText, errText); err != nil {
			return err
		}
		longest = max(longest, weigh(values.Elem(i).Value, mostText))
	}
	const escapes = 10 // a byte in brackets, quoted twice
	verbs := strings.Count(string(format), "%")
	if verbs > 0 && len(format)+escapes*longest+2*width(string(format)) > mostText/verbs {
		return errText
	}
	return nil
}

// width is the largest number in a format, or the widest of all where it is among the values.
func width(format string) int {
	if strings.Contains(format, "*") {
		return widestVerb
	}
	widest, n := 0, 0
	for _, c := range []byte(format) {
		if c < '0' || c > '9' {
			n = 0
			continue
		}
		n = min(n*10+int(c-'0'), widestVerb)
		widest = max(widest, n)
	}
	return widest
}

// guardIndex is for functions that compare a text at each place of another.
func guardIndex(operands []*ast.Term) error {
	text, _ := operands[0].Value.(ast.String)
	part, _ := operands[1].Value.(ast.String)
	if len(part) > mostSteps/max(1, len(text)) {
		return errSteps
	}
	return nil
}

// guardPairs is for functions that may read all of one value for each within another.
func guardPairs(a, b *ast.Term) error {
	if nodes(b.Value, mostSteps) > mostSteps/nodes(a.Value, mostSteps) {
		return errSteps
	}
	return nil
}

func guardSearch(pattern, text *ast.Term) error {
	p, okPattern := pattern.Value.(ast.String)
	s, okText := text.Value.(ast.String)
	if okPattern && okText && tooSlow(string(p), len(s)) {
		return errSlow
	}
	return nil
}

func fits(value ast.Value, most int, otherwise error) error {
	if weigh(value, most) > most {
		return otherwise
	}
	return nil
}

// weigh returns about how many bytes a value takes when it is written out. It stops when they are more than most.
func weigh(value ast.Value, most int) int { return measure(value, perNode, true, most) }

// nodes returns how many values there are in one, itself among them, or more than most.
func nodes(value ast.Value, most int) int { return measure(value, 1, false, most) }

func measure(value ast.Value, each int, texts bool, most int) int {
	n := each
	add := func(t *ast.Term) bool {
		n += measure(t.Value, each, texts, most-n)
		return n > most
	}
	switch v := value.(type) {
	case ast.String:
		if texts {
			n += len(v)
		}
	case ast.Number:
		if texts {
			n += len(v)
		}
	case *ast.Array:
		v.Until(add)
	case ast.Set:
		v.Until(add)
	case ast.Object:
		v.Until(func(key, value *ast.Term) bool { return add(key) || add(value) })
	}
	return n
}

// plain converts the value of a rule to one of Go.
func plain(said *ast.Term, _ *rego.EvalContext) (any, error) {
	if err := fits(said.Value, mostValue, errValue); err != nil {
		return nil, err
	}
	return ast.JSON(said.Value)
}
