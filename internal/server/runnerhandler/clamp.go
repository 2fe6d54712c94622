package runnerhandler

import (
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/runnerapi"
)

// Bounds of what a runner may put into its Run. A hostile one must neither grow the object past what the API server
// takes nor become one that the API server rejects.
const (
	maxMessage   = 1 << 10
	maxMessages  = 16 << 10 // of all steps together: a Run keeps those of many attempts
	maxName      = 63
	maxSteps     = 64 // more than there can be with all hooks that a Stack may have
	maxResources = 100
	maxReason    = 300 // why one of the orphans is one
	maxAddress   = 512
	maxOutputs   = 64
	maxOutput    = 1 << 10
	maxKey       = 253
)

// Clamp cuts a report to its bounds. Words that have a meaning become one that is known.
func Clamp(r runnerapi.Report) runnerapi.Report {
	out := runnerapi.Report{Steps: make([]runnerapi.Step, 0, min(len(r.Steps), maxSteps))}
	left := maxMessages
	for _, step := range r.Steps[:min(len(r.Steps), maxSteps)] {
		step.Name, step.Message = shorten.Line(step.Name, maxName), shorten.Line(step.Message, maxMessage)
		if left -= len(step.Message); left < 0 {
			step.Message = ""
		}
		step.State = oneOf(step.State, "Running", "Waiting", "Succeeded", "Failed", "Skipped")
		out.Steps = append(out.Steps, step)
	}
	if d := r.Done; d != nil {
		out.Done = &runnerapi.Done{
			Failure: clampFailure(d.Failure), Plan: clampPlan(d.Plan), Outputs: clampOutputs(d.Outputs),
			Changed: clampCount(d.Changed),
			Image:   shorten.Line(d.Image, maxKey), Saved: d.Saved, Settled: shorten.Line(d.Settled, maxKey),
		}
	}
	return out
}

func clampCount(n *int32) *int32 {
	if n == nil || *n >= 0 {
		return n
	}
	return new(int32)
}

func clampFailure(f *runnerapi.Failure) *runnerapi.Failure {
	if f == nil {
		return nil
	}
	return &runnerapi.Failure{
		Class: oneOf(f.Class, runnerapi.FailureTransient, runnerapi.FailureConfigurationError,
			runnerapi.FailurePolicyDenied,
			runnerapi.FailureCanceled, runnerapi.FailureStateNotSaved),
		Reason: oneOf(f.Reason, "", runnerapi.ReasonBackendInCode, runnerapi.ReasonDiskFull,
			runnerapi.ReasonFilesNotDelivered,
			runnerapi.ReasonInterrupted, runnerapi.ReasonPlanMismatch, runnerapi.ReasonPreventDestroy),
		Message: shorten.Line(f.Message, maxMessage),
	}
}

func clampPlan(p *runnerapi.Plan) *runnerapi.Plan {
	if p == nil {
		return nil
	}
	out := *p
	out.Unverified, out.Partial, out.Fingerprint, out.Shape = "", "", "", "" // for the server to find
	out.Outputs, out.MoreOutputs, out.Differences = nil, 0, nil
	out.Secrets = p.Secrets[:min(len(p.Secrets), maxResources)]
	for _, count := range []*int32{
		&out.Add, &out.Change, &out.Destroy, &out.Replace, &out.Import, &out.Forget, &out.Invoke, &out.Refresh,
	} {
		*count = max(*count, 0)
	}
	out.Replace = min(out.Replace, out.Add, out.Destroy) // it counts in both
	out.Resources = nil
	for _, r := range p.Resources[:min(len(p.Resources), maxResources)] {
		out.Resources = append(out.Resources, runnerapi.ResourceChange{Address: shorten.Line(r.Address, maxAddress),
			Action: shorten.Line(r.Action, maxName)})
	}
	out.Untracked = nil
	for _, o := range p.Untracked[:min(len(p.Untracked), maxResources)] {
		out.Untracked = append(out.Untracked, runnerapi.UntrackedResource{Address: shorten.Line(o.Address, maxAddress),
			Reason: shorten.Line(o.Reason, maxReason)})
	}
	return &out
}

// clampOutputs leaves out what is too long, and what is past the most there may be, in the order of names.
func clampOutputs(outputs map[string]json.RawMessage) map[string]json.RawMessage {
	if outputs == nil {
		return nil
	}
	out := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		value := outputs[name]
		if len(out) == maxOutputs {
			break
		}
		if len(name) <= maxKey && utf8.ValidString(name) && 0 < len(value) && len(value) <= maxOutput &&
			utf8.Valid(value) {
			out[name] = value
		}
	}
	return out
}

// oneOf is the word if it is one of those that are known, and else the first of them.
func oneOf(word string, known ...string) string {
	if slices.Contains(known, word) {
		return word
	}
	return known[0]
}
