package kinds

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/userapi"
)

// Stacks are listed by name.
var Stacks = &Type[v1alpha1.Stack, userapi.Stack]{
	Name: Name{Kind: "Stack", Plural: "Stacks"},
	List: func() client.ObjectList { return &v1alpha1.StackList{} },
	Row:  stack,
	Query: List[userapi.Stack]{
		Name:    func(s *userapi.Stack) (string, string) { return s.Namespace, s.Name },
		Default: "name",
		Sorts: map[string]func(*userapi.Stack) Rank{
			"name":      func(s *userapi.Stack) Rank { return Rank{Text: s.Name} },
			"created":   func(s *userapi.Stack) Rank { return at(&s.Created) },
			"changed":   func(s *userapi.Stack) Rank { return at(s.Changed) },
			"reason":    func(s *userapi.Stack) Rank { return Rank{Text: s.Reason} },
			"resources": func(s *userapi.Stack) Rank { return Rank{Number: int64(s.Resources)} },
		},
		Filters: map[string]func(*userapi.Stack) string{
			"namespace":  func(s *userapi.Stack) string { return s.Namespace },
			"ready":      func(s *userapi.Stack) string { return s.Ready },
			"reason":     func(s *userapi.Stack) string { return s.Reason },
			"failing":    func(s *userapi.Stack) string { return strconv.FormatBool(s.Failing) },
			"drifted":    func(s *userapi.Stack) string { return strconv.FormatBool(s.Drifted) },
			"suspended":  func(s *userapi.Stack) string { return strconv.FormatBool(s.Suspended) },
			"deleted":    func(s *userapi.Stack) string { return strconv.FormatBool(s.Deleted) },
			"repository": func(s *userapi.Stack) string { return baseName(s.Repository) },
			"stackset":   func(s *userapi.Stack) string { return s.StackSet },
			"engine":     func(s *userapi.Stack) string { return s.Engine },
			"commit":     func(s *userapi.Stack) string { return commitOf(s.Revision) },
		},
		// in its own namespace
		Aliases: map[string]func(*userapi.Stack) string{"stackset": func(s *userapi.Stack) string {
			if s.StackSet == "" || strings.Contains(s.StackSet, "/") {
				return ""
			}
			return s.Namespace + "/" + s.StackSet
		}},
		Labels:   func(s *userapi.Stack) []string { return s.Labels },
		NotReady: func(s *userapi.Stack) bool { return s.Ready == string(metav1.ConditionFalse) },
		Words: func(s *userapi.Stack) []string {
			return append([]string{s.Namespace + "/" + s.Name, baseName(s.Repository), s.Message}, s.Labels...)
		},
	},
	Columns: []string{"Name", "Ready", "Reason", "Resources", "Run", "Age", "+Apply", "+Drift", "+Revision",
		MessageColumn},
	Cells:      stackCells,
	Conditions: func(o *v1alpha1.Stack) []metav1.Condition { return o.Status.Conditions },
}

// The server lists and shows them, and the operator counts them.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=stacks,verbs=get;list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stacks,verbs=list;watch

func stack(s *v1alpha1.Stack) userapi.Stack {
	is := ready(s.Status.Conditions)
	row := userapi.Stack{
		Object: ObjectOf(s), Ready: intern(string(is.Status)), Reason: intern(is.Reason),
		Message: intern(is.Message), Changed: when(&is.LastTransitionTime), Apply: intern(string(s.Spec.Apply)),
		Engine:    intern(string(s.EngineOf().Name)),
		Suspended: s.Spec.Suspend, Deleted: s.DeletionTimestamp != nil, Destroyed: s.Destroyed(),
		Resources: int32(s.Status.Resources), Run: s.Status.CurrentRun, LastRun: s.Status.LastRun,
		Revision: intern(s.Status.Revision), Uses: s.Dependencies(), UsedOutputs: usedOutputs(s),
		Labels:   labelsOf(s.Labels),
		StackSet: intern(s.StackSet()),
		Drifted:  apimeta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionDrifted),
		Stalled:  apimeta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionStalled),
	}
	row.Failing = failing(is, row.Stalled)
	if key, ok := s.RepositoryKey(); ok {
		row.Repository, row.Path = intern(key.String()), s.Spec.Source.Git.Path
	}
	if again := s.Status.Retry; again != nil {
		row.Retry = &userapi.Retry{Operation: intern(string(again.Operation)), Run: again.Run}
	}
	return row
}

// failing reports whether a Ready condition has the reason of an error. A reason that this version does not know is
// one if the Stack waits until a user acts.
func failing(ready metav1.Condition, stalled bool) bool {
	reason, known := v1alpha1.ReasonNamed(ready.Reason)
	return ready.Status != metav1.ConditionTrue && (reason.Severity == v1alpha1.SeverityError || !known && stalled)
}

// usedOutputs are the outputs of other Stacks that a Stack uses: those of its spec, then those of Terragrunt units.
func usedOutputs(s *v1alpha1.Stack) []userapi.UsedOutput {
	var used []userapi.UsedOutput
	for _, v := range s.Spec.Variables {
		if v.ValueFrom == nil || v.ValueFrom.Stack == nil {
			continue
		}
		stack, output := s.NameOf(v.ValueFrom.Stack.Key()), v.ValueFrom.Stack.Output
		used = append(used, userapi.UsedOutput{Stack: intern(stack), Output: intern(output), Variable: intern(v.Name)})
	}
	for _, u := range s.Status.Units {
		if !u.Outputs {
			continue
		}
		for _, name := range u.Stacks {
			used = append(used, userapi.UsedOutput{Stack: intern(name)})
		}
	}
	return used
}

func stackCells(s *v1alpha1.Stack, age Age) []any {
	is := ready(s.Status.Conditions)
	reason := is.Reason
	if s.DeletionTimestamp != nil && reason != v1alpha1.ReasonDestroying {
		reason = "Deleting:" + reason
	}
	return []any{
		s.Name, string(is.Status), cmp.Or(reason, newReason), s.Status.Resources,
		cmp.Or(s.Status.LastRun, "-"), age(s.CreationTimestamp.Time), string(s.Spec.Apply), drift(s, age),
		cmp.Or(s.Status.Revision, "-"), is.Message,
	}
}

// drift summarizes the drift of a Stack; "-" before the first check.
func drift(s *v1alpha1.Stack, age Age) string {
	d := s.Status.Drift
	switch {
	case d == nil:
		return "-"
	case d.Since == nil && d.Ignored > 0:
		return fmt.Sprintf("none (%d ignored), %s ago", d.Ignored, age(d.CheckedAt.Time))
	case d.Since == nil:
		return "none, " + age(d.CheckedAt.Time) + " ago"
	}
	return runinfo.DriftSummary(d) + ", " + age(d.Since.Time)
}
