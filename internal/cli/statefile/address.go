package statefile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/plan"
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
		a.WriteString("[" + engine.Quote(key) + "]")
	default:
		fmt.Fprintf(&a, "[%v]", key)
	}
	return plan.Escape(a.String())
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
