package kinds

import (
	"cmp"
	"path"
	"strconv"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

// StackSets are listed by name.
var StackSets = &Type[v1alpha1.StackSet, userapi.StackSet]{
	Name: Name{Kind: "StackSet", Plural: "StackSets", Short: []string{"ss"}},
	List: func() client.ObjectList { return &v1alpha1.StackSetList{} },
	Row:  stackSet,
	Query: List[userapi.StackSet]{
		Name:    func(s *userapi.StackSet) (string, string) { return s.Namespace, s.Name },
		Default: "name",
		Sorts: map[string]func(*userapi.StackSet) Rank{
			"name":      func(s *userapi.StackSet) Rank { return Rank{Text: s.Name} },
			"created":   func(s *userapi.StackSet) Rank { return at(&s.Created) },
			"changed":   func(s *userapi.StackSet) Rank { return at(s.Changed) },
			"generated": func(s *userapi.StackSet) Rank { return Rank{Number: int64(s.Generated)} },
		},
		Filters: map[string]func(*userapi.StackSet) string{
			"namespace":  func(s *userapi.StackSet) string { return s.Namespace },
			"ready":      func(s *userapi.StackSet) string { return s.Ready },
			"reason":     func(s *userapi.StackSet) string { return s.Reason },
			"stalled":    func(s *userapi.StackSet) string { return strconv.FormatBool(s.Stalled) },
			"mode":       func(s *userapi.StackSet) string { return s.Mode },
			"repository": func(s *userapi.StackSet) string { return baseName(s.Repository) },
		},
		Words: func(s *userapi.StackSet) []string {
			return []string{s.Namespace + "/" + s.Name, baseName(s.Repository), s.Message}
		},
	},
	Columns: []string{
		"Name", "Ready", "Reason", "Stacks", "Applied", "Failed", "Gone", "Age", "+Mode", "+Changing", "+Outdated",
		"+Revision", MessageColumn,
	},
	Cells:      stackSetCells,
	Conditions: func(o *v1alpha1.StackSet) []metav1.Condition { return o.Status.Conditions },
}

// The server lists and shows them, and the operator counts them.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=stacksets,verbs=get;list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stacksets,verbs=list;watch

// baseName is the name of an object as namespace/name; empty for none.
func baseName(key string) string {
	if key == "" {
		return ""
	}
	return path.Base(key)
}

func stackSet(s *v1alpha1.StackSet) userapi.StackSet {
	is, status := ready(s.Status.Conditions), s.Status
	row := userapi.StackSet{
		Object: ObjectOf(s), Ready: intern(string(is.Status)), Reason: intern(is.Reason), Message: intern(is.Message),
		Changed: when(&is.LastTransitionTime), Mode: intern(string(s.Spec.Mode)), Revision: intern(status.Revision),
		Stalled:   apimeta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled),
		Generated: status.Generated, Applied: status.Applied, Changing: status.Changing, Outdated: status.Outdated,
		Failed: status.Failed, Gone: status.Gone, Deleted: s.DeletionTimestamp != nil,
	}
	if r := s.Spec.Repository; r != nil {
		row.Repository = intern(cmp.Or(r.Namespace, s.Namespace) + "/" + r.Name)
	}
	if d := status.Deletions; d != nil {
		row.AwaitingDeletions = d.Count
	}
	return row
}

func stackSetCells(s *v1alpha1.StackSet, age Age) []any {
	row := stackSet(s)
	return []any{
		s.Name, row.Ready, cmp.Or(row.Reason, newReason), row.Generated, row.Applied, row.Failed, row.Gone,
		age(s.CreationTimestamp.Time), row.Mode, row.Changing, row.Outdated, cmp.Or(row.Revision, "-"), row.Message,
	}
}
