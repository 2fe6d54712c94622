//go:build envtest

package cairn

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// A protected object is deleted by no user, not even by an administrator of the cluster.
func TestProtectedObjectsAreNotDeleted(t *testing.T) {
	settled(t)
	t.Run("a Stack", func(t *testing.T) {
		stack := newStack(func(s *v1alpha1.Stack) { s.Spec.DeletionPolicy = v1alpha1.DeletionProtect })
		apiserver.Must(t, apiserver.Kube.Create(t.Context(), stack))
		check(t, apiserver.Kube.Delete(t.Context(), stack), "is protected: set spec.deletionPolicy to Destroy")
		stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
		apiserver.Must(t, apiserver.Kube.Update(t.Context(), stack))
		check(t, apiserver.Kube.Delete(t.Context(), stack), "")
	})
	t.Run("a Run at work", func(t *testing.T) {
		run := newRun(name())
		apiserver.Must(t, apiserver.Kube.Create(t.Context(), run))
		for _, phase := range []v1alpha1.RunPhase{v1alpha1.PhasePlanning, v1alpha1.PhaseApplying} {
			run.Status.Phase = phase
			apiserver.Must(t, apiserver.Kube.Status().Update(t.Context(), run))
			check(t, apiserver.Kube.Delete(t.Context(), run), "is "+string(phase)+" and not finished")
		}
		run.Status.Phase = v1alpha1.PhaseSucceeded
		apiserver.Must(t, apiserver.Kube.Status().Update(t.Context(), run))
		check(t, apiserver.Kube.Delete(t.Context(), run), "")
	})
	t.Run("a State", func(t *testing.T) {
		state := &v1alpha1.State{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name(),
			Finalizers: []string{v1alpha1.Finalizer}}}
		apiserver.Must(t, apiserver.Kube.Create(t.Context(), state))
		check(t, apiserver.Kube.Delete(t.Context(), state), "is in use by Stack "+state.Name+": delete the Stack")
		state.Labels = map[string]string{"cairn.dev/orphaned": "true"}
		apiserver.Must(t, apiserver.Kube.Update(t.Context(), state))
		check(t, apiserver.Kube.Delete(t.Context(), state), "")
		// or it stays until a user removes the finalizer
		unheld := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		apiserver.Must(t, apiserver.Kube.Patch(t.Context(), state, unheld))
	})
}
