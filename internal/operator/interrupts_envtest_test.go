//go:build envtest

package operator

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/dispatch"
	"cairn.dev/cairn/test/apiserver"
)

// TestCancelInterruptsTheRunnerWithoutPolling checks that the event of a cancel reaches the runner, and that no list is
// read while it waits.
func TestCancelInterruptsTheRunnerWithoutPolling(t *testing.T) {
	r := newEnv(t)
	mgr, err := ctrl.NewManager(apiserver.Config, ctrl.Options{
		Scheme: scheme(), Cache: cacheOptions(Options{}), Metrics: metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	apiserver.Must(t, err)
	apiserver.Must(t, addIndexes(t.Context(), mgr, nil, Options{Server: true}))
	reads := &counted{Reader: mgr.GetClient(), began: make(chan struct{}, 100)}
	orders := &dispatch.Orders{Runs: dispatch.NewRunsByPod(reads, reads), Client: reads, Live: reads}
	apiserver.Must(t, onRunEvent(t.Context(), mgr, orders.Changed))
	go func() { _ = mgr.Start(t.Context()) }() // ends with the test
	if !mgr.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the cache does not sync")
	}
	one := newRun(r, "net-1", "net", v1alpha1.PhaseApplying, "Applying")
	one.Status.Attempts = []v1alpha1.Attempt{{Number: 1, Phase: v1alpha1.AttemptApply, Pod: "net-1-apply-1",
		PodUID: "uid", StartedAt: metav1.NowMicro()}}
	apiserver.Must(t, r.Client.Status().Update(t.Context(), one))

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	reason := make(chan string, 1)
	go func() {
		i, err := orders.Interrupt(ctx, types.NamespacedName{Namespace: r.Namespace, Name: "net-1-apply-1"}, "uid", 1)
		if err != nil {
			t.Error(err)
		}
		reason <- i.Reason
	}()
	<-reads.began
	before := one.DeepCopy()
	one.Spec.Cancel, one.Spec.CanceledBy = true, "bob"
	apiserver.Must(t, r.Client.Patch(t.Context(), one, client.MergeFrom(before)))
	if reason := <-reason; reason != "canceled by bob" {
		t.Errorf("interrupted by %q", reason)
	}
	if n := reads.n.Load(); n > 4 { // one before each event of the Run: creation, attempt, cancel
		t.Errorf("the Runs were listed %d times", n)
	}
}

// counted counts its lists.
type counted struct {
	client.Reader
	began chan struct{}
	n     atomic.Int32
}

func (c *counted) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.n.Add(1)
	c.began <- struct{}{}
	return c.Reader.List(ctx, list, opts...)
}
