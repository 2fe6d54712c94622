package pullrequest

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
)

// without is an affected Stack that reads outputs which do not exist, each as STACK.OUTPUT.
func without(name string, outputs ...string) Affected {
	a := Affected{Key: Key{"web", name}, Problem: "Stack has no output: add it to its code", Rules: &v1alpha1.Stack{}}
	for _, o := range outputs {
		of, output, _ := strings.Cut(o, ".")
		a.missing = append(a.missing, missingOutput{of: Key{"web", of}, output: output})
	}
	return a
}

// A Stack that reads an output which the same pull request adds is deferred, and fails nothing. What no plan of the
// pull request is known to add stays an error (atlantis #6106).
func TestAStackIsDeferredUntilItsOutputExists(t *testing.T) {
	const deferred = v1alpha1.RunPhase("Deferred")
	failed := &v1alpha1.Plan{}
	for name, test := range map[string]struct {
		app  Affected
		plan *v1alpha1.Plan
		// others are more Stacks, and change what is affected or planned.
		others []Affected
		change func(*Snapshot)
		phase  v1alpha1.RunPhase
		want   string
		ready  metav1.ConditionStatus
	}{
		"the plan adds it": {app: without("app", "net.nat"), plan: changing("create:nat"), phase: deferred,
			want: "planned after web/net is applied (nat)", ready: metav1.ConditionTrue},
		"the plan adds another one": {app: without("app", "net.nat"), plan: changing("create:vpc"),
			phase: v1alpha1.PhaseFailed,
			want:  "add it to its code", ready: metav1.ConditionFalse},
		"the plan adds one of two": {app: without("app", "net.nat", "net.vpc"), plan: changing("create:nat"),
			phase: v1alpha1.PhaseFailed,
			want:  "add it to its code", ready: metav1.ConditionFalse},
		"the plan deletes it": {app: without("app", "net.nat"), plan: changing("delete:nat"),
			phase: v1alpha1.PhaseFailed,
			want:  "add it to its code", ready: metav1.ConditionFalse},
		"only the engine can read the plan": {app: without("app", "net.nat"), plan: &v1alpha1.Plan{
			Changes: true, Unverified: "encrypted", Outputs: changing("create:nat").Outputs,
		}, phase: v1alpha1.PhaseFailed, want: "add it to its code", ready: metav1.ConditionFalse},
		"the plan is in progress": {app: without("app", "net.nat"), phase: v1alpha1.PhaseQueued,
			want: "waits for the plan of Stack web/net", ready: metav1.ConditionUnknown},
		"the plan failed": {app: without("app", "net.nat"), plan: failed, phase: v1alpha1.PhaseFailed,
			want: "its plan in this pull request failed", ready: metav1.ConditionFalse},
		"the other Stack is not affected": {app: without("app", "dns.nat"), plan: changing("create:nat"),
			phase: v1alpha1.PhaseFailed,
			want:  "add it to its code", ready: metav1.ConditionFalse},
		"the directory of the other Stack is deleted": {app: without("app", "net.nat"), plan: changing("create:nat"),
			change: func(w *Snapshot) { w.Merge.Affected[1].DeletedDirectory = "stacks/net" },
			phase:  v1alpha1.PhaseFailed,
			want:   "add it to its code", ready: metav1.ConditionFalse},
		"the other Stack waits for a command": {app: without("app", "net.nat"), change: func(w *Snapshot) {
			w.Merge.Affected[1].Restricted = "a fork"
		}, phase: v1alpha1.PhaseQueued, want: "waits for the plan of Stack web/net", ready: metav1.ConditionUnknown},
		"the other Stack is deferred too": {app: without("app", "zone.id"), plan: changing("create:nat"),
			others: []Affected{without("zone", "net.nat")}, phase: deferred,
			want: "planned after web/zone is applied (id)", ready: metav1.ConditionTrue},
		"the other Stack would be created, and has no plan": {app: without("app", "new.id"), plan: changing(),
			others: []Affected{{Key: Key{"web", "new"}, New: true, Problem: "it is planned after the merge"}},
			phase:  deferred,
			want:   "planned after web/new is applied (id)", ready: metav1.ConditionTrue},
		"both read outputs of each other": {app: without("app", "zone.id"), plan: changing(),
			others: []Affected{without("zone", "app.ip")},
			phase:  v1alpha1.PhaseFailed, want: "output id, which does not exist, of Stack web/zone",
			ready: metav1.ConditionFalse},
		"an output of itself": {app: without("app", "app.ip"), plan: changing(), phase: v1alpha1.PhaseFailed,
			want: "of Stack web/app", ready: metav1.ConditionFalse},
		"the Stack waits for a command": {app: without("app", "net.nat"), plan: changing("create:nat"),
			change: func(w *Snapshot) {
				w.Merge.Affected[0].Restricted = "a fork"
			}, phase: "", want: "a fork", ready: metav1.ConditionFalse},
	} {
		plans := map[string]*v1alpha1.Plan{}
		if test.plan != nil {
			plans["net"] = test.plan
		}
		w := withPlans(plans, func(w *Snapshot) {
			w.Merge.Affected[0] = test.app
			w.Merge.Affected = append(w.Merge.Affected, test.others...)
			if test.change != nil {
				test.change(w)
			}
		})
		w.Repository, w.Settings = repositoryOf(), repositoryOf().Spec.PullRequests
		if test.plan == failed {
			for _, run := range w.Runs {
				run.Status.Phase, run.Status.Plan = v1alpha1.PhaseFailed, nil
			}
		}
		status := next(&w)
		app := status.Stacks[0]
		phase := app.Phase
		if app.Deferred {
			phase += deferred
		}
		if phase != test.phase || !strings.Contains(app.Message, test.want) {
			t.Errorf("%s: %s: %q", name, phase, app.Message)
		}
		if got := status.Conditions[0]; got.Status != test.ready {
			t.Errorf("%s: Ready is %s: %s", name, got.Status, got.Message)
		}
		want := map[metav1.ConditionStatus]comment.State{
			metav1.ConditionTrue: comment.Success, metav1.ConditionFalse: comment.Failure,
			metav1.ConditionUnknown: comment.Pending,
		}[test.ready]
		if test.phase == "" {
			want = comment.Pending
		}
		if got := w.statusesOf(&status)[0].State; got != want {
			t.Errorf("%s: the status is %s", name, got)
		}
	}
}

// A Stack that was deferred is planned once its output exists, and is no failure before.
func TestADeferredStackIsPlannedOnceItCanBe(t *testing.T) {
	w := withPlans(map[string]*v1alpha1.Plan{"net": changing("create:nat")}, func(w *Snapshot) {
		w.Merge.Affected[0] = without("app", "net.nat")
	})
	if s := next(&w).Stacks[0]; !s.Deferred || s.Run != "" {
		t.Fatalf("%+v", s)
	}
	w.Merge.Affected[0] = Affected{Key: Key{"web", "app"}, InputsDigest: "sha256:app"}
	if s := next(&w).Stacks[0]; s.Deferred || s.Run == "" || s.Message != "" || s.Phase != v1alpha1.PhaseQueued {
		t.Errorf("%+v", s)
	}
}
