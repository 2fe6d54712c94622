package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/runtest"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

// runsIn are the Runs that a cache or the API server has.
type runsIn struct {
	client.Reader
	runs []*v1alpha1.Run
	err  error
}

func (r runsIn) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	uid := o.FieldSelector.Requirements()[0].Value
	for _, run := range r.runs {
		if run.Namespace == o.Namespace && runinfo.NamesPod(run, types.UID(uid)) {
			list.(*v1alpha1.RunList).Items = append(list.(*v1alpha1.RunList).Items, *run)
		}
	}
	return nil
}

func (r runsIn) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	for _, run := range r.runs {
		if client.ObjectKeyFromObject(run) == key {
			run.DeepCopyInto(o.(*v1alpha1.Run))
			return nil
		}
	}
	if r.err != nil {
		return r.err
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "runs"}, key.Name)
}

// ended is a Run that succeeded.
func ended() *v1alpha1.Run {
	run := runtest.Run(runtest.Committed, runtest.Planning, runtest.Finished)
	run.Status.Phase = v1alpha1.PhaseSucceeded
	return run
}

func TestRunIsFoundByItsPod(t *testing.T) {
	planning, done := runtest.Run(runtest.Committed, runtest.Planning), ended()
	uid := planning.Status.Attempts[0].PodUID
	pod := types.NamespacedName{Namespace: planning.Namespace, Name: planning.Status.Attempts[0].Pod}
	away := errors.New("the API server is away")
	for name, tt := range map[string]struct {
		cached, live []*v1alpha1.Run
		pod          types.NamespacedName
		uid          types.UID
		err          error
		want         *v1alpha1.Run
	}{
		"in the cache": {cached: []*v1alpha1.Run{planning}, pod: pod, uid: uid, err: away,
			want: planning},
		"finished":                           {live: []*v1alpha1.Run{done}, pod: pod, uid: uid, want: done},
		"none":                               {pod: pod, uid: uid},
		"a pod of that name which it is not": {live: []*v1alpha1.Run{done}, pod: pod, uid: "another"},
		"a pod of that name elsewhere": {live: []*v1alpha1.Run{done},
			pod: types.NamespacedName{Namespace: "other", Name: pod.Name}, uid: uid},
		"a pod whose name is not one of them": {live: []*v1alpha1.Run{done},
			pod: types.NamespacedName{Namespace: pod.Namespace, Name: done.Name}, uid: uid, err: away},
	} {
		got, err := NewRunsByPod(runsIn{runs: tt.cached}, runsIn{runs: tt.live, err: tt.err}).ByPod(t.Context(),
			tt.pod, tt.uid)
		if err != nil || (got == nil) != (tt.want == nil) || (got != nil && got.Status.Phase != tt.want.Status.Phase) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	if _, err := NewRunsByPod(runsIn{}, runsIn{err: away}).ByPod(t.Context(), pod, uid); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
}

// TestFinishedRunIsReadOnce checks that a Run that the cache lacks is read for each request until it is finished.
func TestFinishedRunIsReadOnce(t *testing.T) {
	planning, done := runtest.Run(runtest.Committed, runtest.Planning), ended()
	pod, uid := types.NamespacedName{Namespace: done.Namespace,
		Name: done.Status.Attempts[0].Pod}, done.Status.Attempts[0].PodUID
	live := &counted{runsIn: runsIn{runs: []*v1alpha1.Run{planning}}}
	runs := NewRunsByPod(runsIn{}, live)
	for i, want := range []v1alpha1.RunPhase{planning.Status.Phase, done.Status.Phase, done.Status.Phase} {
		if i == 1 {
			live.runs[0] = done
		}
		if run, err := runs.ByPod(t.Context(), pod, uid); err != nil || run.Status.Phase != want {
			t.Errorf("request %d: %v, %v", i, run, err)
		}
	}
	if live.reads != 2 {
		t.Errorf("%d reads", live.reads)
	}
}

// counted counts the reads of one Run.
type counted struct {
	runsIn
	reads int
}

func (c *counted) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	c.reads++
	return c.runsIn.Get(ctx, key, o, opts...)
}

// TestPodOfAFinishedRunExits checks that a runner is sent away, and its attempt not interrupted, when the cache does
// not have its Run any longer.
func TestPodOfAFinishedRunExits(t *testing.T) {
	run := ended()
	a := run.Status.Attempts[0]
	pod := types.NamespacedName{Namespace: run.Namespace, Name: a.Pod}
	live := runsIn{runs: []*v1alpha1.Run{run}}
	orders := &Orders{Runs: NewRunsByPod(runsIn{}, live), Client: noStacks{}, Live: noStacks{live}}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // for an order that does not come
	defer cancel()
	order, err := orders.Next(ctx, pod, a.PodUID, a.Number)
	if err != nil || order.Kind != "Exit" {
		t.Errorf("the order is %s, %v", order.Kind, err)
	}
	if i, err := orders.Interrupt(ctx, pod, a.PodUID, a.Number); err != nil || i.Reason != "" {
		t.Errorf("interrupted by %q, %v", i.Reason, err)
	}
}

// noStacks has no Stacks.
type noStacks struct{ runsIn }

func (r noStacks) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*v1alpha1.Run); ok {
		return r.runsIn.Get(ctx, key, o, opts...)
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "stacks"}, key.Name)
}

// TestFinishedRunOfACacheIsNotWritten checks that a report is written on the Run as the API server has it when it is
// finished: a cache has less of such a Run, and the status is written as a whole.
func TestFinishedRunOfACacheIsNotWritten(t *testing.T) {
	run := runtest.Run(runtest.Committed, runtest.Planning)
	for phase, want := range map[v1alpha1.RunPhase]bool{v1alpha1.PhasePlanning: true, v1alpha1.PhaseCanceled: false} {
		run.Status.Phase = phase
		cache := interceptor.NewClient(nil, interceptor.Funcs{
			Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object,
				_ ...client.GetOption) error {
				run.DeepCopyInto(o.(*v1alpha1.Run))
				return nil
			},
		})
		got, err := Reports{Client: cache}.cached(t.Context(), client.ObjectKeyFromObject(run),
			run.Status.Attempts[0].PodUID, 1)
		if err != nil || (got != nil) != want {
			t.Errorf("%s: %v, %v", phase, got, err)
		}
	}
}

// TestReportedRunIsRememberedIfItWasWritten checks that the last requests of a pod need no read after a report that
// finishes the Run, and that a report whose write fails finishes nothing.
func TestReportedRunIsRememberedIfItWasWritten(t *testing.T) {
	for away, want := range map[error]int{nil: 1, errors.New("the API server is away"): 0} {
		run := runtest.Run(runtest.Committed, runtest.Planning)
		cache := interceptor.NewClient(nil, interceptor.Funcs{
			Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object,
				_ ...client.GetOption) error {
				return noStacks{runsIn{runs: []*v1alpha1.Run{run}}}.Get(ctx, key, o)
			},
			SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch,
				...client.SubResourcePatchOption) error {
				return away
			},
		})
		runs := NewRunsByPod(cache, cache)
		failed := runnerapi.Report{
			Done: &runnerapi.Done{Failure: &runnerapi.Failure{Class: string(v1alpha1.FailureConfigurationError)}}}
		err := Reports{Client: cache, Live: cache, Runs: runs}.Report(t.Context(), client.ObjectKeyFromObject(run),
			run.Status.Attempts[0].PodUID, 1, failed)
		if !errors.Is(err, away) || runs.finished.Len() != want {
			t.Errorf("%v: %d remembered, %v", away, runs.finished.Len(), err)
		}
	}
}
