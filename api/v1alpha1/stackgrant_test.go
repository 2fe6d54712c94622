package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestStackGrantsAllow(t *testing.T) {
	grant := func(change func(*StackGrant)) *StackGrantList {
		g := StackGrant{ObjectMeta: metav1.ObjectMeta{Namespace: "network"}, Spec: StackGrantSpec{
			From:   []StackGrantFrom{{Kind: GrantStack, Namespace: "other"}, {Kind: GrantStack, Namespace: "shop"}},
			Stacks: []string{"dns", "net"},
		}}
		change(&g)
		return &StackGrantList{Items: []StackGrant{{}, g}}
	}
	for name, tt := range map[string]struct {
		grants *StackGrantList
		want   bool
	}{
		"the Stack":            {grant(func(*StackGrant) {}), true},
		"all Stacks":           {grant(func(g *StackGrant) { g.Spec.Stacks = nil }), true},
		"other Stacks":         {grant(func(g *StackGrant) { g.Spec.Stacks = []string{"dns"} }), false},
		"other namespaces":     {grant(func(g *StackGrant) { g.Spec.From = g.Spec.From[:1] }), false},
		"another kind":         {grant(func(g *StackGrant) { g.Spec.From[1].Kind = "Run" }), false},
		"in another namespace": {grant(func(g *StackGrant) { g.Namespace = "shop" }), false},
		"one that is deleted":  {grant(func(g *StackGrant) { g.DeletionTimestamp = &metav1.Time{} }), false},
		"no StackGrant":        {&StackGrantList{}, false},
		"a part of the name":   {grant(func(g *StackGrant) { g.Spec.Stacks = []string{"netx", "ne"} }), false},
		"an empty one":         {&StackGrantList{Items: []StackGrant{{}}}, false},
	} {
		if got := tt.grants.Allow(GrantStack, "shop", types.NamespacedName{Namespace: "network", Name: "net"}); got !=
			tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
