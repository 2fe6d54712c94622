package kinds

import (
	"cmp"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

// StackGrants are listed by name.
var StackGrants = &Type[v1alpha1.StackGrant, userapi.StackGrant]{
	Name: Name{Kind: "StackGrant", Plural: "StackGrants"},
	List: func() client.ObjectList { return &v1alpha1.StackGrantList{} },
	Row: func(g *v1alpha1.StackGrant) userapi.StackGrant {
		row := userapi.StackGrant{Object: ObjectOf(g), Stacks: slices.Clone(g.Spec.Stacks)}
		for _, f := range g.Spec.From {
			row.From = append(row.From, userapi.GrantFrom{Kind: string(f.Kind), Namespace: f.Namespace})
		}
		return row
	},
	Query: List[userapi.StackGrant]{
		Name:    func(g *userapi.StackGrant) (string, string) { return g.Namespace, g.Name },
		Default: "name",
		Sorts: map[string]func(*userapi.StackGrant) Rank{
			"name":    func(g *userapi.StackGrant) Rank { return Rank{Text: g.Name} },
			"created": func(g *userapi.StackGrant) Rank { return at(&g.Created) },
		},
		Filters: map[string]func(*userapi.StackGrant) string{
			"namespace": func(g *userapi.StackGrant) string { return g.Namespace },
		},
		Words: func(g *userapi.StackGrant) []string {
			words := append([]string{g.Namespace + "/" + g.Name}, g.Stacks...)
			for _, f := range g.From {
				words = append(words, f.Namespace)
			}
			return words
		},
	},
	Columns: []string{"Name", "From", "Stacks", "Age"},
	Cells: func(g *v1alpha1.StackGrant, age Age) []any {
		from := make([]string, len(g.Spec.From))
		for i, f := range g.Spec.From {
			from[i] = string(f.Kind) + " " + f.Namespace
		}
		return []any{
			g.Name, strings.Join(from, ", "), cmp.Or(strings.Join(g.Spec.Stacks, ", "), "all"),
			age(g.CreationTimestamp.Time),
		}
	},
}

// The server lists and shows them.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=stackgrants,verbs=get;list;watch
