package screen

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
)

// wide columns are shown with -o wide only.
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

// table is one of all objects, a row each.
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

// Stacks is a table of Stacks.
func Stacks(stacks []v1alpha1.Stack, s Style) *metav1.Table {
	return table(stacks, func(st *v1alpha1.Stack) []any {
		ready := Ready(st)
		return []any{
			st.Name, or(string(ready.Status), "Unknown"), or(stackReason(st), "New"), st.Status.Resources, or(st.Status.LastRun, "-"),
			s.age(st.CreationTimestamp.Time), string(st.Spec.Apply), or(drift(st, s), "-"), or(st.Status.Revision, "-"), ready.Message,
		}
	}, func(st *v1alpha1.Stack) runtime.Object { return st },
		"Name", "Ready", "Reason", "Resources", "Run", "Age", "+Apply", "+Drift", "+Revision", "Message")
}

// stackReason is the reason that a Stack is how it is, with what its condition does not say.
func stackReason(st *v1alpha1.Stack) string {
	reason := Ready(st).Reason
	if st.DeletionTimestamp != nil && reason != v1alpha1.ReasonDestroying {
		return "Deleting:" + reason
	}
	return reason
}

// drift in a few words; empty when nobody looked yet.
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

// Runs is a table of Runs.
func Runs(runs []v1alpha1.Run, s Style) *metav1.Table {
	return table(runs, func(r *v1alpha1.Run) []any {
		return []any{
			r.Name, r.Spec.Stack.Name, string(r.Spec.Operation), string(r.Spec.Cause.Type), string(Phase(r)), planned(r),
			s.age(r.CreationTimestamp.Time), or(r.Spec.Cause.By, "-"), int32(len(r.Status.Attempts)), or(r.Spec.Revision, "-"), Succeeded(r).Message,
		}
	}, func(r *v1alpha1.Run) runtime.Object { return r },
		"Name", "Stack", "Operation", "Cause", "Phase", "Plan", "Age", "+By", "+Attempts", "+Revision", "Message")
}

// History is a table of the Runs of one Stack.
func History(runs []v1alpha1.Run, s Style) *metav1.Table {
	return table(runs, func(r *v1alpha1.Run) []any {
		return []any{
			r.Name, string(r.Spec.Operation), causeInShort(r), string(Phase(r)), planned(r), or(approvedBy(r), "-"),
			runTook(r, s), s.age(r.CreationTimestamp.Time), r.Spec.Cause.Message, or(r.Spec.Revision, "-"), Succeeded(r).Message,
		}
	}, func(r *v1alpha1.Run) runtime.Object { return r },
		"Name", "Operation", "Cause", "Phase", "Plan", "Approved", "Took", "Age", "+Why", "+Revision", "Message")
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

// runTook is how long a Run's attempts took, waits between them included; until now when it is under way.
func runTook(r *v1alpha1.Run, s Style) string {
	end := s.Now
	if r.Status.FinishedAt != nil {
		end = r.Status.FinishedAt.Time
	}
	return Took(end.Sub(r.CreationTimestamp.Time).Truncate(time.Millisecond))
}

// States is a table of States.
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
			st.Name, st.Status.Version, st.Status.Serial, st.Status.Resources, size(st.Status.Size), locked, or(st.Status.UpdatedBy, "-"),
			s.age(updated), s.age(st.CreationTimestamp.Time), int32(len(st.Status.Versions)), or(st.Status.Lineage, "-"),
		}
	}, func(st *v1alpha1.State) runtime.Object { return st },
		"Name", "Version", "Serial", "Resources", "Size", "Locked by", "Updated by", "Updated", "Age", "+Versions", "+Lineage")
}

// size in the unit that fits.
func size(bytes int64) string {
	switch {
	case bytes < 10<<10:
		return strconv.FormatInt(bytes, 10) + "B"
	case bytes < 10<<20:
		return strconv.FormatInt(bytes>>10, 10) + "Ki"
	}
	return strconv.FormatInt(bytes>>20, 10) + "Mi"
}

// Repositories is a table of Repositories.
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
			r.Name, or(string(ready.Status), "Unknown"), or(ready.Reason, "New"), r.Spec.URL, s.age(fetched), s.age(r.CreationTimestamp.Time),
			or(r.Spec.Ref, "-"), interval, fmt.Sprint(len(r.Status.Refs)), ready.Message,
		}
	}, func(r *v1alpha1.Repository) runtime.Object { return r },
		"Name", "Ready", "Reason", "URL", "Fetched", "Age", "+Ref", "+Interval", "+Refs", "Message")
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
