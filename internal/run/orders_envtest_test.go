//go:build envtest

package run

import (
	"context"
	"errors"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/store"
	"cairn.dev/cairn/test/apiserver"
)

func (r *room) orders(policy func(context.Context, *v1alpha1.Run) (bool, error)) *Orders {
	return NewOrders(OrdersOptions{Client: r.Room.Client, Inputs: r.Inputs, Policy: policy, Patience: time.Minute, Recipient: "age1"})
}

// An order to plan says whether there will be policies to ask, and one that cannot tell is none.
func TestAnOrderToPlanTellsOfPolicies(t *testing.T) {
	r := enter(t)
	r.reconcile()
	uid := r.run.Status.Attempts[0].PodUID
	away := errors.New("the API server is away")
	for _, tt := range []struct {
		asked bool
		err   error
	}{{asked: true}, {asked: false}, {err: away}} {
		orders := r.orders(func(_ context.Context, run *v1alpha1.Run) (bool, error) {
			if run.Name != "net-1" {
				t.Errorf("asked about Run %s", run.Name)
			}
			return tt.asked, tt.err
		})
		order, err := orders.Next(t.Context(), r.run.Namespace, uid, 0)
		if !errors.Is(err, tt.err) || (err == nil && (order.Kind != store.OrderPlan || order.Policy != tt.asked)) {
			t.Errorf("got %s with policy %v, %v", order.Kind, order.Policy, err)
		}
	}
}

func TestAnInterruptComesWithTheCancel(t *testing.T) {
	r := enter(t)
	r.reconcile()
	orders, uid := r.orders(nil), r.run.Status.Attempts[0].PodUID
	wait := func(ctx context.Context, attempt int32) <-chan string {
		said := make(chan string, 1)
		go func() {
			i, err := orders.Interrupt(ctx, r.run.Namespace, uid, attempt)
			if err != nil {
				t.Error(err)
			}
			said <- i.Reason
		}()
		return said
	}
	waits := func(n int) bool {
		orders.mu.Lock()
		defer orders.mu.Unlock()
		w := orders.waiting[uid]
		return (w == nil && n == 0) || (w != nil && w.n == n)
	}
	eventually := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}

	// While it goes on nothing is said, and who hangs up leaves nothing behind.
	ctx, hangUp := context.WithCancel(t.Context())
	first := wait(ctx, 1)
	eventually("nobody waits", func() bool { return waits(1) })
	orders.Changed(r.run) // news, but no cancel: it waits on
	eventually("nobody waits after news", func() bool { return waits(1) })
	hangUp()
	if reason := <-first; reason != "" {
		t.Errorf("interrupted by %q", reason)
	}
	eventually("one that hung up waits still", func() bool { return waits(0) })

	second := wait(t.Context(), 1)
	eventually("nobody waits", func() bool { return waits(1) })
	before := r.run.DeepCopy()
	r.run.Spec.Cancel, r.run.Spec.CanceledBy = true, "bob"
	apiserver.Must(t, r.Room.Client.Patch(t.Context(), r.run, client.MergeFrom(before)))
	r.Seen(r.run)
	orders.Changed(r.run)
	if reason := <-second; reason != "canceled by bob" {
		t.Errorf("interrupted by %q", reason)
	}
	if reason := <-wait(t.Context(), 1); reason != "canceled by bob" { // asked again: its answer was lost
		t.Errorf("interrupted by %q", reason)
	}
}

// The last report of a plan is written with the verdict that is kept, and the Run does what follows from that.
func TestADeniedPlanFailsItsRunWhateverTheRunnerSays(t *testing.T) {
	r := enter(t)
	r.reconcile()
	uid := r.run.Status.Attempts[0].PodUID
	asked := ""
	reports := Reports{Client: r.Room.Client, Live: r.Room.Live, Verdict: func(_ context.Context, run *v1alpha1.Run, digest string) (*store.Verdict, bool, error) {
		asked = run.Name + " " + digest
		return &denied, true, nil
	}}
	apiserver.Must(t, reports.Report(t.Context(), r.run.Namespace, uid, 1, store.Report{Done: &store.Done{Plan: planOne}}))
	r.Seen(r.run)
	if asked != "net-1 sha256:one" {
		t.Errorf("asked about %s", asked)
	}
	s := r.run.Status
	if s.Phase != v1alpha1.PhaseFailed || s.Plan == nil || s.Plan.Policy == nil || s.Plan.Policy.Denied != 2 {
		t.Errorf("the Run is %s with plan %+v", s.Phase, s.Plan)
	}
	if c := s.Conditions; len(c) != 1 || c[0].Reason != "Policy" {
		t.Errorf("conditions %v", c)
	}
	r.expectAttempts("Plan Policy")
}

// What cannot be judged is not written: the runner tells it again.
func TestAReportWithoutAVerdictIsNotWritten(t *testing.T) {
	r := enter(t)
	r.reconcile()
	before, away := r.run.ResourceVersion, errors.New("the bucket is away")
	reports := Reports{Client: r.Room.Client, Live: r.Room.Live, Verdict: func(context.Context, *v1alpha1.Run, string) (*store.Verdict, bool, error) {
		return nil, true, away
	}}
	err := reports.Report(t.Context(), r.run.Namespace, r.run.Status.Attempts[0].PodUID, 1, store.Report{Done: &store.Done{Plan: planOne}})
	r.Seen(r.run)
	if !errors.Is(err, away) || r.run.ResourceVersion != before {
		t.Errorf("got %v, and the Run was written: %v", err, r.run.ResourceVersion != before)
	}
}

// A runner that says somebody canceled its Run is tried again as after any failure that may pass.
func TestARunnerCannotCancelItsRun(t *testing.T) {
	r := enter(t)
	r.reconcile()
	reports := Reports{Client: r.Room.Client, Live: r.Room.Live, Verdict: noPolicies}
	done := &store.Done{Failure: &store.Failure{Class: "Canceled", Message: "canceled by bob"}}
	apiserver.Must(t, reports.Report(t.Context(), r.run.Namespace, r.run.Status.Attempts[0].PodUID, 1, store.Report{Done: done}))
	r.Seen(r.run)
	r.expectAttempts("Plan Transient")
	if r.run.Status.NextAttempt == nil {
		t.Errorf("the Run is %s and will not be tried again", r.run.Status.Phase)
	}
}
