//go:build envtest

package operator

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// former returns, for each Stack, the one that was deleted before it was created again under its name.
type former struct{ client.Reader }

func (f former) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := f.Reader.Get(ctx, key, o, opts...)
	o.SetUID("former")
	return err
}

func TestOutputsAreWrittenForTheCurrentStack(t *testing.T) {
	r := apiserver.New(t)
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net"}}
	stack.Spec.Source.Inline = map[string]string{"main.tf": ""}
	stack.Spec.Outputs = &v1alpha1.Outputs{Secret: &v1alpha1.ObjectRef{Name: "net-outputs"}}
	r.Make(stack)
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "net-1"}}
	run.Spec.Stack.Name = "net"
	run.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(stack, v1alpha1.GroupVersion.WithKind("Stack"))}
	where := outputsOf(former{r.Client}, r.Live)
	if to, of, err := where(t.Context(), run); err != nil || of == nil || of.UID != stack.UID || to == nil ||
		to.Secret == nil {
		t.Errorf("the outputs are written to %v of %v, %v", to, of, err)
	}
	run.OwnerReferences[0].UID = "another"
	if to, of, err := where(t.Context(), run); err != nil || to != nil || of != nil {
		t.Errorf("the outputs of a deleted Stack are written to %v of %v, %v", to, of, err)
	}
}
