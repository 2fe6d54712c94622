//go:build envtest

package run

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/test/apiserver"
)

func TestEventReconcilesOnlyRelevantRuns(t *testing.T) {
	in := func() apiserver.Env {
		return apiserver.New(t,
			apiserver.Index{Of: &v1alpha1.Run{}, Field: index.UnfinishedField, Values: index.UnfinishedStackNames},
			apiserver.Index{Of: &v1alpha1.Run{}, Field: index.ReasonField, Values: index.Reasons},
		)
	}
	r, elsewhere := in(), in()
	create := func(name, stack string, phase v1alpha1.RunPhase, reason string) *v1alpha1.Run {
		run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RunSpec{
			Stack: v1alpha1.ObjectRef{Name: stack}, Operation: v1alpha1.OperationApply,
			Cause: v1alpha1.Cause{Type: v1alpha1.CauseSpec}, InputsDigest: "sha256:" + strings.Repeat("0", 64),
		}}
		r.Make(run)
		run.Status = v1alpha1.RunStatus{Phase: phase, Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: reason,
			LastTransitionTime: metav1.Now(),
		}}}
		apiserver.Must(t, r.Client.Status().Update(t.Context(), run))
		r.Seen(run)
		return run
	}
	finished := create("vpc-1", "vpc", v1alpha1.PhaseSucceeded, v1alpha1.ReasonApplied)
	deleted := finished.DeepCopy()
	deleted.Name, deleted.Status.Phase = "vpc-0", v1alpha1.PhaseApplying
	planning := create("vpc-2", "vpc", v1alpha1.PhasePlanning, string(v1alpha1.PhasePlanning))
	create("vpc-3", "vpc", v1alpha1.PhaseQueued, v1alpha1.ReasonInputsNotFound)
	create("net-1", "net", v1alpha1.PhaseQueued, v1alpha1.ReasonQueued)
	create("web-1", "web", v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonWindowClosed)
	create("net-2", "net", v1alpha1.PhaseFailed, v1alpha1.ReasonInputsNotFound)
	vpc := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "vpc"}}

	find := lookups{r.Client}
	for name, tt := range map[string]struct {
		got  []reconcile.Request
		want []string
	}{
		"a Stack: its unfinished Runs": {find.runsOf(t.Context(), vpc),
			[]string{"vpc-2", "vpc-3"}},
		"a finished Run: those that may have waited for it": {find.siblings(t.Context(), finished),
			[]string{"vpc-2", "vpc-3"}},
		"a deleted Run: those that may have waited for it": {find.siblings(t.Context(), deleted),
			[]string{"vpc-2", "vpc-3"}},
		"an unfinished Run: none": {find.siblings(t.Context(), planning), nil},
		"a Secret: those that wait for an object": {
			find.withoutInputs(t.Context(), apiserver.Metadata("Secret", r.Namespace, "any")), []string{"vpc-3"}},
		"a StackPolicy: those that wait for a window": {
			find.waiting(t.Context(), apiserver.Metadata("StackPolicy", r.Namespace, "any")), []string{"web-1"}},
		"a StackPolicy of another namespace: none": {
			find.waiting(t.Context(), apiserver.Metadata("StackPolicy", elsewhere.Namespace, "any")), nil},
		"a Secret of another namespace: none": {
			find.withoutInputs(t.Context(), apiserver.Metadata("Secret", elsewhere.Namespace, "any")), nil},
		"an admission by the scheduler: the Run that is admitted": {
			admitted(t.Context(), types.NamespacedName(client.ObjectKeyFromObject(planning))), []string{"vpc-2"}},
	} {
		var got []string
		for _, q := range tt.got {
			got = append(got, q.Name)
		}
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
