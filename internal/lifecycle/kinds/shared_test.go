package kinds

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

func hour(time.Time) string { return "1h" }

func TestVariableSets(t *testing.T) {
	prod := &v1alpha1.VariableSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "prod", UID: "u",
			CreationTimestamp: metav1.Time{Time: day}},
		Spec: v1alpha1.VariableSetSpec{
			StackSelector: metav1.LabelSelector{
				MatchLabels: map[string]string{"env": "prod"},
				MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "team", Operator: "In", Values: []string{"a", "b"}}},
			},
			Variables: []v1alpha1.Variable{{Name: "region"}, {Name: "zone"}},
			Env:       []corev1.EnvVar{{Name: "AWS_REGION", Value: "secret-value"}},
		},
	}
	all := &v1alpha1.VariableSet{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "all",
		DeletionTimestamp: &metav1.Time{Time: day}}}
	want := userapi.VariableSet{
		Object:   userapi.Object{Namespace: "shop", Name: "prod", UID: "u", Created: day},
		Selector: "env=prod,team in (a,b)", Variables: []string{"region", "zone"}, Env: []string{"AWS_REGION"},
	}
	if diff := cmp.Diff(want, VariableSets.Row(prod)); diff != "" {
		t.Error(diff)
	}
	_, cells := VariableSets.Table()
	for of, want := range map[*v1alpha1.VariableSet][]any{
		prod: {"prod", "env=prod,team in (a,b)", int32(2), int32(1), "1h", "region,zone,AWS_REGION"},
		all:  {"all", "all", int32(0), int32(0), "1h", "-"},
	} {
		if diff := cmp.Diff(want, cells(of, hour)); diff != "" {
			t.Error(diff)
		}
	}
	rows := rowsOf(VariableSets, prod, all)
	for query, want := range map[string]int{
		"namespace=web": 1, "q=env%3Dprod": 1, "q=aws_region": 1, "q=zone": 1, "q=secret-value": 0, "sort=-created": 2,
	} {
		if page := ask(t, VariableSets, rows, query); page.Total != want {
			t.Errorf("%s: %d rows, want %d", query, page.Total, want)
		}
	}
}

func TestStackPolicies(t *testing.T) {
	prod := &v1alpha1.StackPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "prod", UID: "u",
			CreationTimestamp: metav1.Time{Time: day}},
		Spec: v1alpha1.StackPolicySpec{
			StackSelector: metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}},
			Windows:       make([]v1alpha1.Window, 2),
			Policies:      []v1alpha1.Policy{{ConfigMap: v1alpha1.ObjectRef{Name: "rules"}}},
		},
	}
	all := &v1alpha1.StackPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "all",
		DeletionTimestamp: &metav1.Time{Time: day}}}
	want := userapi.StackPolicy{
		Object: userapi.Object{Namespace: "shop", Name: "prod", UID: "u", Created: day}, Selector: "env=prod",
		Windows: 2, Policies: []string{"rules"},
	}
	if diff := cmp.Diff(want, StackPolicies.Row(prod)); diff != "" {
		t.Error(diff)
	}
	_, cells := StackPolicies.Table()
	for of, want := range map[*v1alpha1.StackPolicy][]any{
		prod: {"prod", "env=prod", int32(2), "rules", "1h"}, all: {"all", "all", int32(0), "-", "1h"},
	} {
		if diff := cmp.Diff(want, cells(of, hour)); diff != "" {
			t.Error(diff)
		}
	}
	rows := rowsOf(StackPolicies, prod, all)
	for query, want := range map[string]int{"namespace=web": 1, "q=env%3Dprod": 1, "q=rules": 1, "sort=-created": 2} {
		if page := ask(t, StackPolicies, rows, query); page.Total != want {
			t.Errorf("%s: %d rows, want %d", query, page.Total, want)
		}
	}
}

func TestStackGrants(t *testing.T) {
	one := &v1alpha1.StackGrant{
		ObjectMeta: metav1.ObjectMeta{Namespace: "network", Name: "one", UID: "u",
			CreationTimestamp: metav1.Time{Time: day}},
		Spec: v1alpha1.StackGrantSpec{
			From:   []v1alpha1.StackGrantFrom{{Kind: "Stack", Namespace: "shop"}, {Kind: "Stack", Namespace: "web"}},
			Stacks: []string{"dns", "net"},
		},
	}
	all := &v1alpha1.StackGrant{ObjectMeta: metav1.ObjectMeta{Namespace: "network", Name: "all"}}
	all.Spec.From = []v1alpha1.StackGrantFrom{{Kind: "Stack", Namespace: "shop"}}
	want := userapi.StackGrant{
		Object: userapi.Object{Namespace: "network", Name: "one", UID: "u", Created: day},
		From:   []userapi.GrantFrom{{Kind: "Stack", Namespace: "shop"}, {Kind: "Stack", Namespace: "web"}},
		Stacks: []string{"dns", "net"},
	}
	if diff := cmp.Diff(want, StackGrants.Row(one)); diff != "" {
		t.Error(diff)
	}
	_, cells := StackGrants.Table()
	for of, want := range map[*v1alpha1.StackGrant][]any{
		one: {"one", "Stack shop, Stack web", "dns, net", "1h"}, all: {"all", "Stack shop", "all", "1h"},
	} {
		if diff := cmp.Diff(want, cells(of, hour)); diff != "" {
			t.Error(diff)
		}
	}
	rows := rowsOf(StackGrants, one, all)
	for query, want := range map[string]int{"namespace=network": 2, "namespace=shop": 0, "q=shop": 2, "q=web": 1,
		"q=dns": 1, "sort=-created": 2} {
		if page := ask(t, StackGrants, rows, query); page.Total != want {
			t.Errorf("%s: %d rows, want %d", query, page.Total, want)
		}
	}
}
