//go:build envtest

package cairn

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// `cairn dev`, and the tests of what Cairn may do, give it what Access says; installs give it what the chart does. Both
// are the same.
func TestChartGrantsTheRulesOfAccess(t *testing.T) {
	const own = "cairn-system"
	for name, tt := range map[string]struct {
		args   []string
		access []Access
	}{
		"one process": {access: []Access{{Account: "cairn", Namespace: own, Halves: []string{"operator", "server"}}}},
		"two": {
			args: []string{"-f", "testdata/split-s3.yaml"},
			access: []Access{
				{Account: "cairn-operator", Namespace: own, Halves: []string{"operator"}},
				{Account: "cairn-server", Namespace: own, Halves: []string{"server"}},
			},
		},
		"in single namespaces": {
			args: []string{"--set=watchNamespaces={a,b},rbac.clusterWide=false"},
			access: []Access{{Account: "cairn", Namespace: own, Halves: []string{"operator", "server"},
				Watched: []string{"a", "b"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[string]any{}
			for _, a := range tt.access {
				objects, err := a.Objects()
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range objects {
					fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
					if err != nil {
						t.Fatal(err)
					}
					u := &unstructured.Unstructured{Object: fields}
					want[id(u)] = granted(t, u)
				}
			}
			if diff := cmp.Diff(want, grantedTo(t, own, parse(t, render(t, tt.args...)))); diff != "" {
				t.Errorf("-Access +chart:\n%s", diff)
			}
		})
	}
}

// grantedTo are the bindings of the accounts of a namespace, and the roles that they have by them.
func grantedTo(t *testing.T, namespace string, all map[string]*unstructured.Unstructured) map[string]any {
	t.Helper()
	found := map[string]any{}
	for key, o := range all {
		if !strings.HasSuffix(o.GetKind(), "RoleBinding") {
			continue
		}
		binding, ok := granted(t, o).(rbacv1.RoleBinding)
		if !ok || len(binding.Subjects) == 0 || binding.Subjects[0].Kind != rbacv1.ServiceAccountKind ||
			binding.Subjects[0].Namespace != namespace {
			continue
		}
		found[key] = binding
		role := strings.Join([]string{binding.RoleRef.Kind, o.GetNamespace(), binding.RoleRef.Name}, " ")
		if all[role] == nil {
			t.Errorf("%s is of %s, which is not there", key, role)
			continue
		}
		found[role] = granted(t, all[role])
	}
	return found
}

// granted is what a role or a binding says, without its name and labels.
func granted(t *testing.T, o *unstructured.Unstructured) any {
	t.Helper()
	data, err := json.Marshal(map[string]any{"roleRef": o.Object["roleRef"], "subjects": o.Object["subjects"],
		"rules": o.Object["rules"]})
	if err != nil {
		t.Fatal(err)
	}
	var says struct {
		rbacv1.RoleRef `json:"roleRef"`
		Subjects       []rbacv1.Subject    `json:"subjects"`
		Rules          []rbacv1.PolicyRule `json:"rules"`
	}
	if err := json.Unmarshal(data, &says); err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(o.GetKind(), "RoleBinding") {
		return rbacv1.RoleBinding{RoleRef: says.RoleRef, Subjects: says.Subjects}
	}
	return says.Rules
}
