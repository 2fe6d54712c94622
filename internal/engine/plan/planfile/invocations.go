package planfile

import (
	"encoding/json"
	"fmt"
	"strings"

	"cairn.dev/cairn/internal/base/shorten"
)

// events are those that trigger an action, by their numbers in a plan file.
var events = []string{
	"EventUnknown", "BeforeCreate", "AfterCreate", "BeforeUpdate", "AfterUpdate", "BeforeDestroy", "AfterDestroy",
	"Invoke",
}

// failures are what follows the failure of an action, by their numbers in a plan file.
var failures = []string{"ActionOnFailureHalt", "ActionOnFailureTaint", "ActionOnFailureContinue"}

// word is the word of a number, empty for one that is not known.
func word(n uint64, words []string) string {
	if n < uint64(len(words)) {
		return words[n]
	}
	return ""
}

// key of an invocation: an action may be invoked several times.
func (i invocation) key() string {
	return fmt.Sprintf("%s\n%s\n%s\n%s\n%d\n%d", i.address, i.resource, i.caller, word(i.event, events),
		i.block, i.index)
}

// invocations compares the actions that an apply invokes.
func (d *document) invocations(raw json.RawMessage) error {
	left := map[string]invocation{}
	for _, i := range d.file.invocations {
		left[i.key()] = i
	}
	err := d.list(raw, func(o object) (object, error) {
		shown := invocationOf(o)
		i, ok := left[shown.key()]
		if !ok {
			return nil, mismatch("action_invocations: the plan file does not invoke %.200s so", shown.address)
		}
		delete(left, shown.key())
		// The address of an action has no module's address, type and name of its own in JSON, so they are compared with
		// it.
		if p := placeOf(i.address); o.text("type") != p.kind || o.text("name") != p.name || p.mode != invoke ||
			o.text("provider_name") != providerOf(i.provider) || shown.triggered != i.triggered ||
			shown.onFailure != i.onFailure {
			return nil, mismatch("action_invocations: %.200s is another action in the plan file", i.address)
		}
		if err := sameValue(i.config, o["config_values"], o["config_unknown"]); err != nil {
			return nil, mismatch("action_invocations: %.200s: %v", i.address, err)
		}
		return o.only("address", "type", "name", "provider_name", "config_values", "config_sensitive", "config_unknown",
			"lifecycle_action_trigger", "invoke_action_trigger"), nil
	})
	if err != nil {
		return err
	}
	for _, i := range left {
		return mismatch("action_invocations: that of %.200s in the plan file is missing", i.address)
	}
	return nil
}

// invocationOf reads an invocation in JSON.
func invocationOf(o object) invocation {
	i := invocation{address: o.text("address"),
		caller: o.object("invoke_action_trigger").text("calling_resource_address")}
	if trigger := o.object("lifecycle_action_trigger"); trigger != nil {
		i.triggered = true
		i.resource = trigger.text("triggering_resource_address")
		i.event = numberOf(trigger.text("action_trigger_event"), events)
		i.onFailure = numberOf(trigger.text("on_failure"), failures)
		i.block, i.index = trigger.number("action_trigger_block_index"), trigger.number("actions_list_index")
	}
	return i
}

// numberOf is the number of a word; of none it is 0, which is what a plan file has of it.
func numberOf(text string, words []string) uint64 {
	for n, word := range words {
		if word == text {
			return uint64(n)
		}
	}
	if text == "" {
		return 0
	}
	return uint64(len(words))
}

// number is a member that is a number; 0 where there is none.
func (o object) number(name string) uint64 {
	n, _ := o[name].(json.Number)
	i, _ := n.Int64()
	return uint64(i)
}

// deferredChanges compares which changes the engine left to a later plan. Their values are not known, and are not
// shown.
func (d *document) deferredChanges(raw json.RawMessage) error {
	left := map[string]int{}
	for _, c := range d.file.deferred {
		left[c.address]++
	}
	err := d.list(raw, func(o object) (object, error) {
		c := o.object("resource_change")
		address := c.text("address")
		if left[address]--; left[address] < 0 {
			return nil, mismatch("deferred_changes: the plan file does not defer %.200s", address)
		}
		shown := o.only("reason")
		shown["resource_change"] = c.only("address", "module_address", "mode", "type", "name", "index", "provider_name")
		return shown, nil
	})
	for address, n := range left {
		if err == nil && n > 0 {
			err = mismatch("deferred_changes: %.200s of the plan file is missing", address)
		}
	}
	return err
}

// Partial is why the plan has not all changes of the code; empty for one that does. Example: "it has only the targets
// a.b, c.d".
func (f *File) Partial() string {
	var why []string
	for _, part := range []struct {
		what      string
		addresses []string
	}{{"has only the targets ", f.targets}, {"leaves out ", f.excluded}, {"defers ", f.deferrals()}} {
		if len(part.addresses) > 0 {
			why = append(why, part.what+shorten.List(part.addresses, mostNamed))
		}
	}
	if f.refreshOnly {
		why = append(why, "only writes to the state what changed outside of Cairn (-refresh-only)")
	}
	switch {
	case f.errored:
		why = append(why, "ended with an error")
	case len(why) == 0 && f.applyable && !f.complete:
		why = append(why, "is incomplete")
	}
	if len(why) == 0 {
		return ""
	}
	return "it " + strings.Join(why, ", and ")
}

// mostNamed is how many addresses Partial names of a kind.
const mostNamed = 3

func (f *File) deferrals() []string {
	var all []string
	for _, c := range f.deferred {
		all = append(all, c.address)
	}
	for _, i := range f.deferredInvocations {
		all = append(all, i.address)
	}
	return all
}
