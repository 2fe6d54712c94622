package promotion

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestCorrespondingStacks checks which Stacks of two stages correspond, and that what is ambiguous does not.
func TestCorrespondingStacks(t *testing.T) {
	named := func(name string, labels ...string) *v1alpha1.Stack {
		s := aStack("")
		s.Name, s.Labels = name, map[string]string{}
		for _, label := range labels {
			key, value, _ := strings.Cut(label, "=")
			s.Labels[key] = value
		}
		return s
	}
	shop := aPipeline("shop")
	production := named("net-production", "env=production", "app=net", "cairn.dev/stackset=production")
	type stacks = []*v1alpha1.Stack
	for name, c := range map[string]struct {
		before, own stacks
		want        string
	}{
		"one": {stacks{named("db", "env=dev", "app=db"), named("net", "env=dev", "app=net")}, nil, "net"},
		"of another StackSet": {
			stacks{named("net", "env=dev", "app=net", "cairn.dev/stackset=dev")}, nil, "net",
		},
		"other labels": {stacks{named("net", "env=dev", "app=db")}, nil, "no Stack of stage dev"},
		"a label more": {stacks{named("net", "env=dev", "app=net", "region=eu")}, nil, "no Stack of stage dev"},
		"a label less": {stacks{named("net", "env=dev")}, nil, "no Stack of stage dev"},
		"none":         {nil, nil, "no Stack of stage dev"},
		"two in the before": {stacks{named("a", "env=dev", "app=net"), named("b", "env=dev", "app=net")}, nil,
			"2 Stacks of stage dev"},
		"two in its own": {
			stacks{named("net", "env=dev", "app=net")}, stacks{named("twin", "env=production", "app=net")},
			"2 Stacks of stage production",
		},
	} {
		got, why := Corresponding(&shop, 1, production, c.before, append(c.own, production))
		if got != nil {
			why = got.Name
		}
		if !strings.HasPrefix(why, c.want) {
			t.Errorf("%s: %q, want %q", name, why, c.want)
		}
	}
	shop.Spec.Stages[0].Stacks = metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"dev"}},
	}}
	if got, why := Corresponding(&shop, 1, production, stacks{named("net", "tier=dev", "app=net")},
		stacks{production}); got == nil {
		t.Errorf("by expressions: %s", why)
	}
}
