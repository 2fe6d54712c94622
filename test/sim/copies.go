package sim

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// Objects in the API server are never changed in place, so that caches and readers can share their content. A real
// client returns deep copies. Here a copy clones only what the product changes in place, which is much faster;
// Options.Checked verifies that.

// dup returns a copy whose top-level fields can be changed, and those that copyInto clones.
func dup[T client.Object](o T) T {
	var n client.Object
	switch any(o).(type) {
	case *v1alpha1.Stack:
		n = &v1alpha1.Stack{}
	case *v1alpha1.Run:
		n = &v1alpha1.Run{}
	case *v1alpha1.State:
		n = &v1alpha1.State{}
	case *corev1.Pod:
		n = &corev1.Pod{}
	case *v1alpha1.PullRequest:
		n = &v1alpha1.PullRequest{}
	default:
		n = &metav1.PartialObjectMetadata{}
	}
	copyInto(n, o)
	return n.(T)
}

// copyInto copies into an object of a caller.
func copyInto(to, from client.Object) {
	switch to := to.(type) {
	case *v1alpha1.Stack:
		*to = *from.(*v1alpha1.Stack)
		to.Finalizers, to.Status.Conditions = slices.Clone(to.Finalizers), slices.Clone(to.Status.Conditions)
	case *v1alpha1.Run:
		*to = *from.(*v1alpha1.Run)
		to.Status.Attempts, to.Status.Conditions = slices.Clone(to.Status.Attempts), slices.Clone(to.Status.Conditions)
	case *v1alpha1.State:
		*to = *from.(*v1alpha1.State)
		to.Finalizers, to.Labels = slices.Clone(to.Finalizers), maps.Clone(to.Labels)
	case *corev1.Pod:
		*to = *from.(*corev1.Pod)
	case *v1alpha1.PullRequest:
		*to = *from.(*v1alpha1.PullRequest)
		to.Status.Holds = slices.Clone(to.Status.Holds)
	case *metav1.PartialObjectMetadata:
		to.ObjectMeta = *metaOf(from)
	}
}

// pristine is an object with its original content.
type pristine struct{ o, was client.Object }

// keep records the content of an object for Options.Checked.
func (a *api) keep(o client.Object) {
	if a.sim.Checked {
		a.kept = append(a.kept, pristine{o, o.DeepCopyObject().(client.Object)})
	}
}

// changed returns the name of an object that was changed in place, or an empty string.
func (a *api) changed() string {
	for _, p := range a.kept {
		if !reflect.DeepEqual(p.o, p.was) {
			return fmt.Sprintf("%s at version %s", p.o.GetName(), p.o.GetResourceVersion())
		}
	}
	return ""
}
