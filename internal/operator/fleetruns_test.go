package operator

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// filled is a cache that has Runs; to list them is more than it can. Its Stacks it lists.
type filled struct {
	client.Reader
	cache.Informers
	runs   informer
	stacks []v1alpha1.Stack
}

func (c filled) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.StackList).Items = c.stacks
	return nil
}

type informer struct {
	cache.Informer
	store toolscache.Store
}

func (i informer) GetStore() toolscache.Store { return i.store }

func (c filled) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return c.runs, nil
}

// A hundred thousand Runs are counted without a list of them: that would be twice the memory for a moment, at each scrape. Those that went
// well are counted in their Stacks, whether the cache has them or not.
func TestRunsAreCountedWhereTheyAre(t *testing.T) {
	store := toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)
	for n := range 10 {
		phase := v1alpha1.PhaseSucceeded
		if n == 0 {
			phase = ""
		}
		if err := store.Add(&v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: fmt.Sprint(n)}, Status: v1alpha1.RunStatus{Phase: phase}}); err != nil {
			t.Fatal(err)
		}
	}
	stack := v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "prod"}, Status: v1alpha1.StackStatus{History: make([]v1alpha1.PastRun, 20)}}
	f := &fleet{cache: filled{runs: informer{store: store}, stacks: []v1alpha1.Stack{stack, stack}}}
	g := &gauges{values: map[gauge]float64{}}
	if err := f.runs(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	for phase, want := range map[v1alpha1.RunPhase]float64{v1alpha1.PhaseSucceeded: 40, v1alpha1.PhaseQueued: 1} {
		if got := g.values[of(gaugeRuns, []string{"prod", string(phase)})]; got != want {
			t.Errorf("%v are %s, want %v", got, phase, want)
		}
	}
}
