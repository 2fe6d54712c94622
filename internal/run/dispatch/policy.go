package dispatch

import (
	"context"
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

// A PolicyVerdict gives what the policies say of a plan of a Run, from where the runner cannot write. Asked is false when there
// are none to ask. A nil verdict says that they were not given the plan.
type PolicyEvaluation func(ctx context.Context, run *v1alpha1.Run, digest string) (result *runnerapi.PolicyResult, evaluated bool, err error)

// mostFindings is how many a Run's status has.
const maxFindings = 50

// judge puts the verdict on a plan that was reported into the status. What the runner says of it counts for nothing: a plan
// that the policies deny, or were never given, is a failed attempt.
func (r Reports) applyPolicies(ctx context.Context, run *v1alpha1.Run, done *runnerapi.Done) error {
	a := runinfo.Current(&run.Status)
	if a.Phase != v1alpha1.AttemptPlan || done.Plan == nil || !done.Plan.Changes || (a.Failure != nil && !isPolicy(a.Failure)) {
		return nil
	}
	result, evaluated, err := r.Policies(ctx, run, done.Plan.Digest)
	if err != nil || !evaluated {
		return err
	}
	if result != nil {
		run.Status.Plan.Policy = policyOf(*result)
	}
	switch {
	case result != nil && result.Denied() > 0:
		a.Failure = &v1alpha1.Failure{Class: v1alpha1.FailurePolicyDenied, Message: denial(*result)}
	case result == nil && a.Failure == nil: // one may be required since the runner was given its order; it asks the next time
		a.Failure = &v1alpha1.Failure{Class: v1alpha1.FailureTransient, Message: "the policies were never given this plan"}
	}
	return nil
}

func isPolicy(f *v1alpha1.Failure) bool { return f.Class == v1alpha1.FailurePolicyDenied }

// denial words the first finding that refuses a plan.
func denial(v runnerapi.PolicyResult) string {
	for _, f := range v.Findings {
		if f.Action != runnerapi.Deny {
			continue
		}
		text := runinfo.Clip(fmt.Sprintf("%s: %s", f.Policy, f.Message), 1<<10)
		if n := v.Denied() - 1; n > 0 {
			text += fmt.Sprintf(" (and %d more)", n)
		}
		return text
	}
	return "the policies deny this plan"
}

func policyOf(v runnerapi.PolicyResult) *v1alpha1.PolicyResult {
	result := &v1alpha1.PolicyResult{
		Checked: v.Checked, Denied: int32(v.Denied()), Warned: int32(v.Warned()), ApprovalRequired: int32(v.ApprovalRequired()),
	}
	for _, f := range v.Findings[:min(len(v.Findings), maxFindings)] {
		result.Findings = append(result.Findings, v1alpha1.PolicyFinding{
			Policy: runinfo.Clip(f.Policy, 600), Action: f.Action, Message: runinfo.Clip(f.Message, 1<<10),
		})
	}
	return result
}
