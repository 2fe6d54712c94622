//go:build envtest

package stack

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/stack/decision"
	"cairn.dev/cairn/test/apiserver"
)

// A ConfigMap with immutable: true is created again under its name (docs/inputs.md). Of code the content counts, so that the same one starts
// no Run; of values the object does, since nobody reads them.
func TestAnImmutableConfigMapThatIsCreatedAgain(t *testing.T) {
	immutable := func(name, key, value string) *corev1.ConfigMap {
		cm, yes := configMap(name, key, value), true
		cm.Immutable = &yes
		return cm
	}
	r := enterEmpty(t)
	code, values := immutable("code", "main.tf", "# 1"), immutable("values", "size", "1")
	r.Make(code, values)
	r = r.with("net", func(s *v1alpha1.StackSpec) {
		s.Source = v1alpha1.Source{ConfigMap: &v1alpha1.ObjectRef{Name: "code"}}
		s.Variables = []v1alpha1.Variable{{Name: "size", ValueFrom: &v1alpha1.ValueFrom{ConfigMap: &v1alpha1.KeyRef{Name: "values", Key: "size"}}}}
	})
	replace := func(old, again *corev1.ConfigMap, missing string) {
		t.Helper()
		again.Namespace = r.Namespace
		apiserver.Must(t, r.Room.Client.Delete(t.Context(), old))
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
	r.applied()

	code.Data = map[string]string{"main.tf": "# 2"}
	if err := r.Room.Client.Update(t.Context(), code); err == nil {
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
