package dispatch

import (
	"context"
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

// PolicyEvaluation returns the stored policy result of a plan, which the runner cannot write. evaluated is false when
// there are no policies. A nil result means that the policies did not receive the plan.
type PolicyEvaluation func(ctx context.Context, run *v1alpha1.Run, digest string) (result *runnerapi.PolicyResult,
	evaluated bool, err error)

// maxFindings is how many findings a Run's status has.
const maxFindings = 50

// applyPolicies writes the policy result of a reported plan to the status. What the runner reports of it is ignored: a
// plan that the policies deny, or did not receive, is a failed attempt.
func (r Reports) applyPolicies(ctx context.Context, run *v1alpha1.Run, done *runnerapi.Done) error {
	a := runinfo.Current(&run.Status)
	if a.Phase != v1alpha1.AttemptPlan || done.Plan == nil || !done.Plan.Changes ||
		(a.Failure != nil && !isPolicy(a.Failure)) {
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
	case result == nil && a.Failure == nil:
		// a policy may have been added since the runner received its order; the retry asks for it
		a.Failure = &v1alpha1.Failure{Class: v1alpha1.FailureTransient,
			Message: "the policies did not receive this plan"}
	}
	return nil
}

func isPolicy(f *v1alpha1.Failure) bool { return f.Class == v1alpha1.FailurePolicyDenied }

// denial is the message of the first finding that denies a plan.
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
		Checked: v.Checked, Denied: int32(v.Denied()), Warned: int32(v.Warned()),
		ApprovalRequired: int32(v.ApprovalRequired()),
	}
	for _, f := range v.Findings[:min(len(v.Findings), maxFindings)] {
		result.Findings = append(result.Findings, v1alpha1.PolicyFinding{
			Policy: runinfo.Clip(f.Policy, 600), Action: f.Action, Message: runinfo.Clip(f.Message, 1<<10),
		})
	}
	return result
}
