//go:build envtest

package stack

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/test/apiserver"
)

// TestImmutableConfigMapIsRecreated checks a ConfigMap with immutable: true that is created again under its name
// (docs/concepts/inputs.md). For code the content counts, so equal content starts no Run. For values the object counts,
// since the operator does not read them.
func TestImmutableConfigMapIsRecreated(t *testing.T) {
	immutable := func(name, key, value string) *corev1.ConfigMap {
		cm, yes := configMap(name, key, value), true
		cm.Immutable = &yes
		return cm
	}
	r := newEmptyTestEnv(t)
	code, values := immutable("code", "main.tf", "# 1"), immutable("values", "size", "1")
	r.Make(code, values)
	r = r.withStack("net", func(s *v1alpha1.StackSpec) {
		s.Source = v1alpha1.Source{ConfigMap: &v1alpha1.ObjectRef{Name: "code"}}
		s.Variables = []v1alpha1.Variable{
			{Name: "size", ValueFrom: &v1alpha1.ValueFrom{ConfigMap: &v1alpha1.KeyRef{Name: "values", Key: "size"}}}}
	})
	replace := func(old, again *corev1.ConfigMap, missing string) {
		t.Helper()
		again.Namespace = r.Namespace
		apiserver.Must(t, r.Env.Client.Delete(t.Context(), old))
		r.Gone(apiserver.Metadata("ConfigMap", r.Namespace, old.Name))
		r.reconcile()
		r.Seen(r.stack)
		if c := decision.ReadyOf(r.stack.Status); c.Reason != missing {
			t.Errorf("without ConfigMap %s the Stack is %s: %s", old.Name, c.Reason, c.Message)
		}
		r.Make(again)
		r.Seen(apiserver.Metadata("ConfigMap", r.Namespace, again.Name))
		r.reconcile()
	}
	r.finishFirstApply()

	code.Data = map[string]string{"main.tf": "# 2"}
	if err := r.Env.Client.Update(t.Context(), code); err == nil {
		t.Error("an immutable ConfigMap was changed")
	}
	same := immutable("code", "main.tf", "# 1")
	replace(code, same, "SourceNotFound")
	r.expect("True", "Applied", "net-1 ")
	replace(same, immutable("code", "main.tf", "# 2"), "SourceNotFound")
	r.expect("Unknown", "Running", "net-1 net-2 ")
	r.ends("net-2", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.expect("True", "Applied", "net-1 net-2 ")
	replace(values, immutable("values", "size", "1"), "ConfigMapNotFound")
	r.expect("Unknown", "Running", "net-1 net-2 net-3 ")
}
