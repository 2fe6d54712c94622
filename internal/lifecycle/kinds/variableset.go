package kinds

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

// VariableSets are listed by name.
var VariableSets = &Type[v1alpha1.VariableSet, userapi.VariableSet]{
	Name: Name{Kind: "VariableSet", Plural: "VariableSets"},
	List: func() client.ObjectList { return &v1alpha1.VariableSetList{} },
	Row:  variableSet,
	Query: List[userapi.VariableSet]{
		Name:    func(s *userapi.VariableSet) (string, string) { return s.Namespace, s.Name },
		Default: "name",
		Sorts: map[string]func(*userapi.VariableSet) Rank{
			"name":    func(s *userapi.VariableSet) Rank { return Rank{Text: s.Name} },
			"created": func(s *userapi.VariableSet) Rank { return at(&s.Created) },
		},
		Filters: map[string]func(*userapi.VariableSet) string{
			"namespace": func(s *userapi.VariableSet) string { return s.Namespace },
		},
		Words: func(s *userapi.VariableSet) []string {
			return slices.Concat([]string{s.Namespace + "/" + s.Name, s.Selector}, s.Variables, s.Env)
		},
	},
	Columns: []string{"Name", "Stacks", "Variables", "Env", "Age", "+Names"},
	Cells: func(s *v1alpha1.VariableSet, age Age) []any {
		row := variableSet(s)
		return []any{
			s.Name, cmp.Or(row.Selector, "all"), int32(len(row.Variables)), int32(len(row.Env)),
			age(s.CreationTimestamp.Time),
			cmp.Or(strings.Join(slices.Concat(row.Variables, row.Env), ","), "-"),
		}
	},
}

// The server lists and shows them.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=variablesets,verbs=get;list;watch

func variableSet(s *v1alpha1.VariableSet) userapi.VariableSet {
	row := userapi.VariableSet{Object: ObjectOf(s), Selector: selectorText(&s.Spec.StackSelector),
		Deleted: s.DeletionTimestamp != nil}
	for _, v := range s.Spec.Variables {
		row.Variables = append(row.Variables, v.Name)
	}
	for _, e := range s.Spec.Env {
		row.Env = append(row.Env, e.Name)
	}
	return row
}

// selectorText is a label selector of Stacks; empty if it selects all.
func selectorText(of *metav1.LabelSelector) string {
	if len(of.MatchLabels)+len(of.MatchExpressions) == 0 {
		return ""
	}
	return metav1.FormatLabelSelector(of)
}
