//go:build envtest

package run

import (
	"context"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/store"
	"cairn.dev/cairn/test/apiserver"
)

// What a plan that destroys something is reported as, by digest.
var destroying = &store.Plan{Digest: "sha256:" + strings.Repeat("d", 64), Changes: true, Add: 1, Destroy: 2, Replace: 1}

// plansToDestroy is a Run whose first plan is reported.
func plansToDestroy(t *testing.T, verdict PolicyVerdict) *room {
	t.Helper()
	r := enter(t)
	r.reconcile()
	reports := Reports{Client: r.Room.Client, Live: r.Room.Live, Verdict: verdict}
	apiserver.Must(t, reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), r.run.Status.Attempts[0].PodUID, 1, store.Report{Done: &store.Done{Plan: destroying}}))
	r.Seen(r.run)
	return r
}

// approve is what cairn approve writes.
func (r *room) approve(digest string) {
	r.Helper()
	before := r.run.DeepCopy()
	r.run.Spec.Approval = &v1alpha1.Approval{PlanDigest: digest, By: "alice"}
	apiserver.Must(r.T, r.Room.Client.Patch(r.Context(), r.run, client.MergeFrom(before)))
	r.Seen(r.run)
}

func (r *room) expectMessage(want string) {
	r.Helper()
	if c := r.run.Status.Conditions; len(c) == 0 || c[0].Message != want {
		r.Errorf("conditions are %+v, want the message %q", c, want)
	}
}

// The verdict that is kept of the plan lets the Run wait, whatever the Stack says.
func TestAPolicyLetsTheRunWait(t *testing.T) {
	dear := store.Verdict{Checked: 1, Findings: []store.Finding{{Policy: "rules/cost.rego", Action: store.RequireApproval, Message: "it is dear"}}}
	r := plansToDestroy(t, func(context.Context, *v1alpha1.Run, string) (*store.Verdict, bool, error) { return &dear, true, nil })
	r.expectPhase(v1alpha1.PhaseAwaitingApproval, ReasonAwaitingApproval)
	r.expectMessage("1 to add, 2 to destroy (1 to replace); policy rules/cost.rego requires an approval: it is dear; approve with cairn approve net")
	if p := r.run.Status.Plan.Policy; p == nil || p.ApprovalRequired != 1 || len(p.Findings) != 1 || p.Findings[0].Action != "RequireApproval" {
		t.Errorf("the verdict in the status is %+v", p)
	}
	r.approve(destroying.Digest)
	r.reconcile()
	r.expectPhase(v1alpha1.PhaseApplying, "Applying")
}
