//go:build envtest

package stack

import (
	"encoding/json"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// applyVariables writes variables of Stack net, given as JSON, by server-side apply as a field manager.
func applyVariables(r apiserver.Env, manager, variables string) (*v1alpha1.Stack, error) {
	r.Helper()
	var list []any
	apiserver.Must(r.T, json.Unmarshal([]byte(variables), &list))
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Stack",
		"metadata": map[string]any{"namespace": r.Namespace, "name": "net"},
		"spec": map[string]any{
			"source":    map[string]any{"inline": map[string]any{"main.tf": ""}},
			"variables": list,
		},
	}}
	err := apiserver.Kube.Apply(r.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(manager))
	stack := &v1alpha1.Stack{}
	apiserver.Must(r.T, client.IgnoreNotFound(apiserver.Kube.Get(r.Context(), client.ObjectKeyFromObject(o), stack)))
	return stack, err
}

// valuesOf returns the variables of a Stack in their order, as text.
func valuesOf(stack *v1alpha1.Stack) string {
	var values []string
	for _, v := range stack.Spec.Variables {
		values = append(values, v.Name+"="+string(v.Value.Raw))
	}
	return strings.Join(values, " ")
}

// TestFieldManagersOwnVariables checks two field managers that each own one variable of a Stack: neither removes or
// overwrites that of the other. Applying the same again keeps the order of the variables, which is part of the inputs
// digest.
func TestFieldManagersOwnVariables(t *testing.T) {
	r := apiserver.New(t)
	apply := func(manager, variables, want string) *v1alpha1.Stack {
		t.Helper()
		stack, err := applyVariables(r, manager, variables)
		apiserver.Must(t, err)
		if got := valuesOf(stack); got != want {
			t.Errorf("after %s applied %s the Stack has %q, not %q", manager, variables, got, want)
		}
		return stack
	}
	apply("team", `[{"name":"size","value":1}]`, "size=1")
	first := apply("platform", `[{"name":"region","value":"eu"}]`, `size=1 region="eu"`)
	apply("team", `[{"name":"size","value":1}]`, `size=1 region="eu"`)
	again := apply("platform", `[{"name":"region","value":"eu"}]`, `size=1 region="eu"`)
	if first.Generation != again.Generation {
		t.Errorf("applying the same changed the Stack: generation %d, then %d", first.Generation, again.Generation)
	}
	apply("team", `[{"name":"size","value":2}]`, `size=2 region="eu"`)
	apply("platform", `[]`, "size=2")
	if _, err := applyVariables(r, "platform", `[{"name":"size","value":3}]`); !apierrors.IsConflict(err) {
		t.Errorf("another manager's variable was overwritten: %v", err)
	}
}

func TestDuplicateVariableIsRejected(t *testing.T) {
	r := apiserver.New(t)
	size := v1alpha1.Variable{Name: "size", Value: &apiextensionsv1.JSON{Raw: []byte("1")}}
	err := r.Client.Create(t.Context(), &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "net"},
		Spec: v1alpha1.StackSpec{Source: v1alpha1.Source{Inline: map[string]string{"main.tf": ""}},
			Variables: []v1alpha1.Variable{size, size}},
	})
	if !apierrors.IsInvalid(err) ||
		!strings.Contains(err.Error(), `spec.variables[1]: Duplicate value: {"name":"size"}`) {
		t.Errorf("the API server answers %v", err)
	}
}
