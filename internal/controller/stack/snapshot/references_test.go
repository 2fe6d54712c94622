package snapshot

import (
	"slices"
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestIndexHasConfigMapsOfHooksAndPolicies checks that the change of a ConfigMap enqueues the Stacks whose hooks and
// policies it contains.
func TestIndexHasConfigMapsOfHooksAndPolicies(t *testing.T) {
	stack := &v1alpha1.Stack{Spec: v1alpha1.StackSpec{
		Hooks: []v1alpha1.Hook{
			{Step: "plan", When: v1alpha1.HookBefore, Script: "true"},
			{Step: "plan", When: v1alpha1.HookBefore, ConfigMap: &v1alpha1.KeyRef{Name: "scripts", Key: "a"}},
		},
		Policies: []v1alpha1.Policy{{ConfigMap: v1alpha1.ObjectRef{Name: "rules"}}},
	}}
	if got, want := IndexObjects(stack), []string{"ConfigMap/scripts", "ConfigMap/rules"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, ref := range references(stack) {
		if p := ref.problem(); !ref.Text || p.Reason != "ConfigMapNotFound" || !strings.Contains(p.Message, "[") {
			t.Errorf("%+v: %+v", ref, p)
		}
	}
}
