package plan

import (
	"fmt"

	tfjson "github.com/hashicorp/terraform-json"
)

// acceptDrift adds to the changes what a plan with -refresh-only writes to the state, which its JSON has as drift:
// resources that changed, with each attribute, and those that were moved in the code. Those that no longer exist are
// there already.
func (v *View) acceptDrift(drift part, left *budget) error {
	return pieces(drift, '[', left, func(_ string, piece []byte) error {
		var r *tfjson.ResourceChange
		if err := decode(piece, &r); err != nil {
			return err
		}
		if r == nil || r.Change == nil {
			return fmt.Errorf("the engine's plan in JSON: the drift of a resource is empty")
		}
		if r.Change.Actions.Delete() && r.DeposedKey == "" {
			return nil // as for any plan
		}
		left.take(changeWeight)
		v.Changes = append(v.Changes, acceptedDrift(r, left))
		return left.over()
	})
}

// acceptedDrift is what of the drift of a resource the state will have. What is not known is shown as a change.
func acceptedDrift(r *tfjson.ResourceChange, left *budget) Change {
	c := Change{
		Address: r.Address, Action: Refresh, Deposed: r.DeposedKey, Type: r.Type, Module: r.ModuleAddress,
		Provider: r.ProviderName,
	}
	if r.PreviousAddress != r.Address {
		c.Previous = r.PreviousAddress
	}
	switch actions := r.Change.Actions; {
	case actions.Delete():
		c.Action, c.Reason = Forget, goneReason
		return c
	case actions.NoOp() && c.Previous != "":
		c.Action = Move
	}
	c.Attributes, c.Unchanged = attributes(r.Change, left)
	return c
}
