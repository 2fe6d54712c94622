package kinds

import (
	"cmp"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

// StackPolicies are listed by name.
var StackPolicies = &Type[v1alpha1.StackPolicy, userapi.StackPolicy]{
	Name: Name{Kind: "StackPolicy", Plural: "StackPolicies"},
	List: func() client.ObjectList { return &v1alpha1.StackPolicyList{} },
	Row: func(p *v1alpha1.StackPolicy) userapi.StackPolicy {
		row := userapi.StackPolicy{
			Object: ObjectOf(p), Selector: selectorText(&p.Spec.StackSelector), Windows: len(p.Spec.Windows),
			Deleted: p.DeletionTimestamp != nil,
		}
		for _, policy := range p.Spec.Policies {
			row.Policies = append(row.Policies, policy.ConfigMap.Name)
		}
		return row
	},
	Query: List[userapi.StackPolicy]{
		Name:    func(p *userapi.StackPolicy) (string, string) { return p.Namespace, p.Name },
		Default: "name",
		Sorts: map[string]func(*userapi.StackPolicy) Rank{
			"name":    func(p *userapi.StackPolicy) Rank { return Rank{Text: p.Name} },
			"created": func(p *userapi.StackPolicy) Rank { return at(&p.Created) },
		},
		Filters: map[string]func(*userapi.StackPolicy) string{
			"namespace": func(p *userapi.StackPolicy) string { return p.Namespace },
		},
		Words: func(p *userapi.StackPolicy) []string {
			return append([]string{p.Namespace + "/" + p.Name, p.Selector}, p.Policies...)
		},
	},
	Columns: []string{"Name", "Stacks", "Windows", "Policies", "Age"},
	Cells: func(p *v1alpha1.StackPolicy, age Age) []any {
		var policies []string
		for _, policy := range p.Spec.Policies {
			policies = append(policies, policy.ConfigMap.Name)
		}
		return []any{
			p.Name, cmp.Or(selectorText(&p.Spec.StackSelector), "all"), int32(len(p.Spec.Windows)),
			cmp.Or(strings.Join(policies, ","), "-"), age(p.CreationTimestamp.Time),
		}
	},
}

// The server lists and shows them.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=stackpolicies,verbs=get;list;watch
