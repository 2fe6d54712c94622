//go:build envtest

package dispatch

import (
	"context"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/index"
	"cairn.dev/cairn/internal/run/runtest"
	"cairn.dev/cairn/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m, "../../../charts/cairn/files/crds") }

func TestAnInterruptComesWithTheCancel(t *testing.T) {
	r := apiserver.Enter(t, apiserver.Index{Of: &v1alpha1.Run{}, Field: index.PodField, Values: index.PodUIDs})
	run := runtest.Run(runtest.Planning, func(run *v1alpha1.Run) {
		run.Spec.Cause.Type, run.Spec.InputsDigest = v1alpha1.CauseSpec, "sha256:"+strings.Repeat("0", 64)
	})
	status := run.Status
	r.Make(run)
	run.Status = status
	apiserver.Must(t, r.Client.Status().Update(t.Context(), run))
	r.Seen(run)
	orders, uid := NewOrders(OrdersOptions{Client: r.Client, Live: r.Live}), run.Status.Attempts[0].PodUID
	wait := func(ctx context.Context, attempt int32) <-chan string {
		said := make(chan string, 1)
		go func() {
			i, err := orders.Interrupt(ctx, run.Namespace, uid, attempt)
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
		for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}

	// While it goes on nothing is said, and who hangs up leaves nothing behind.
	ctx, hangUp := context.WithCancel(t.Context())
	first := wait(ctx, 1)
	eventually("nobody waits", func() bool { return waits(1) })
	orders.Changed(run) // news, but no cancel: it waits on
	eventually("nobody waits after news", func() bool { return waits(1) })
	hangUp()
	if reason := <-first; reason != "" {
		t.Errorf("interrupted by %q", reason)
	}
	eventually("one that hung up waits still", func() bool { return waits(0) })

	second := wait(t.Context(), 1)
	eventually("nobody waits", func() bool { return waits(1) })
	before := run.DeepCopy()
	run.Spec.Cancel, run.Spec.CanceledBy = true, "bob"
	apiserver.Must(t, r.Client.Patch(t.Context(), run, client.MergeFrom(before)))
	r.Seen(run)
	orders.Changed(run)
	if reason := <-second; reason != "canceled by bob" {
		t.Errorf("interrupted by %q", reason)
	}
	if reason := <-wait(t.Context(), 1); reason != "canceled by bob" { // asked again: its answer was lost
		t.Errorf("interrupted by %q", reason)
	}
}
