package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"

	"cairn.dev/cairn/internal/base/natural"
)

// Parse reads the engine's JSON of a plan, masked or not: what is marked sensitive is not in the View either way.
// Formats of a newer minor version are read as far as they are known.
func Parse(engineJSON []byte) (View, error) {
	return ParseWithin(engineJSON, math.MaxInt)
}

// ErrTooLarge means that a plan needs more memory than there is.
var ErrTooLarge = errors.New("it changes more values than can be shown so; its text has them")

// ParseWithin is Parse for a plan that may take many times its size: what is in memory beside some copies of its
// text is about twice as many bytes at most. ErrTooLarge means that this is not enough.
func ParseWithin(engineJSON []byte, most int) (View, error) {
	// Only what the View needs is decoded: the configuration and the states of a large plan are most of it.
	var all struct {
		FormatVersion   string `json:"format_version"`
		EngineVersion   string `json:"terraform_version"`
		RefreshOnly     bool   `json:"refresh_only"`
		ResourceDrift   part   `json:"resource_drift"`
		ResourceChanges part   `json:"resource_changes"`
		Invocations     part   `json:"action_invocations"`
		OutputChanges   part   `json:"output_changes"`
	}
	if err := json.Unmarshal(engineJSON, &all); err != nil {
		return View{}, fmt.Errorf("the engine's plan in JSON: %w", clean(err))
	}
	if err := supported(all.FormatVersion); err != nil {
		return View{}, err
	}
	view, left := View{EngineVersion: all.EngineVersion, RefreshOnly: all.RefreshOnly}, &budget{most}
	gone, err := goneResources(all.ResourceDrift, left)
	if err != nil {
		return View{}, err
	}
	var reads []Change
	err = pieces(all.ResourceChanges, '[', left, func(_ string, piece []byte) error {
		var r *tfjson.ResourceChange
		if err := decode(piece, &r); err != nil {
			return err
		}
		if r == nil || r.Change == nil {
			return fmt.Errorf("the engine's plan in JSON: a change of a resource is empty")
		}
		changes, err := changesOf(r, left)
		if err != nil {
			return err
		}
		if len(changes) > 0 {
			delete(gone, r.Address)
		}
		for _, c := range changes {
			left.take(changeWeight)
			if c.Action == Read {
				reads = append(reads, c)
			} else {
				view.Changes = append(view.Changes, c)
			}
		}
		return left.over()
	})
	if err != nil {
		return View{}, err
	}
	for _, c := range gone {
		view.Changes = append(view.Changes, c)
	}
	if view.RefreshOnly {
		if err := view.acceptDrift(all.ResourceDrift, left); err != nil {
			return View{}, err
		}
	}
	err = pieces(all.Invocations, '[', left, func(_ string, piece []byte) error {
		var i invocation
		if err := decode(piece, &i); err != nil {
			return err
		}
		left.take(changeWeight)
		view.Changes = append(view.Changes, i.change(left))
		return left.over()
	})
	if err != nil {
		return View{}, err
	}
	err = pieces(all.OutputChanges, '{', left, func(name string, piece []byte) error {
		var c tfjson.Change
		if err := decode(piece, &c); err != nil {
			return err
		}
		if action := outputAction(&c); action != "" {
			left.take(changeWeight + len(name))
			view.Outputs = append(view.Outputs,
				Output{Name: name, Action: action, Attributes: outputAttributes(name, &c, left)})
		}
		return left.over()
	})
	if err != nil {
		return View{}, err
	}
	slices.SortStableFunc(view.Outputs, func(a, b Output) int { return strings.Compare(a.Name, b.Name) })
	if len(view.Changes) == 0 && len(view.Outputs) == 0 {
		view.Changes = reads
	}
	slices.SortStableFunc(view.Changes, func(a, b Change) int {
		return cmp.Or(slices.Index(gravest, a.Action)-slices.Index(gravest, b.Action),
			natural.Compare(a.Address, b.Address))
	})
	return view, nil
}

// goneReason is why a resource is taken out of the state.
const goneReason = "it does not exist any more"

// goneResources returns, by address, the resources of the state that no longer exist. Those that the plan does not
// create again the apply takes out of the state, which an engine reports as drift alone.
func goneResources(drift part, left *budget) (map[string]Change, error) {
	gone := map[string]Change{}
	err := pieces(drift, '[', left, func(_ string, piece []byte) error {
		var r struct {
			Address  string `json:"address"`
			Type     string `json:"type"`
			Module   string `json:"module_address"`
			Provider string `json:"provider_name"`
			Deposed  string `json:"deposed"`
			Change   struct {
				Actions tfjson.Actions `json:"actions"`
			} `json:"change"`
		}
		if err := decode(piece, &r); err != nil {
			return err
		}
		if r.Deposed == "" && r.Change.Actions.Delete() {
			left.take(changeWeight + len(r.Address))
			gone[r.Address] = Change{
				Address: r.Address, Action: Forget, Reason: goneReason,
				Type: r.Type, Module: r.Module, Provider: r.Provider,
			}
		}
		return left.over()
	})
	return gone, err
}

func decode(data []byte, to any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(to); err != nil {
		return fmt.Errorf("the engine's plan in JSON: %w", clean(err))
	}
	return nil
}

// changesOf returns what a plan would do to one resource: nothing, or one change, or two where the old object is
// forgotten and a new one created.
func changesOf(r *tfjson.ResourceChange, left *budget) ([]Change, error) {
	if r.Mode != tfjson.ManagedResourceMode && r.Mode != tfjson.DataResourceMode {
		return nil, nil // ephemeral ones are opened and closed, and change nothing
	}
	c := Change{
		Address: r.Address, Deposed: r.DeposedKey, Type: r.Type, Module: r.ModuleAddress, Provider: r.ProviderName,
		Reason: reasons[r.ActionReason],
	}
	if r.PreviousAddress != r.Address {
		c.Previous = r.PreviousAddress
	}
	if r.Change.Importing != nil {
		c.Importing = importing(r.Change.Importing)
	}
	do := func(action string) []Change {
		c.Action = action
		c.Attributes, c.Unchanged = attributes(r.Change, left)
		return []Change{c}
	}
	switch actions := r.Change.Actions; {
	case actions.NoOp():
		switch {
		case c.Importing != "":
			return do(Import), nil
		case c.Previous != "":
			return do(Move), nil
		}
		return nil, nil
	case actions.Create():
		return do(Create), nil
	case actions.Read():
		return do(Read), nil
	case actions.Update():
		return do(Update), nil
	case actions.Delete():
		return do(Delete), nil
	case actions.Forget():
		c.Action = Forget
		return []Change{c}, nil
	case actions.Replace():
		c.CreateFirst = actions.CreateBeforeDestroy()
		return do(Replace), nil
	case len(actions) == 2 && slices.Contains(actions, tfjson.ActionForget) &&
		slices.Contains(actions, tfjson.ActionCreate):
		forget := c
		forget.Action, forget.Importing = Forget, ""
		r.Change.Before, r.Change.BeforeSensitive, r.Change.ReplacePaths = nil, nil, nil
		return append([]Change{forget}, do(Create)...), nil
	default:
		return nil, fmt.Errorf("the engine's plan in JSON: actions %q of %s are not known", actions, r.Address)
	}
}

// importing names what is imported.
func importing(i *tfjson.Importing) string {
	if i.ID != "" || i.Identity == nil {
		return cmp.Or(i.ID, "an ID that is not known yet")
	}
	return string(encode(i.Identity))
}

func outputAction(c *tfjson.Change) string {
	switch {
	case c.Actions.Create():
		return Create
	case c.Actions.Update():
		return Update
	case c.Actions.Delete():
		return Delete
	}
	return ""
}

// reasons are the engines' reasons, in words.
var reasons = map[tfjson.ActionReason]string{
	tfjson.ActionReasonReplaceBecauseCannotUpdate:    "it cannot be changed in place",
	tfjson.ActionReasonReplaceBecauseTainted:         "it is tainted: an earlier apply did not finish it",
	tfjson.ActionReasonReplaceByRequest:              "a user requested it",
	tfjson.ActionReasonReplaceByTriggers:             "replace_triggered_by names what changes",
	tfjson.ActionReasonDeleteBecauseNoResourceConfig: "it is not in the code",
	tfjson.ActionReasonDeleteBecauseWrongRepetition:  "its key does not fit to how the code repeats it",
	tfjson.ActionReasonDeleteBecauseCountIndex:       "count in the code is lower",
	tfjson.ActionReasonDeleteBecauseEachKey:          "for_each in the code does not have its key",
	tfjson.ActionReasonDeleteBecauseNoModule:         "its module is not in the code",
	tfjson.ActionReasonDeleteBecauseNoMoveTarget:     "it was moved to an address that is not in the code",
	tfjson.ActionReasonReadBecauseConfigUnknown:      "what it is read by is known after the apply",
	tfjson.ActionReasonReadBecauseDependencyPending:  "it depends on what changes",
	tfjson.ActionReasonReadBecauseCheckNested:        "a check reads it",
	"delete_because_enabled_false":                   "enabled in the code is false",
}
