//go:build envtest

package attacks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/devcluster"
)

// A user who may only request plans, or only edit, writes into the metadata of a Stack that Flux set what others set:
// then Flux, which has all permissions, removes it with its next apply, since it is not in Git.
func TestFluxCannotBeUsedToRemoveAProtection(t *testing.T) {
	t.Parallel()
	c := devcluster.Shared(t)
	for user, because := range map[string]string{
		"pat": "this requires the verb update on the Stack", "ed": "this requires the verb destroy on the Stack",
	} {
		runStory(t, c, user+" changes the field managers", func(s story) {
			const flux = "kustomize-controller"
			apply := func() {
				source := map[string]any{"inline": map[string]any{"main.tf": ""}}
				o := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Stack",
					"metadata": map[string]any{"namespace": s.namespace, "name": "net"},
					"spec":     map[string]any{"source": source, "apply": "Automatic"},
				}}
				config := client.ApplyConfigurationFromUnstructured(o)
				must(s.T, c.Apply(s.Context(), config, client.FieldOwner(flux), client.ForceOwnership))
			}
			apply()
			net := stack(nil)
			net.Namespace = s.namespace
			protect := `{"spec":{"deletionPolicy":"Protect","requireApprovalFor":["Delete"],"suspend":true}}`
			s.done(s.patches("carol", net, protect))
			must(s.T, c.Get(s.Context(), client.ObjectKeyFromObject(net), net))

			var managers []metav1.ManagedFieldsEntry
			for _, e := range net.ManagedFields {
				if e.Manager == flux {
					owned := `"f:apply":{},"f:deletionPolicy":{},"f:suspend":{},"f:requireApprovalFor":{"v:\"Delete\"":{}}`
					fields := &metav1.FieldsV1{}
					fields.SetRawString(strings.Replace(e.FieldsV1.GetRawString(), `"f:apply":{}`, owned, 1))
					e.FieldsV1 = fields
					managers = append(managers, e)
				}
			}
			text, err := json.Marshal(managers)
			must(s.T, err)
			s.denied(s.patches(user, net, fmt.Sprintf(`{"metadata":{"managedFields":%s}}`, text)), because)

			apply()
			must(s.T, c.Get(s.Context(), client.ObjectKeyFromObject(net), net))
			spec := net.Spec
			if spec.DeletionPolicy != v1alpha1.DeletionProtect || len(spec.RequireApprovalFor) != 1 || !spec.Suspend {
				s.Errorf("after the next apply, the Stack has %+v", spec)
			}
		})
	}
}
