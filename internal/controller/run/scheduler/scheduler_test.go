package scheduler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

func TestRankOfAnAttempt(t *testing.T) {
	user, ofSet := &v1alpha1.Stack{}, &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.StackSetLabel: "platform"}}}
	planned := ofSet.DeepCopy()
	planned.Status.History = []v1alpha1.PastRun{{Name: "net-1"}}
	applied := ofSet.DeepCopy()
	applied.Status.AppliedInputsDigest = "sha256:a"
	first := v1alpha1.RunSpec{Operation: v1alpha1.OperationApply, Cause: v1alpha1.Cause{Type: v1alpha1.CauseSpec}}
	for name, tt := range map[string]struct {
		spec  v1alpha1.RunSpec
		of    *v1alpha1.Stack
		phase v1alpha1.AttemptPhase
		want  Rank
	}{
		"a plan that a user waits for": {v1alpha1.RunSpec{Operation: v1alpha1.OperationApply}, user,
			v1alpha1.AttemptPlan, RankPlan},
		"an apply": {v1alpha1.RunSpec{Operation: v1alpha1.OperationApply}, user,
			v1alpha1.AttemptApply, RankApply},
		"the plan of a destroy": {v1alpha1.RunSpec{Operation: v1alpha1.OperationDestroy}, user,
			v1alpha1.AttemptPlan, RankApply},
		"the plan of a pull request": {v1alpha1.RunSpec{Operation: v1alpha1.OperationPlan,
			PullRequest: &v1alpha1.RunPullRequest{}}, user, v1alpha1.AttemptPlan, RankPullRequest},
		"a drift check": {v1alpha1.RunSpec{Operation: v1alpha1.OperationPlan,
			Cause: v1alpha1.Cause{Type: v1alpha1.CauseDrift}}, user, v1alpha1.AttemptPlan, RankDrift},
		"the apply that puts back the drift": {v1alpha1.RunSpec{Operation: v1alpha1.OperationApply,
			Cause: v1alpha1.Cause{Type: v1alpha1.CauseDrift}}, user, v1alpha1.AttemptApply, RankApply},
		"the first plan of a user's Stack":   {first, user, v1alpha1.AttemptPlan, RankPlan},
		"the first plan of a Stack of a set": {first, ofSet, v1alpha1.AttemptPlan, RankDrift},
		"its apply":                          {first, ofSet, v1alpha1.AttemptApply, RankApply},
		"its next plan":                      {first, planned, v1alpha1.AttemptPlan, RankPlan},
		"a plan of one that applied":         {first, applied, v1alpha1.AttemptPlan, RankPlan},
		"a first plan of one that a user requested": {v1alpha1.RunSpec{Operation: v1alpha1.OperationApply,
			Cause: v1alpha1.Cause{Type: v1alpha1.CauseManual}}, ofSet, v1alpha1.AttemptPlan, RankPlan},
	} {
		if got := rank(&v1alpha1.Run{Spec: tt.spec}, tt.of, tt.phase); got != tt.want {
			t.Errorf("%s has rank %d", name, got)
		}
	}
}

// The Repository of a Stack counts by its own namespace, so that all that use it share its limit.
func TestEntryNamesTheRepository(t *testing.T) {
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "net"}}
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "net-1", UID: "uid"}}
	stack.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Namespace: "platform",
		Name: "infra"}}
	got := entry(run, stack)
	if got.Repository != "platform/infra" || got.Key != (types.NamespacedName{Namespace: "team-a", Name: "net-1"}) ||
		got.UID != "uid" {
		t.Errorf("%+v", got)
	}
}

func TestUnusedPlacesAreGrantedToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := NewQueue(Limits{Namespace: 1}, time.Now)
		turns := New(queue, nil)
		if first, next := queue.Admit(asks("a/1 plan 1")), queue.Admit(asks("a/2 plan 2")); !first.Start || next.Start {
			t.Fatalf("got %+v, %+v", first, next)
		}
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- turns.Start(ctx) }()
		began := time.Now()
		next, lost := <-turns.Wake(), <-turns.Wake()
		if next.Object.Name != "2" || lost.Object.Name != "1" || time.Since(began) < grantFor ||
			time.Since(began) > grantFor+10*time.Second {
			t.Errorf("after %s %s and %s are woken", time.Since(began), next.Object, lost.Object)
		}
		cancel()
		apiserver.Must(t, <-over)
	})
}
