package planfile

import (
	"encoding/json"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"

	"cairn.dev/cairn/internal/engine"
)

// action as a plan file has it.
type action uint64

const (
	noOp   action = 0
	create action = 1
	read   action = 2
	remove action = 5
	forget action = 8
)

// effect of an action: how it is printed in JSON, and how many values a change of it has.
type effect struct {
	actions tfjson.Actions
	values  int
}

// actions are those of OpenTofu 1.12 and Terraform 1.16.
var actions = map[action]effect{
	noOp:   {tfjson.Actions{tfjson.ActionNoop}, 1},
	create: {tfjson.Actions{tfjson.ActionCreate}, 1},
	read:   {tfjson.Actions{tfjson.ActionRead}, 2},
	3:      {tfjson.Actions{tfjson.ActionUpdate}, 2},
	remove: {tfjson.Actions{tfjson.ActionDelete}, 1},
	6:      {tfjson.Actions{tfjson.ActionDelete, tfjson.ActionCreate}, 2},
	7:      {tfjson.Actions{tfjson.ActionCreate, tfjson.ActionDelete}, 2},
	forget: {tfjson.Actions{tfjson.ActionForget}, 1},
	9:      {tfjson.Actions{tfjson.ActionCreate, tfjson.ActionForget}, 2},
	10:     {tfjson.Actions{tfjson.ActionForget, tfjson.ActionCreate}, 2},
}

// ephemeral resources are opened and closed, and have no value in a plan.
const ephemeral tfjson.ResourceMode = "ephemeral"

// invoke is the mode of actions in addresses, which JSON does not show.
const invoke tfjson.ResourceMode = "action"

// place is where a resource is declared, from its address.
type place struct {
	module string
	mode   tfjson.ResourceMode
	kind   string
	name   string
}

// placeOf reads an address such as module.net["a"].data.aws_ami.linux[0].
func placeOf(address string) place {
	var p place
	rest := address
	for strings.HasPrefix(rest, "module.") {
		end := len("module.") + step(rest[len("module."):])
		rest = strings.TrimPrefix(rest[end:], ".")
	}
	p.module = strings.TrimSuffix(strings.TrimSuffix(address, rest), ".")
	p.mode = tfjson.ManagedResourceMode
	for prefix, mode := range map[string]tfjson.ResourceMode{
		"data.": tfjson.DataResourceMode, "ephemeral.": ephemeral, "action.": invoke,
	} {
		if after, ok := strings.CutPrefix(rest, prefix); ok {
			rest, p.mode = after, mode
		}
	}
	p.kind, rest, _ = strings.Cut(rest, ".")
	p.name, _, _ = strings.Cut(rest, "[")
	return p
}

// hasKey reports that an address ends with an instance key as JSON shows it: a number, a text, or nil for none.
func hasKey(address string, index any) bool {
	switch k := index.(type) {
	case nil:
		return !strings.HasSuffix(address, "]")
	case json.Number:
		return strings.HasSuffix(address, "["+k.String()+"]")
	case string:
		quoted := `"` + k + `"`
		if strings.ContainsFunc(k, func(r rune) bool {
			return r < ' ' || r > '~' || strings.ContainsRune("\"\\$%", r)
		}) {
			quoted = engine.Quote(k)
		}
		return strings.HasSuffix(address, "["+quoted+"]")
	}
	return false
}

// step is the length of the first name in an address, with its key. A key in quotes may have any character.
func step(address string) int {
	quoted := false
	for i := 0; i < len(address); i++ {
		switch c := address[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && c == '.':
			return i
		}
	}
	return len(address)
}

// providerOf is registry.opentofu.org/hashicorp/aws, of module.a.provider["registry.opentofu.org/hashicorp/aws"].west
func providerOf(config string) string {
	_, name, _ := strings.Cut(config, `provider["`)
	name, _, _ = strings.Cut(name, `"]`)
	return name
}
