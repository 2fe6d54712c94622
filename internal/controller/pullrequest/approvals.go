package pullrequest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/command"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// maxApprovalText is the maximum length of what is reported about an approval, in bytes.
const maxApprovalText = 300

// plansDigest identifies the head commit and what the plans of a pull request do. A command about plans names it, so
// that it is about the plans that the user has read. Another plan that does the same has the same digest.
func plansDigest(s v1alpha1.PullRequestStatus) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", s.Head)
	for _, stack := range s.Stacks {
		plan := cmp.Or(stack.Plan, &v1alpha1.Plan{})
		fmt.Fprintf(h, "%q %q %q\n", stack.Namespace, stack.Name, cmp.Or(plan.Fingerprint, plan.Digest))
	}
	return hex.EncodeToString(h.Sum(nil))[:40]
}

// isApprovable reports whether all plans are known, and a comment can approve one of them. A Stack that cannot be
// planned before the merge, or that awaits a command, keeps no other one back.
func isApprovable(s *v1alpha1.PullRequestStatus) bool {
	return !slices.ContainsFunc(s.Stacks, func(stack v1alpha1.PullRequestStack) bool {
		return !stack.Phase.Finished() && !isUnplanned(stack) && !stack.AwaitsCommand
	}) && hasApprovable(s)
}

// hasApprovable reports whether a plan of a pull request can be approved.
func hasApprovable(s *v1alpha1.PullRequestStatus) bool {
	return s.Phase == v1alpha1.PullRequestPlanned &&
		slices.ContainsFunc(s.Stacks, func(stack v1alpha1.PullRequestStack) bool {
			return stack.Plan != nil && stack.Plan.Changes && isComparable(stack)
		})
}

// isComparable reports whether a plan after the merge can be compared with that of a Stack.
func isComparable(s v1alpha1.PullRequestStack) bool {
	return s.Plan != nil && s.Plan.Fingerprint != "" && s.Plan.Unverified == "" && s.DeletedDirectory == "" && !s.New
}

// approve records the approvals of a command, or that they are rejected. What is rejected is not approved by a review
// that is older than the command.
func (w *Snapshot) approve(d command.Decision, facts command.Snapshot, commented time.Time) {
	for _, result := range d.Stacks {
		i := w.stack(Key{result.Stack.Namespace, result.Stack.Name})
		if result.Reason != command.Allowed || i < 0 {
			continue
		}
		stack := &w.PullRequest.Status.Stacks[i]
		if facts.Command.Verb == command.Reject {
			rejected := *stack.Approval
			rejected.Void = runinfo.Clip("it is rejected by "+facts.User, maxApprovalText)
			stack.Approval = &rejected
			if stack.Shown != nil {
				stack.Shown.Since = wholeSecond(commented)
			}
			continue
		}
		stack.Approval = &v1alpha1.PullRequestApproval{
			By: facts.User, At: metav1.Time{Time: w.Now}, Head: result.Head, PlanDigest: result.PlanDigest,
			Fingerprint: stack.Plan.Fingerprint, Author: facts.IsAuthor(facts.User),
		}
	}
}

// standing returns the approval of a plan. That of another head, or of a plan that did something else, is void, and
// stays so.
func standing(s v1alpha1.PullRequestStack, head string) *v1alpha1.PullRequestApproval {
	a := s.Approval
	if a == nil || a.Void != "" {
		return a
	}
	void := *a
	switch {
	case a.Head != head:
		void.Void = "the pull request has another head commit now"
	case s.Phase.Finished() && (s.Plan == nil || s.Plan.Fingerprint != a.Fingerprint):
		void.Void = "the plan does something else now"
	}
	return &void
}

// carried is a Run for whose plan an approval of the pull request counts.
type carried struct {
	run      *v1alpha1.Run
	approval v1alpha1.CarriedApproval
}

// carried returns the Runs for which approvals of the pull request count, and do not yet.
func (w Snapshot) carried() (all []carried) {
	var stacks []AfterStack
	if w.After != nil {
		stacks = slices.AppendSeq(stacks, maps.Values(w.After.Stacks))
	}
	for _, s := range slices.AppendSeq(stacks, maps.Values(w.Held)) {
		if s.Carried == nil || s.Carried.Refusal() != "" {
			continue
		}
		a, run := s.Carried.Approval, s.Carried.Run
		if known := run.Status.CarriedApproval; known != nil && known.PlanDigest == run.Status.Plan.Digest {
			continue
		}
		all = append(all, carried{run, v1alpha1.CarriedApproval{
			PlanDigest: run.Status.Plan.Digest, By: a.By, At: a.At, PullRequest: &v1alpha1.CarriedFrom{
				Namespace: w.PullRequest.Namespace, Name: w.PullRequest.Name, Number: w.PullRequest.Spec.Number,
			},
		}})
	}
	return all
}

// approvalOf returns what is reported about the approval of the Run of a row.
func (s AfterStack) approvalOf(before, row v1alpha1.PullRequestStackApply) string {
	run := s.Run
	if run == nil || run.Name != row.Run {
		if row.Run != "" && row.Run == before.Run { // the Run ended, and is not in the cache
			return before.Approval
		}
		return ""
	}
	plan := run.Status.Plan
	if c := run.Status.CarriedApproval; c != nil && plan != nil && c.PlanDigest == plan.Digest {
		return runinfo.Clip(fmt.Sprintf("Approved by %s %s", c.By, c.Text()), maxApprovalText)
	}
	if s.Carried == nil || run.Status.Phase != v1alpha1.PhaseAwaitingApproval || run.Spec.Approval != nil {
		return ""
	}
	by := s.Carried.Approval.By
	if refusal := s.Carried.Refusal(); refusal != "" {
		return runinfo.Clip(fmt.Sprintf("The approval by %s does not count: %s", by, refusal), maxApprovalText)
	}
	return runinfo.Clip(fmt.Sprintf("Approved by %s", by), maxApprovalText)
}
