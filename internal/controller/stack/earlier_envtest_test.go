//go:build envtest

package stack

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// TestRunOfAnEarlierStackDoesNotBlockTheNext checks a Stack that is created while Runs of an earlier Stack of its name
// are left: garbage collection is slow, or the Stack was deleted with --cascade=orphan.
func TestRunOfAnEarlierStackDoesNotBlockTheNext(t *testing.T) {
	for name, orphan := range map[string]bool{"slow garbage collection": false, "--cascade=orphan": true} {
		t.Run(name, func(t *testing.T) {
			r := newEmptyTestEnv(t)
			earlier := r.withStack("again", func(s *v1alpha1.StackSpec) { s.DeletionPolicy = v1alpha1.DeletionOrphan })
			earlier.finishFirstApply()
			apiserver.Must(t, r.Env.Client.Delete(t.Context(), earlier.stack))
			earlier.Seen(earlier.stack)
			earlier.reconcile()
			r.Gone(earlier.stack)
			if left := earlier.run("again-1"); orphan {
				left.OwnerReferences = nil
				apiserver.Must(t, r.Env.Client.Update(t.Context(), left))
				r.Seen(left)
			}

			again := r.withStack("again")
			for range 5 {
				r.Seen(again.stack)
				_, _ = again.Reconcile(t.Context(),
					ctrl.Request{NamespacedName: client.ObjectKeyFromObject(again.stack)})
			}
			again.expect("Unknown", "Running", "again-1 again-2 ")
			if !metav1.IsControlledBy(again.run("again-2"), again.stack) {
				t.Error("Run again-2 is another Stack's")
			}
		})
	}
}

// TestConflictsThatDoNotEndAreAnError checks that a Stack whose writes are rejected for longer than any cache is late
// is reported, in the log and by the metric of errors, and not retried in silence.
func TestConflictsThatDoNotEndAreAnError(t *testing.T) {
	r := newTestEnv(t)
	r.stack.Finalizers = []string{v1alpha1.Finalizer}
	apiserver.Must(t, r.Env.Client.Update(t.Context(), r.stack))
	r.Seen(r.stack)
	r.Reconciler.Client = conflictingClient{r.Env.Client}
	req := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)}
	for n := range maxSilentConflicts {
		if result, err := r.Reconcile(t.Context(), req); err != nil || result.RequeueAfter == 0 {
			t.Fatalf("conflict %d: %+v, %v", n, result, err)
		}
	}
	if _, err := r.Reconcile(t.Context(), req); !apierrors.IsConflict(err) {
		t.Errorf("after %d conflicts: %v", maxSilentConflicts, err)
	}
	r.Reconciler.Client = r.Env.Client
	if _, err := r.Reconcile(t.Context(), req); err != nil || r.ConflictBackoff.NumRequeues(req) != 0 {
		t.Errorf("once a write succeeds: %d conflicts, %v", r.ConflictBackoff.NumRequeues(req), err)
	}
}

// conflictingClient rejects each patch of a status, as if the object were another one now.
type conflictingClient struct{ client.Client }

func (c conflictingClient) Status() client.SubResourceWriter {
	return conflictingWriter{c.Client.Status()}
}

type conflictingWriter struct{ client.SubResourceWriter }

func (conflictingWriter) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("stacks").GroupResource(), "net",
		errors.New("another version"))
}
