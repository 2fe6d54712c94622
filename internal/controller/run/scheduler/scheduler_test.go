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
	for name, tt := range map[string]struct {
		spec  v1alpha1.RunSpec
		phase v1alpha1.AttemptPhase
		want  Rank
	}{
		"a plan that a user waits for":       {v1alpha1.RunSpec{Operation: v1alpha1.OperationApply}, v1alpha1.AttemptPlan, RankPlan},
		"an apply":                           {v1alpha1.RunSpec{Operation: v1alpha1.OperationApply}, v1alpha1.AttemptApply, RankApply},
		"the plan of a destroy":              {v1alpha1.RunSpec{Operation: v1alpha1.OperationDestroy}, v1alpha1.AttemptPlan, RankApply},
		"the plan of a pull request":         {v1alpha1.RunSpec{Operation: v1alpha1.OperationPlan, PullRequest: &v1alpha1.RunPullRequest{}}, v1alpha1.AttemptPlan, RankPullRequest},
		"a drift check":                      {v1alpha1.RunSpec{Operation: v1alpha1.OperationPlan, Cause: v1alpha1.Cause{Type: v1alpha1.CauseDrift}}, v1alpha1.AttemptPlan, RankDrift},
		"the apply that puts back the drift": {v1alpha1.RunSpec{Operation: v1alpha1.OperationApply, Cause: v1alpha1.Cause{Type: v1alpha1.CauseDrift}}, v1alpha1.AttemptApply, RankApply},
	} {
		if got := rank(&v1alpha1.Run{Spec: tt.spec}, tt.phase); got != tt.want {
			t.Errorf("%s has rank %d", name, got)
		}
	}
}

// The Repository of a Stack counts by its own namespace, so that all that use it share its limit.
func TestEntryNamesTheRepository(t *testing.T) {
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "net"}}
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "net-1", UID: "uid"}}
	stack.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Namespace: "platform", Name: "infra"}}
	got := entry(run, stack)
	if got.Repository != "platform/infra" || got.Key != (types.NamespacedName{Namespace: "team-a", Name: "net-1"}) || got.UID != "uid" {
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
		if next.Object.Name != "2" || lost.Object.Name != "1" || time.Since(began) < grantFor || time.Since(began) > grantFor+10*time.Second {
			t.Errorf("after %s %s and %s are woken", time.Since(began), next.Object, lost.Object)
		}
		cancel()
		apiserver.Must(t, <-over)
	})
}
