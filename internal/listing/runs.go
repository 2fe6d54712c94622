package listing

import (
	"strconv"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

// Runs are listed with the newest first.
var Runs = Kind[v1alpha1.Run, userapi.Run]{
	Row:     run,
	Name:    func(r *v1alpha1.Run) (string, string) { return r.Namespace, r.Name },
	Default: "-created",
	Sorts: map[string]func(*v1alpha1.Run) Rank{
		"created":  func(r *v1alpha1.Run) Rank { return at(&r.CreationTimestamp) },
		"finished": func(r *v1alpha1.Run) Rank { return at(r.Status.FinishedAt) },
		"stack":    func(r *v1alpha1.Run) Rank { return Rank{Text: r.Spec.Stack.Name} },
		"phase":    func(r *v1alpha1.Run) Rank { return Rank{Text: string(r.Status.Phase)} },
	},
	Filters: map[string]func(*v1alpha1.Run) string{
		"namespace": func(r *v1alpha1.Run) string { return r.Namespace },
		"stack":     func(r *v1alpha1.Run) string { return r.Spec.Stack.Name },
		"phase":     func(r *v1alpha1.Run) string { return string(r.Status.Phase) },
		"operation": func(r *v1alpha1.Run) string { return string(r.Spec.Operation) },
		"cause":     func(r *v1alpha1.Run) string { return string(r.Spec.Cause.Type) },
		"finished":  func(r *v1alpha1.Run) string { return strconv.FormatBool(r.Status.Phase.Finished()) },
	},
	Words: func(r *v1alpha1.Run) []string {
		return []string{r.Namespace + "/" + r.Name, r.Spec.Cause.Message, r.Spec.Cause.By, r.Spec.Revision}
	},
}

func run(r *v1alpha1.Run) userapi.Run {
	row := userapi.Run{
		Object: object(&r.ObjectMeta), Stack: r.Spec.Stack.Name, Operation: string(r.Spec.Operation), Phase: string(r.Status.Phase),
		Cause:    userapi.Cause{Type: string(r.Spec.Cause.Type), Message: r.Spec.Cause.Message, By: r.Spec.Cause.By},
		Revision: r.Spec.Revision, Attempts: len(r.Status.Attempts), Finished: when(r.Status.FinishedAt),
	}
	if c := apimeta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		row.Reason, row.Message = c.Reason, c.Message
	}
	if p := r.Status.Plan; p != nil {
		row.Plan = &userapi.Counts{
			Changes: p.Changes, Add: p.Add, Change: p.Change, Destroy: p.Destroy, Replace: p.Replace, Import: p.Import, Forget: p.Forget,
		}
	}
	if a := r.Spec.Approval; a != nil {
		row.ApprovedBy = a.By
	}
	return row
}
