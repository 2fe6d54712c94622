//go:build envtest

package cairn

import (
	"slices"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	installcheck "cairn.dev/cairn/internal/cli/check"
)

// TestCheckKnowsWhatTheChartCreates: `cairn check` checks the permission to create each object of the chart with its
// defaults.
func TestCheckKnowsWhatTheChartCreates(t *testing.T) {
	for version, mutating := range map[string]bool{"1.31.0": false, "1.36.0": true} {
		needed := installcheck.Needed("cairn-system", mutating)
		created := map[installcheck.Right]bool{}
		for _, o := range parse(t, render(t, "--kube-version="+version)) {
			resource, _ := apimeta.UnsafeGuessKindToResource(o.GroupVersionKind())
			right := installcheck.Right{Verb: "create", Group: resource.Group, Resource: resource.Resource,
				Namespace: o.GetNamespace()}
			created[right] = true
			if !slices.Contains(needed, right) {
				t.Errorf("Kubernetes %s: %v is not checked", version, right)
			}
		}
		for _, right := range needed {
			if !created[right] && right.Verb == "create" && right.Resource != "namespaces" { // which helm creates
				t.Errorf("Kubernetes %s: the chart creates no %v", version, right)
			}
		}
	}
}
