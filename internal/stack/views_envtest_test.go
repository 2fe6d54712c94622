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

// oldView is a client whose cache has a Stack and Runs as they were once.
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

// look is a pass with an old view.
func (r *testEnv) look(stack *v1alpha1.Stack, old ...v1alpha1.Run) ctrl.Result {
	r.Helper()
	behind := *r.Reconciler
	behind.Client = oldView{r.Room.Client, stack.DeepCopy(), old}
	result, err := behind.Reconcile(r.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(stack)})
	apiserver.Must(r.T, err)
	return result
}

// deletes takes a Run away, as a person does.
func (r *testEnv) deletes(name string) {
	r.Helper()
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: r.stack.Namespace, Name: name}}
	r.Seen(run)
	apiserver.Must(r.T, r.Room.Client.Delete(r.Context(), run))
	r.Gone(run)
}

// A Run was named, made, ended and deleted by hand: a pass whose view of the Stack is from before all that does not make it again,
// though its report has nothing to write that an optimistic lock could refuse. It looks again soon.
func TestAnOldViewDoesNotMakeARunAgain(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.Seen(r.stack)
	old := r.stack.DeepCopy() // which names net-1
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.expect("True", "Applied", "net-1 ")
	r.deletes("net-1")
	if result := r.look(old); r.runs() != "" || result.RequeueAfter <= 0 || result.RequeueAfter > time.Second {
		t.Errorf("the Runs are %q, and the next look is in %s", r.runs(), result.RequeueAfter)
	}
}

// Each look with an old view is a write that is refused: they come ever more seldom, until the view is as new as what there is.
func TestAnOldViewIsLookedAtLessAndLessOften(t *testing.T) {
	r := newTestEnv(t)
	old := r.stack.DeepCopy()
	r.reconcile() // has the finalizer, and says something
	old.Finalizers = []string{v1alpha1.Finalizer}
	for i, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000} {
		if result := r.look(old); result.RequeueAfter != want*time.Millisecond {
			t.Errorf("look %d is followed by another in %s, want %s", i+1, result.RequeueAfter, want*time.Millisecond)
		}
	}
	r.reconcile()
	if result := r.look(old); result.RequeueAfter != minConflictBackoff {
		t.Errorf("after it had caught up the next look is in %s", result.RequeueAfter)
	}
	apiserver.Must(t, r.Room.Client.Delete(t.Context(), r.stack))
	r.ends("net-1", v1alpha1.PhaseFailed)
	r.reconcile()
	r.Gone(r.stack)
	r.reconcile()
	if n := r.ConflictBackoff.NumRequeues(ctrl.Request{NamespacedName: client.ObjectKeyFromObject(old)}); n != 0 {
		t.Errorf("a Stack that is gone is remembered with %d looks", n)
	}
}

// A Stack was deleted and made again under its name. The cache has the former one's first Run still, and not yet the new one's,
// which has the same name: no second one is made beside it.
func TestARunOfAFormerStackHidesNoRun(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	former := *firstRun(r)
	r.ends("net-1", v1alpha1.PhaseFailed)
	apiserver.Must(t, r.Room.Client.Delete(t.Context(), r.stack))
	r.Seen(r.stack)
	r.reconcile()
	r.Gone(r.stack)
	r.deletes("net-1") // as the garbage collector does

	r.stack = &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net"}, Spec: r.stack.Spec}
	r.Make(r.stack)
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 ")
	before := r.stack.ResourceVersion
	r.look(r.stack, former)
	r.expect("Unknown", "Running", "net-1 ")
	if r.stack.ResourceVersion != before || r.stack.Status.CurrentRun != "net-1" {
		t.Errorf("the status was written, and names Run %q", r.stack.Status.CurrentRun)
	}
}

// forgotten are States of which Kubernetes has forgotten one, which its backup has.
type forgotten struct {
	ended
	back func()
}

func (f *forgotten) Promote(context.Context, client.ObjectKey) error { f.back(); return nil }

func TestAStackWhoseStateIsForgottenIsDestroyed(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.StateReader = &forgotten{back: func() {
		st := &v1alpha1.State{ObjectMeta: metav1.ObjectMeta{Namespace: r.stack.Namespace, Name: "net"}}
		st.Status = v1alpha1.StateStatus{Version: 1, UpdatedBy: "net-1", Resources: 2, InputsDigest: firstRun(r).Spec.InputsDigest}
		apiserver.Must(t, client.IgnoreAlreadyExists(r.Room.Client.Create(t.Context(), st)))
	}}
	apiserver.Must(t, r.Room.Client.Delete(t.Context(), r.stack))
	r.Seen(r.stack)
	r.reconcile()
	if r.runs() != "net-1 net-2 " {
		t.Errorf("the Runs are %q", r.runs())
	}
}
