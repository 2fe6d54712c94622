package operator

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// TestReconcileHasADeadline checks that the context of a reconcile ends, and that the reconcile is retried.
func TestReconcileHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := make(chan time.Duration)
		o := controller.Options{
			SkipNameValidation: new(true),
			LogConstructor: func(*reconcile.Request) logr.Logger {
				return logr.FromSlogHandler(slog.NewTextHandler(io.Discard, nil))
			},
			Reconciler: (&watch{}).over("stack",
				reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
					began := time.Now()
					<-ctx.Done()
					select {
					case tries <- time.Since(began):
					case <-t.Context().Done():
					}
					return ctrl.Result{}, ctx.Err()
				})),
		}
		o.DefaultFromConfig(managerOptions(Options{}).Controller)
		c, err := controller.NewUnmanaged("hangs", o)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Watch(source.Func(func(_ context.Context,
			queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			queue.Add(reconcile.Request{})
			return nil
		})); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Start(ctx) }()
		for range 2 {
			select {
			case elapsed := <-tries:
				if elapsed != reconcileTime {
					t.Errorf("elapsed: %s", elapsed)
				}
			case <-time.After(time.Hour):
				t.Fatal("the reconcile does not end")
			}
		}
		go func() {
			for range tries { // the last one
			}
		}()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		close(tries)
	})
	if longestReconcile <= reconcileTime {
		t.Error("a reconcile that ends in time makes the process unhealthy")
	}
}
