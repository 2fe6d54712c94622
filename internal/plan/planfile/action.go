package planfile

import (
	"strings"

	tfjson "github.com/hashicorp/terraform-json"
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

// kind of an action: how it is printed in JSON, and how many values a change of it has.
type kind struct {
	actions tfjson.Actions
	values  int
}

// actions are those of OpenTofu 1.12 and Terraform 1.14.
var actions = map[action]kind{
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
	for prefix, mode := range map[string]tfjson.ResourceMode{"data.": tfjson.DataResourceMode, "ephemeral.": ephemeral} {
		if after, ok := strings.CutPrefix(rest, prefix); ok {
			rest, p.mode = after, mode
		}
	}
	p.kind, rest, _ = strings.Cut(rest, ".")
	p.name, _, _ = strings.Cut(rest, "[")
	return p
}

// is reports that JSON shows the place.
func (p place) is(module string, mode tfjson.ResourceMode, kind, name string) bool {
	return shows(module, p.module) && mode == p.mode && shows(kind, p.kind) && shows(name, p.name)
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
