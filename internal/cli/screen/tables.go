package screen

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// wide is the priority of columns that only -o wide shows.
const wide = 1

func columns(names ...string) []metav1.TableColumnDefinition {
	var c []metav1.TableColumnDefinition
	for _, name := range names {
		definition := metav1.TableColumnDefinition{Name: name, Type: "string"}
		if name[0] == '+' {
			definition.Name, definition.Priority = name[1:], wide
		}
		c = append(c, definition)
	}
	c[0].Format = "name"
	return c
}

// table returns a table with a row for each object.
func table[T any](objects []T, row func(*T) []any, object func(*T) runtime.Object, names ...string) *metav1.Table {
	t := &metav1.Table{ColumnDefinitions: columns(names...)}
	for i := range objects {
		cells := row(&objects[i])
		for j, c := range cells {
			if text, ok := c.(string); ok {
				cells[j] = Clean(text)
			}
		}
		t.Rows = append(t.Rows, metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: object(&objects[i])}})
	}
	return t
}

// resourceCount returns the number of resources in a state, which is not known of one that its engine encrypts.
func resourceCount(n int32) any {
	if n < 0 {
		return "unknown"
	}
	return n
}

// Stacks returns a table of Stacks.
func Stacks(stacks []v1alpha1.Stack, s Style) *metav1.Table {
	return table(stacks, func(st *v1alpha1.Stack) []any {
		ready := Ready(st)
		return []any{
			st.Name, cmp.Or(string(ready.Status), "Unknown"), cmp.Or(stackReason(st), "New"), resourceCount(st.Status.Resources),
			cmp.Or(st.Status.LastRun, "-"),
			s.age(st.CreationTimestamp.Time), string(st.Spec.Apply), cmp.Or(drift(st, s), "-"), cmp.Or(st.Status.Revision, "-"),
			ready.Message,
		}
	}, func(st *v1alpha1.Stack) runtime.Object { return st },
		"Name", "Ready", "Reason", "Resources", "Run", "Age", "+Apply", "+Drift", "+Revision", messageColumn)
}

// stackReason returns the reason of the condition Ready, and whether the Stack is being deleted.
func stackReason(st *v1alpha1.Stack) string {
	reason := Ready(st).Reason
	if st.DeletionTimestamp != nil && reason != v1alpha1.ReasonDestroying {
		return "Deleting:" + reason
	}
	return reason
}

// drift summarizes the drift of a Stack; empty before the first check.
func drift(st *v1alpha1.Stack, s Style) string {
	d := st.Status.Drift
	switch {
	case d == nil:
		return ""
	case d.Since == nil:
		return "none, " + s.age(d.CheckedAt.Time) + " ago"
	}
	return driftCounts(d) + ", " + s.age(d.Since.Time)
}

func driftCounts(d *v1alpha1.DriftStatus) string {
	return runinfo.Summary(&v1alpha1.Plan{Add: d.Add, Change: d.Change, Destroy: d.Destroy, Replace: d.Replace, Changes: true})
}

// Runs returns a table of Runs.
func Runs(runs []v1alpha1.Run, s Style) *metav1.Table {
	return table(runs, func(r *v1alpha1.Run) []any {
		return []any{
			r.Name, r.Spec.Stack.Name, string(r.Spec.Operation), string(r.Spec.Cause.Type), string(Phase(r)), planned(r),
			s.age(r.CreationTimestamp.Time), cmp.Or(r.Spec.Cause.By, "-"), int32(len(r.Status.Attempts)),
			cmp.Or(r.Spec.Revision, "-"), Succeeded(r).Message,
		}
	}, func(r *v1alpha1.Run) runtime.Object { return r },
		"Name", "Stack", "Operation", "Cause", "Phase", "Plan", "Age", "+By", "+Attempts", "+Revision", messageColumn)
}

// History returns a table of the Runs of one Stack.
func History(runs []v1alpha1.Run, s Style) *metav1.Table {
	return table(runs, func(r *v1alpha1.Run) []any {
		return []any{
			r.Name, string(r.Spec.Operation), causeInShort(r), string(Phase(r)), planned(r), cmp.Or(approvedBy(r), "-"),
			runDuration(r, s), s.age(r.CreationTimestamp.Time), r.Spec.Cause.Message, cmp.Or(r.Spec.Revision, "-"),
			Succeeded(r).Message,
		}
	}, func(r *v1alpha1.Run) runtime.Object { return r },
		"Name", "Operation", "Cause", "Phase", "Plan", "Approved", "Took", "Age", "+Why", "+Revision", messageColumn)
}

func planned(r *v1alpha1.Run) string {
	if r.Status.Plan == nil {
		return "-"
	}
	return runinfo.Summary(r.Status.Plan)
}

func causeInShort(r *v1alpha1.Run) string {
	if by := r.Spec.Cause.By; by != "" {
		return string(r.Spec.Cause.Type) + " by " + by
	}
	return string(r.Spec.Cause.Type)
}

func approvedBy(r *v1alpha1.Run) string {
	if a := r.Spec.Approval; a != nil {
		return a.By
	}
	return ""
}

// runDuration returns the duration of a Run until now if it is active, without the time that it waited for an approval.
// It has no fractions, since the times of a Run have none.
func runDuration(r *v1alpha1.Run, s Style) string {
	active, _ := runinfo.Duration(r, s.Now)
	return duration.HumanDuration(active)
}

// States returns a table of States.
func States(states []v1alpha1.State, s Style) *metav1.Table {
	return table(states, func(st *v1alpha1.State) []any {
		locked := "-"
		if l := st.Status.Lock; l != nil {
			locked = cmp.Or(l.Run, l.By, l.Who, "-")
		}
		var updated time.Time
		if n := len(st.Status.Versions); n > 0 {
			updated = st.Status.Versions[n-1].At.Time
		}
		return []any{
			st.Name, st.Status.Version, st.Status.Serial, resourceCount(st.Status.Resources), size(st.Status.Size), locked,
			cmp.Or(st.Status.UpdatedBy, "-"),
			s.age(updated), s.age(st.CreationTimestamp.Time), int32(len(st.Status.Versions)), cmp.Or(st.Status.Lineage, "-"),
		}
	}, func(st *v1alpha1.State) runtime.Object { return st },
		"Name", "Version", "Serial", "Resources", "Size", "Locked by", "Updated by", "Updated", "Age", "+Versions", "+Lineage")
}

// PullRequests returns a table of PullRequests.
func PullRequests(pulls []v1alpha1.PullRequest, s Style) *metav1.Table {
	return table(pulls, func(p *v1alpha1.PullRequest) []any {
		ready := condition(p.Status.Conditions, v1alpha1.ConditionReady)
		return []any{
			p.Name, cmp.Or(string(ready.Status), "Unknown"), cmp.Or(ready.Reason, "New"), plansOf(p), changesOf(p),
			cmp.Or(p.Spec.Author, "-"), s.age(p.CreationTimestamp.Time), p.Spec.Title, p.Spec.Base, p.Spec.Head.Branch,
			cmp.Or(p.Spec.URL, "-"), ready.Message,
		}
	}, func(p *v1alpha1.PullRequest) runtime.Object { return p },
		"Name", "Ready", "Reason", "Plans", "Changes", "Author", "Age", "+Title", "+Base", "+Head", "+URL", messageColumn)
}

// plansOf returns how many of the affected Stacks are planned.
func plansOf(p *v1alpha1.PullRequest) string {
	var planned int
	for _, stack := range p.Status.Stacks {
		if stack.Phase == v1alpha1.PhaseSucceeded {
			planned++
		}
	}
	return fmt.Sprintf("%d/%d", planned, len(p.Status.Stacks)+len(p.Status.Skipped))
}

// changesOf returns the changes of all plans; "-" if there are no plans.
func changesOf(p *v1alpha1.PullRequest) string {
	var all v1alpha1.Plan
	var planned bool
	for _, stack := range p.Status.Stacks {
		if plan := stack.Plan; plan != nil {
			planned = true
			runinfo.Add(&all, plan)
		}
	}
	if !planned {
		return "-"
	}
	return runinfo.Summary(&all)
}

// size formats a size in bytes.
func size(bytes int64) string {
	switch {
	case bytes < 10<<10:
		return strconv.FormatInt(bytes, 10) + "B"
	case bytes < 10<<20:
		return strconv.FormatInt(bytes>>10, 10) + "Ki"
	}
	return strconv.FormatInt(bytes>>20, 10) + "Mi"
}

// Repositories returns a table of Repositories.
func Repositories(repositories []v1alpha1.Repository, s Style) *metav1.Table {
	return table(repositories, func(r *v1alpha1.Repository) []any {
		ready := condition(r.Status.Conditions, v1alpha1.ConditionReady)
		var fetched time.Time
		if f := r.Status.LastFetch; f != nil {
			fetched = f.FinishedAt.Time
		}
		interval := "-"
		if r.Spec.Interval != nil {
			interval = r.Spec.Interval.Duration.String()
		}
		return []any{
			r.Name, cmp.Or(string(ready.Status), "Unknown"), cmp.Or(ready.Reason, "New"), r.Spec.URL, s.age(fetched),
			s.age(r.CreationTimestamp.Time),
			cmp.Or(r.Spec.Ref, "-"), interval, fmt.Sprint(len(r.Status.Refs)), ready.Message,
		}
	}, func(r *v1alpha1.Repository) runtime.Object { return r },
		"Name", "Ready", "Reason", "URL", "Fetched", "Age", "+Ref", "+Interval", "+Refs", messageColumn)
}
