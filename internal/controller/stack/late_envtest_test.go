//go:build envtest

package stack

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// lostRun is a client whose cache has no Run, and which holds the first Run that is created.
type lostRun struct {
	client.Client
	run *v1alpha1.Run
}

func (c *lostRun) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*v1alpha1.RunList); ok {
		return nil
	}
	return c.Client.List(ctx, list, opts...)
}

func (c *lostRun) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if run, ok := o.(*v1alpha1.Run); ok && c.run == nil {
		c.run = run.DeepCopy()
		return apierrors.NewTimeoutError("no response", 1)
	}
	return c.Client.Create(ctx, o, opts...)
}

// lateRun is a reader that creates the lost Run right before the next one is named, and fails when that one is read.
type lateRun struct {
	client.Reader
	arrive func()
	failed bool
}

func (l *lateRun) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := l.Reader.List(ctx, list, opts...)
	if _, ok := list.(*corev1.PodList); ok && l.arrive != nil { // the last read before it
		l.arrive()
		l.arrive = nil
	}
	return err
}

func (l *lateRun) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*v1alpha1.Run); ok && l.arrive == nil && !l.failed {
		l.failed = true
		return apierrors.NewInternalError(errors.New("etcd is unavailable"))
	}
	return l.Reader.Get(ctx, key, o, opts...)
}

// TestLateRunIsCheckedAgainAfterAnError checks a Run whose creation arrives while the next one is named, and that the
// one read which could show it fails. The next Run is created when the late one is finished.
func TestLateRunIsCheckedAgainAfterAnError(t *testing.T) {
	r := newTestEnv(t)
	cache := &lostRun{Client: r.Env.Client}
	r.Reconciler.Client = cache
	reconcile := func() {
		// errors are expected
		_, _ = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)})
		r.Seen(r.stack)
	}
	for range 10 {
		if reconcile(); cache.run != nil {
			break
		}
	}
	live := &lateRun{Reader: r.Env.Live, arrive: func() {
		apiserver.Must(t, r.Env.Client.Create(t.Context(), cache.run))
	}}
	r.Reconciler.Live = live
	for range 5 {
		reconcile()
	}
	if got := r.runs(); !live.failed || got != "net-1 " {
		t.Fatalf("failed %t, Runs %q: net-2 was created beside net-1", live.failed, got)
	}
	r.Reconciler.Client = r.Env.Client
	r.ends("net-1", v1alpha1.PhaseSuperseded)
	r.reconcile()
	if got := r.runs(); got != "net-1 net-2 " {
		t.Errorf("Runs %q after the end of net-1", got)
	}
}
