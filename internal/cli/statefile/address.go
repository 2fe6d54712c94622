package statefile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// address returns the address of a resource as the engine writes it.
func address(r Resource) string {
	var a strings.Builder
	if r.Module != "" {
		a.WriteString(r.Module + ".")
	}
	if r.Mode == "data" {
		a.WriteString("data.")
	}
	a.WriteString(r.Type + "." + r.Name)
	switch key := r.Key.(type) {
	case nil:
	case string:
		a.WriteString("[" + Quote(key) + "]")
	default:
		fmt.Fprintf(&a, "[%v]", key)
	}
	return Printable(a.String())
}

// order compares resources as the engine lists them: by module, data before managed resources, by type, name and key.
func order(a, b Resource) int {
	return cmp.Or(
		cmp.Compare(a.Module, b.Module), cmp.Compare(a.Mode, b.Mode), cmp.Compare(a.Type, b.Type),
		cmp.Compare(a.Name, b.Name),
		orderKeys(a.Key, b.Key), cmp.Compare(a.Deposed, b.Deposed),
	)
}

func orderKeys(a, b any) int {
	if x, ok := number(a); ok {
		if y, ok := number(b); ok {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
}

func number(key any) (int64, bool) {
	n, ok := key.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return i, err == nil
}

// rank sorts no key before numbers, and numbers before texts.
func rank(key any) int {
	switch key.(type) {
	case nil:
		return 0
	case json.Number:
		return 1
	}
	return 2
}

// below returns whether an address is in a module, or that of an instance of a resource.
func below(address, of string) bool {
	rest, ok := strings.CutPrefix(address, of)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// Quote returns a text as a string of the engine's language. It escapes control characters of terminals.
func Quote(s string) string {
	var q strings.Builder
	q.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			q.WriteRune('\\')
			q.WriteRune(r)
		case r == '\n':
			q.WriteString(`\n`)
		case r == '\r':
			q.WriteString(`\r`)
		case r == '\t':
			q.WriteString(`\t`)
		case (r == '$' || r == '%') && strings.HasPrefix(s[i+1:], "{"):
			q.WriteRune(r)
			q.WriteRune(r)
		default:
			q.WriteString(printable(r))
		}
	}
	q.WriteByte('"')
	return q.String()
}

// Printable escapes control characters of terminals: the author of a state is not trusted.
func Printable(s string) string {
	if !strings.ContainsFunc(s, isControl) {
		return s
	}
	var p strings.Builder
	for _, r := range s {
		p.WriteString(printable(r))
	}
	return p.String()
}

func printable(r rune) string {
	if isControl(r) {
		return strings.Trim(strconv.QuoteRuneToASCII(r), "'")
	}
	return string(r)
}

// isControl returns whether a terminal may interpret a character: control characters, and those that change the
// direction of the text.
func isControl(r rune) bool { return !unicode.IsGraphic(r) }
