package plan

import (
	"fmt"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"
)

// invocation is an action of a provider that an apply invokes (Terraform 1.14).
type invocation struct {
	Address   string `json:"address"`
	Type      string `json:"type"`
	Provider  string `json:"provider_name"`
	Values    any    `json:"config_values"`
	Unknown   any    `json:"config_unknown"`
	Sensitive any    `json:"config_sensitive"`
	Trigger   struct {
		Resource string `json:"triggering_resource_address"`
		Event    string `json:"action_trigger_event"`
	} `json:"lifecycle_action_trigger"`
}

// triggers are the events that trigger an action, in words.
var triggers = map[string]string{
	"BeforeCreate": "before the creation of", "AfterCreate": "after the creation of",
	"BeforeUpdate": "before the update of",
	"AfterUpdate":  "after the update of", "BeforeDestroy": "before the destroy of",
	"AfterDestroy": "after the destroy of",
}

func (i invocation) change(left *budget) Change {
	c := Change{Address: i.Address, Action: Invoke, Type: i.Type, Provider: i.Provider}
	if at := strings.LastIndex(i.Address, "action."); at > 0 {
		c.Module = strings.TrimSuffix(i.Address[:at], ".")
	}
	if when := triggers[i.Trigger.Event]; when != "" {
		c.Reason = fmt.Sprintf("%s %s", when, i.Trigger.Resource)
	}
	c.Attributes, _ = attributes(&tfjson.Change{
		Actions: tfjson.Actions{tfjson.ActionCreate}, After: i.Values, AfterUnknown: i.Unknown,
		AfterSensitive: i.Sensitive,
	}, left)
	return c
}
