package action

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestRoleAllowsTheVerb compares the names of roles in messages with the roles of the chart.
func TestRoleAllowsTheVerb(t *testing.T) {
	data, err := os.ReadFile("../../../charts/cairn/files/rbac/users.yaml")
	if err != nil {
		t.Fatal(err)
	}
	allows := map[[2]string][]string{} // roles by resource and verb
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		var role rbacv1.ClusterRole
		err := documents.Decode(&role)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					allows[[2]string{resource, verb}] = append(allows[[2]string{resource, verb}], role.Name)
				}
			}
		}
	}
	if len(allows) < 50 {
		t.Fatalf("only %d rights are read", len(allows))
	}
	for right, names := range allows {
		got := Role(right[0], right[1])
		if got == "" && right[1] == "patch" { // which is of no use without another verb
			continue
		}
		if !slices.Contains(names, got) {
			t.Errorf("%s on %s: %q, want one of %v", right[1], right[0], got, names)
		}
	}
	for _, r := range roles {
		for _, resource := range r.resources {
			for _, verb := range r.verbs {
				if !slices.Contains(allows[[2]string{resource, verb}], r.name) {
					t.Errorf("role %s does not allow %s on %s", r.name, verb, resource)
				}
			}
		}
	}
	if got := Role("secrets", "get"); got != "" {
		t.Errorf("secrets are of the role %s", got)
	}
	if Role("runs", "approve") != "cairn-approve" || Role("stacks", "apply") != "cairn-apply" ||
		Role("stacks", "get") != "cairn-view" {
		t.Error("a wider role than needed is named")
	}
}
