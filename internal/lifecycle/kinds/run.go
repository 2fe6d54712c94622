package kinds

import (
	"cmp"
	"strconv"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/approval"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/userapi"
)

// Runs are listed with the newest first.
var Runs = &Type[v1alpha1.Run, userapi.Run]{
	Name: Name{Kind: "Run", Plural: "Runs"},
	List: func() client.ObjectList { return &v1alpha1.RunList{} },
	Row:  run,
	Query: List[userapi.Run]{
		Name:    func(r *userapi.Run) (string, string) { return r.Namespace, r.Name },
		Default: "-created",
		Sorts: map[string]func(*userapi.Run) Rank{
			"created":  func(r *userapi.Run) Rank { return at(&r.Created) },
			"finished": func(r *userapi.Run) Rank { return at(r.Finished) },
			"stack":    func(r *userapi.Run) Rank { return Rank{Text: r.Stack} },
			"phase":    func(r *userapi.Run) Rank { return Rank{Text: r.Phase} },
		},
		Filters: map[string]func(*userapi.Run) string{
			"namespace": func(r *userapi.Run) string { return r.Namespace },
			"stack":     func(r *userapi.Run) string { return r.Stack },
			"stackUID":  func(r *userapi.Run) string { return r.StackUID },
			"phase":     func(r *userapi.Run) string { return r.Phase },
			"operation": func(r *userapi.Run) string { return r.Operation },
			"cause":     func(r *userapi.Run) string { return r.Cause.Type },
			"commit":    func(r *userapi.Run) string { return commitOf(r.Revision) },
			"finished": func(r *userapi.Run) string {
				return strconv.FormatBool(v1alpha1.RunPhase(r.Phase).Finished())
			},
		},
		Words: func(r *userapi.Run) []string {
			return []string{r.Namespace + "/" + r.Name, r.Cause.Message, r.Cause.By, r.Revision}
		},
	},
	Columns: []string{"Name", "Stack", "Operation", "Cause", "Phase", "Plan", "Age", "+By", "+Attempts", "+Revision",
		MessageColumn},
	Cells: runCells,
}

// The server lists and shows them, and the operator counts them.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=runs,verbs=get;list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=runs,verbs=list;watch

// commitOf returns the commit of a revision such as main@sha1:1f3c...; empty if it is none.
func commitOf(revision string) string {
	_, commit, _ := strings.Cut(revision, "@sha1:")
	return commit
}

func run(r *v1alpha1.Run) userapi.Run {
	row := userapi.Run{
		Object: ObjectOf(r), Stack: intern(r.Spec.Stack.Name), Operation: intern(string(r.Spec.Operation)),
		Phase: intern(string(r.Status.Phase)),
		Cause: userapi.Cause{
			Type: intern(string(r.Spec.Cause.Type)), Message: intern(r.Spec.Cause.Message), By: intern(r.Spec.Cause.By),
		},
		Revision: intern(r.Spec.Revision), Attempts: len(r.Status.Attempts), Finished: when(r.Status.FinishedAt),
	}
	if owner := metav1.GetControllerOfNoCopy(r); owner != nil {
		row.StackUID = intern(string(owner.UID))
	}
	if c := apimeta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		row.Reason, row.Message = intern(c.Reason), intern(c.Message)
	}
	if p := r.Status.Plan; p != nil {
		row.Plan = countsOf(p)
	}
	if a := approval.Given(r); a != nil {
		row.ApprovedBy = intern(a.By)
	}
	wait := runinfo.WaitOf(r)
	row.Waited = int64(wait.Ended.Seconds())
	if !wait.Since.IsZero() {
		since := wait.Since
		row.WaitingSince = &since
	}
	return row
}

func countsOf(p *v1alpha1.Plan) *userapi.Counts {
	return &userapi.Counts{
		Changes: p.Changes, StateOnly: p.StateOnly, Add: p.Add, Change: p.Change, Destroy: p.Destroy,
		Replace: p.Replace, Import: p.Import,
		Forget: p.Forget, Invoke: p.Invoke, Refresh: p.Refresh,
	}
}

func runCells(r *v1alpha1.Run, age Age) []any {
	plan, message := "-", ""
	if r.Status.Plan != nil {
		plan = runinfo.Summary(r.Status.Plan)
	}
	if c := apimeta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		message = c.Message
	}
	return []any{
		r.Name, r.Spec.Stack.Name, string(r.Spec.Operation), string(r.Spec.Cause.Type),
		string(cmp.Or(r.Status.Phase, v1alpha1.PhaseQueued)), plan, age(r.CreationTimestamp.Time),
		cmp.Or(r.Spec.Cause.By, "-"), int32(len(r.Status.Attempts)), cmp.Or(r.Spec.Revision, "-"), message,
	}
}
