package listing

import (
	"strconv"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

// Stacks are listed by name.
var Stacks = Kind[v1alpha1.Stack, userapi.Stack]{
	Row:     stack,
	Name:    func(s *v1alpha1.Stack) (string, string) { return s.Namespace, s.Name },
	Default: "name",
	Sorts: map[string]func(*v1alpha1.Stack) Rank{
		"name":    func(s *v1alpha1.Stack) Rank { return Rank{Text: s.Name} },
		"created": func(s *v1alpha1.Stack) Rank { return at(&s.CreationTimestamp) },
		"changed": func(s *v1alpha1.Stack) Rank {
			is := ready(s.Status.Conditions)
			return at(&is.LastTransitionTime)
		},
		"reason":    func(s *v1alpha1.Stack) Rank { return Rank{Text: ready(s.Status.Conditions).Reason} },
		"resources": func(s *v1alpha1.Stack) Rank { return Rank{Number: int64(s.Status.Resources)} },
	},
	Filters: map[string]func(*v1alpha1.Stack) string{
		"namespace": func(s *v1alpha1.Stack) string { return s.Namespace },
		"ready":     func(s *v1alpha1.Stack) string { return string(ready(s.Status.Conditions).Status) },
		"reason":    func(s *v1alpha1.Stack) string { return ready(s.Status.Conditions).Reason },
		"drifted":   func(s *v1alpha1.Stack) string { return strconv.FormatBool(isDrifted(s)) },
		"suspended": func(s *v1alpha1.Stack) string { return strconv.FormatBool(s.Spec.Suspend) },
		"deleted":   func(s *v1alpha1.Stack) string { return strconv.FormatBool(s.DeletionTimestamp != nil) },
		"repository": func(s *v1alpha1.Stack) string {
			key, _ := s.RepositoryKey()
			return key.Name
		},
		"engine": func(s *v1alpha1.Stack) string { return string(s.EngineOf().Name) },
	},
	Words: func(s *v1alpha1.Stack) []string {
		key, _ := s.RepositoryKey()
		return []string{s.Namespace + "/" + s.Name, key.Name, ready(s.Status.Conditions).Message}
	},
}

func stack(s *v1alpha1.Stack) userapi.Stack {
	is := ready(s.Status.Conditions)
	row := userapi.Stack{
		Object: object(&s.ObjectMeta), Ready: string(is.Status), Reason: is.Reason, Message: is.Message, Changed: when(&is.LastTransitionTime),
		Apply: string(s.Spec.Apply), Engine: string(s.EngineOf().Name), Suspended: s.Spec.Suspend, Deleted: s.DeletionTimestamp != nil,
		Resources: s.Status.Resources, Run: s.Status.CurrentRun, LastRun: s.Status.LastRun, Revision: s.Status.Revision,
		Uses: s.Dependencies(), Drifted: isDrifted(s),
		Stalled: apimeta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionStalled),
	}
	if key, ok := s.RepositoryKey(); ok {
		row.Repository, row.Path = key.String(), s.Spec.Source.Git.Path
	}
	return row
}

func isDrifted(s *v1alpha1.Stack) bool {
	return apimeta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionDrifted)
}

// ready is the Ready condition; Unknown as long as there is none.
func ready(conditions []metav1.Condition) metav1.Condition {
	if c := apimeta.FindStatusCondition(conditions, v1alpha1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{Status: metav1.ConditionUnknown}
}
