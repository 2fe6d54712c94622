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

// Objects that the API server keeps are never changed in place, so that caches and readers can share what is in them. A real
// client gives deep copies. Here a copy has of its own only what the product changes in place, which is much faster;
// Options.Checked makes sure that this is all.

// dup makes an object that can be changed at its top, and in what copyInto clones.
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
	default:
		n = &metav1.PartialObjectMetadata{}
	}
	copyInto(n, o)
	return n.(T)
}

// copyInto fills an object of a caller.
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
	case *metav1.PartialObjectMetadata:
		to.ObjectMeta = *metaOf(from)
	}
}

// pristine is an object, and what it was when it was put.
type pristine struct{ o, was client.Object }

// keep remembers what an object is, if somebody wants to know whether it stays so.
func (a *api) keep(o client.Object) {
	if a.w.Checked {
		a.kept = append(a.kept, pristine{o, o.DeepCopyObject().(client.Object)})
	}
}

// changed names an object that was changed in place; empty when there is none.
func (a *api) changed() string {
	for _, p := range a.kept {
		if !reflect.DeepEqual(p.o, p.was) {
			return fmt.Sprintf("%s at version %s", p.o.GetName(), p.o.GetResourceVersion())
		}
	}
	return ""
}
