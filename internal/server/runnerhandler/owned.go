package runnerhandler

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/server/httpapi"
)

const (
	// largestObject is how much data a Secret or ConfigMap takes.
	largestObject = 1 << 20
)

// owned writes an object that belongs to a Stack: it creates it, or updates it if change returns true.
// An object of that name which is another's is left alone.
func (s *API) owned(
	ctx context.Context, kind string, o client.Object, stack *v1alpha1.Stack, ours func() bool, change func() bool,
) error {
	key := client.ObjectKeyFromObject(o)
	err := s.Live.Get(ctx, key, o)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return fmt.Errorf("read %s %s: %w", kind, key, err)
	}
	if !missing && (!belongs(o, stack) || !ours()) {
		return httpapi.Errorf(http.StatusConflict, "%s %s exists and is not of Stack %s: it is left alone. Choose "+
			"another name, or delete it", kind, key.Name, stack.Name)
	}
	changed := own(o, key, stack)
	if !change() && !changed && !missing {
		return nil
	}
	if missing {
		err = s.Client.Create(ctx, o)
	} else {
		err = s.Client.Update(ctx, o)
	}
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return httpapi.Errorf(http.StatusConflict, "%s %s cannot be written: %v", kind, key.Name, err)
	}
	if err != nil {
		return fmt.Errorf("write %s %s: %w", kind, key, err)
	}
	return nil
}

// belongs returns true if an object is Cairn's and the Stack's, or that of a deleted Stack with the same name.
func belongs(o client.Object, stack *v1alpha1.Stack) bool {
	if o.GetLabels()[v1alpha1.ManagedByLabel] != v1alpha1.ManagedBy {
		return false
	}
	for _, ref := range o.GetOwnerReferences() {
		if isStack(ref) && ref.Name == stack.Name {
			return true
		}
	}
	return false
}

// own sets the Stack as the owner of an object, so that both are deleted together, and returns whether it was not.
func own(o client.Object, key types.NamespacedName, stack *v1alpha1.Stack) bool {
	o.SetNamespace(key.Namespace)
	o.SetName(key.Name)
	changed := o.GetLabels()[v1alpha1.ManagedByLabel] != v1alpha1.ManagedBy
	if changed {
		o.SetLabels(map[string]string{v1alpha1.ManagedByLabel: v1alpha1.ManagedBy})
	}
	refs := []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "Stack", Name: stack.Name, UID: stack.UID,
	}}
	for _, ref := range o.GetOwnerReferences() {
		if ref.UID == stack.UID {
			return changed
		}
		if !isStack(ref) {
			refs = append(refs, ref)
		}
	}
	o.SetOwnerReferences(refs)
	return true
}

func isStack(ref metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return group == v1alpha1.GroupVersion.Group && ref.Kind == "Stack"
}

// checkData rejects what no Secret or ConfigMap could hold.
func checkData[V ~string | ~[]byte](what string, data map[string]V) error {
	size := 0
	for name, value := range data {
		if errs := validation.IsConfigMapKey(name); len(errs) > 0 {
			return httpapi.Errorf(http.StatusUnprocessableEntity, "%s %.300q cannot be a key of an object: %s", what,
				name, errs[0])
		}
		size += len(name) + len(value)
	}
	if size > largestObject {
		return httpapi.Errorf(http.StatusRequestEntityTooLarge, "the %ss have %d bytes, and an object takes %d", what,
			size, largestObject)
	}
	return nil
}
