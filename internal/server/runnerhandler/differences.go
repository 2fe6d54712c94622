package runnerhandler

import (
	"context"
	"encoding/json"
	"errors"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
)

// Bounds of the differences in the status of a Run and of its Stack. What does not fit is not cut: a difference that is
// not known must not be ignored.
const (
	maxDifferences     = 100
	maxDifferencesText = 8 << 10
	maxAttribute       = 256
)

// viewMemory is what the View of a plan may take beside twice its text.
const viewMemory = 1 << 20

// keepDifferences stores the changes of a plan with their attributes, as users see them. They are for drift: only a Run
// that only plans has them.
func (s *API) keepDifferences(ctx context.Context, run *v1alpha1.Run, key string, shown []byte) error {
	if run.Spec.Operation != v1alpha1.OperationPlan || run.Spec.PullRequest != nil {
		return nil
	}
	view, err := plan.ParseWithin(shown, 2*len(shown)+viewMemory)
	if errors.Is(err, plan.ErrTooLarge) {
		return nil
	}
	if err != nil {
		return err
	}
	all := differencesOf(view)
	if len(all) == 0 {
		return nil
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return s.putOnce(ctx, artifact.DifferencesKey(key), data)
}

// differences returns those of a plan; nil if not all are known.
func (s *API) differences(ctx context.Context, key string) ([]runnerapi.Difference, error) {
	stored, err := s.Bucket.Get(ctx, artifact.DifferencesKey(key), 8*maxDifferencesText)
	if bucket.IsLost(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []runnerapi.Difference
	return all, json.Unmarshal(stored, &all)
}

// differencesOf returns all changes of resources and outputs; nil if they do not fit.
func differencesOf(v plan.View) []runnerapi.Difference {
	var all []runnerapi.Difference
	size, fit := 0, true
	text := func(s string, longest int) string {
		size += len(s)
		fit = fit && shorten.Line(s, longest) == s
		return s
	}
	for _, c := range v.Changes {
		if c.Action == plan.Read { // it changes nothing
			continue
		}
		d := runnerapi.Difference{Address: text(c.Address, maxAddress), Action: text(c.Action, maxName)}
		if c.Action == plan.Update {
			for _, a := range c.Attributes {
				d.Attributes = append(d.Attributes, text(a.Path, maxAttribute))
			}
		}
		all = append(all, d)
	}
	for _, o := range v.Outputs {
		all = append(all, runnerapi.Difference{Address: text("output."+o.Name, maxAddress), Action: o.Action})
	}
	if !fit || size > maxDifferencesText || len(all) > maxDifferences {
		return nil
	}
	return all
}
