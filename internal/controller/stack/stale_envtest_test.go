//go:build envtest

package stack

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// oldView is a client with a stale cache of a Stack and its Runs.
type oldView struct {
	client.Client
	stack *v1alpha1.Stack
	runs  []v1alpha1.Run
}

func (c oldView) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if s, ok := o.(*v1alpha1.Stack); ok {
		c.stack.DeepCopyInto(s)
		return nil
	}
	return c.Client.Get(ctx, key, o, opts...)
}

func (c oldView) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if l, ok := list.(*v1alpha1.RunList); ok {
		l.Items = slices.Clone(c.runs)
		return nil
	}
	return c.Client.List(ctx, list, opts...)
}

// reconcileStale reconciles once with a stale cache.
func (r *testEnv) reconcileStale(stack *v1alpha1.Stack, old ...v1alpha1.Run) ctrl.Result {
	r.Helper()
	behind := *r.Reconciler
	behind.Client = oldView{r.Env.Client, stack.DeepCopy(), old}
	result, err := behind.Reconcile(r.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(stack)})
	apiserver.Must(r.T, err)
	return result
}

// deleteRun deletes a Run as a user does.
func (r *testEnv) deleteRun(name string) {
	r.Helper()
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: r.stack.Namespace, Name: name}}
	r.Seen(run)
	apiserver.Must(r.T, r.Env.Client.Delete(r.Context(), run))
	r.Gone(run)
}

// TestStaleStackDoesNotCreateARunAgain checks a Run that was reserved, created, ended and deleted by a user: a
// reconcile with a cache from before does not create it again, though it writes no status that could conflict. It
// requeues soon.
func TestStaleStackDoesNotCreateARunAgain(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.Seen(r.stack)
	old := r.stack.DeepCopy() // which names net-1
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.expect("True", "Applied", "net-1 ")
	r.deleteRun("net-1")
	if result := r.reconcileStale(old); r.runs() != "" || result.RequeueAfter <= 0 ||
		result.RequeueAfter > time.Second {
		t.Errorf("the Runs are %q, and requeue after %s", r.runs(), result.RequeueAfter)
	}
}

// TestBackoffWithAStaleStack checks that reconciles whose write is rejected as stale happen ever less often, until the
// cache is up to date.
func TestBackoffWithAStaleStack(t *testing.T) {
	r := newTestEnv(t)
	old := r.stack.DeepCopy()
	r.reconcile() // adds the finalizer and writes the status
	old.Finalizers = []string{v1alpha1.Finalizer}
	for i, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000} {
		if result := r.reconcileStale(old); result.RequeueAfter != want*time.Millisecond {
			t.Errorf("after reconcile %d requeue after %s, want %s", i+1, result.RequeueAfter, want*time.Millisecond)
		}
	}
	r.reconcile()
	if result := r.reconcileStale(old); result.RequeueAfter != minConflictBackoff {
		t.Errorf("with an up-to-date cache requeue after %s", result.RequeueAfter)
	}
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), r.stack))
	r.ends("net-1", v1alpha1.PhaseFailed)
	r.reconcile()
	r.Gone(r.stack)
	r.reconcile()
	if n := r.ConflictBackoff.NumRequeues(ctrl.Request{NamespacedName: client.ObjectKeyFromObject(old)}); n != 0 {
		t.Errorf("a deleted Stack still has a backoff of %d steps", n)
	}
}

// TestRunOfADeletedStackOfTheSameName checks a Stack that was deleted and created again. The cache still has the first
// Run of the deleted one and not the new one of the same name: no second Run is created.
func TestRunOfADeletedStackOfTheSameName(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	former := *firstRun(r)
	r.ends("net-1", v1alpha1.PhaseFailed)
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), r.stack))
	r.Seen(r.stack)
	r.reconcile()
	r.Gone(r.stack)
	r.deleteRun("net-1") // as the garbage collector does

	r.stack = &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net"}, Spec: r.stack.Spec}
	r.Make(r.stack)
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 ")
	before := r.stack.ResourceVersion
	r.reconcileStale(r.stack, former)
	r.expect("Unknown", "Running", "net-1 ")
	if r.stack.ResourceVersion != before || r.stack.Status.CurrentRun != "net-1" {
		t.Errorf("the status was written, and names Run %q", r.stack.Status.CurrentRun)
	}
}

// forgotten are States of which one is not in Kubernetes but in the backup.
type forgotten struct {
	ended
	back func()
}

func (f *forgotten) Promote(context.Context, client.ObjectKey) error { f.back(); return nil }

func TestStackIsDestroyedWithAStateFromTheBackup(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.StateReader = &forgotten{back: func() {
		st := &v1alpha1.State{ObjectMeta: metav1.ObjectMeta{Namespace: r.stack.Namespace, Name: "net"}}
		st.Status = v1alpha1.StateStatus{Version: 1, UpdatedBy: "net-1", Resources: 2,
			InputsDigest: firstRun(r).Spec.InputsDigest, StackUID: r.stack.UID}
		apiserver.Must(t, client.IgnoreAlreadyExists(r.Env.Client.Create(t.Context(), st)))
	}}
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), r.stack))
	r.Seen(r.stack)
	r.reconcile()
	if r.runs() != "net-1 net-2 " {
		t.Errorf("the Runs are %q", r.runs())
	}
}
