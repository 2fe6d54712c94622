package operator

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/kinds"
)

// filled is a cache with stores of a few kinds, which rejects lists.
type filled struct {
	client.Reader
	cache.Informers
	kinds map[reflect.Type]informer
}

func fill(objects ...client.Object) filled {
	f := filled{kinds: map[reflect.Type]informer{}}
	for _, kind := range kinds.All {
		f.kinds[reflect.TypeOf(kind.New())] = informer{store: toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)}
	}
	for _, o := range objects {
		_ = f.kinds[reflect.TypeOf(o)].store.Add(o) // fails only without a name
	}
	return f
}

func (c filled) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("a list was requested")
}

type informer struct {
	cache.Informer
	store toolscache.Store
}

func (i informer) GetStore() toolscache.Store { return i.store }

func (c filled) GetInformer(_ context.Context, kind client.Object, _ ...cache.InformerGetOption) (cache.Informer,
	error) {
	return c.kinds[reflect.TypeOf(kind)], nil
}

// listed is a cache without stores, as that of single namespaces.
type listed struct {
	client.Reader
	from filled
}

func (c listed) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for _, kind := range c.from.kinds {
		for _, o := range kind.store.List() {
			switch all := list.(type) {
			case *v1alpha1.StackList:
				if s, ok := o.(*v1alpha1.Stack); ok {
					all.Items = append(all.Items, *s)
				}
			case *v1alpha1.RunList:
				if r, ok := o.(*v1alpha1.Run); ok {
					all.Items = append(all.Items, *r)
				}
			}
		}
	}
	return nil
}

// TestFleetIsCountedWithoutLists checks that objects are counted in the stores of the cache: a list of 10,000 would
// copy ten megabytes at each scrape. Succeeded Runs are counted in their Stacks, whether the cache has them or not.
func TestFleetIsCountedWithoutLists(t *testing.T) {
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "prod", Name: name} }
	objects := []client.Object{
		&v1alpha1.State{ObjectMeta: in("a"), Status: v1alpha1.StateStatus{Size: 5}},
		&v1alpha1.State{ObjectMeta: in("b"), Status: v1alpha1.StateStatus{Size: 7}},
		&v1alpha1.Repository{ObjectMeta: in("infra")},
	}
	for _, name := range []string{"a", "b"} {
		objects = append(objects,
			&v1alpha1.Stack{ObjectMeta: in(name), Status: v1alpha1.StackStatus{History: make([]v1alpha1.PastRun, 20)}})
	}
	for n := range 10 {
		phase := v1alpha1.PhaseSucceeded
		if n == 0 {
			phase = ""
		}
		objects = append(objects, &v1alpha1.Run{ObjectMeta: in(fmt.Sprint(n)),
			Status: v1alpha1.RunStatus{Phase: phase}})
	}
	f, g := &fleet{cache: fill(objects...)}, &gauges{values: map[gauge]float64{}}
	for _, collect := range []func(context.Context, *gauges) error{f.ready, f.stacks, f.runs, f.states} {
		if err := collect(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	new := []string{"prod", string(metav1.ConditionUnknown), "New"}
	for of, want := range map[gauge]float64{
		of(gaugeReady(kinds.Stacks), new): 2, of(gaugeReady(kinds.Repositories), new): 1,
		of(gaugeStateBytes, []string{"prod"}):                            12,
		of(gaugeRuns, []string{"prod", string(v1alpha1.PhaseSucceeded)}): 40,
		of(gaugeRuns, []string{"prod", string(v1alpha1.PhaseQueued)}):    1,
	} {
		var got float64
		for g, value := range g.values {
			if g.desc.String() == of.desc.String() && g.labels == of.labels {
				got = value
			}
		}
		if got != want {
			t.Errorf("%v of %s are %v, want %v", of.labels, of.desc, got, want)
		}
	}

	f, g = &fleet{cache: listed{from: fill(objects...)}}, &gauges{values: map[gauge]float64{}}
	if err := f.runs(t.Context(), g); err != nil ||
		g.values[of(gaugeRuns, []string{"prod", string(v1alpha1.PhaseSucceeded)})] != 40 {
		t.Errorf("%v, and without stores %v is counted", err, g.values)
	}
}

// TestAgeMetricExcludesRunsThatWaitForAWindow checks that no alert fires for Runs that wait for a window, for days
// maybe.
func TestAgeMetricExcludesRunsThatWaitForAWindow(t *testing.T) {
	waits := func(name string, phase v1alpha1.RunPhase, reason string, made int64) client.Object {
		return &v1alpha1.Run{
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, CreationTimestamp: metav1.Unix(made, 0)},
			Status: v1alpha1.RunStatus{Phase: phase, Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: reason},
			}},
		}
	}
	f, g := &fleet{cache: fill(
		waits("a", v1alpha1.PhaseQueued, v1alpha1.ReasonWindowClosed, 100),
		waits("b", v1alpha1.PhaseQueued, v1alpha1.ReasonQueued, 500),
		waits("c", v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonWindowClosed, 100),
		waits("d", v1alpha1.PhaseQueued, v1alpha1.ReasonWindowInvalid, 400),
	)}, &gauges{values: map[gauge]float64{}}
	if err := f.runs(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	since := func(phase v1alpha1.RunPhase) gauge { return of(gaugeRunsSince, []string{"prod", string(phase)}) }
	if got := g.values[since(v1alpha1.PhaseQueued)]; got != 400 {
		t.Errorf("the oldest queued Run is from %v", got)
	}
	if got, exported := g.values[since(v1alpha1.PhaseAwaitingApproval)]; exported {
		t.Errorf("a Run that waits for its window is exported, from %v", got)
	}
	if got := g.values[of(gaugeRuns, []string{"prod", string(v1alpha1.PhaseQueued)})]; got != 3 {
		t.Errorf("%v are queued", got)
	}
}
