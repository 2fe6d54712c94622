package screen

import (
	"cmp"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/approval"
	"cairn.dev/cairn/internal/lifecycle/kinds"
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
		t.Rows = append(t.Rows,
			metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: object(&objects[i])}})
	}
	return t
}

// Table returns a table of the objects of a kind.
func Table(kind kinds.Kind, list client.ObjectList, s Style) (*metav1.Table, error) {
	objects, err := apimeta.ExtractList(list)
	names, cells := kind.Table()
	return table(objects, func(o *runtime.Object) []any { return cells((*o).(client.Object), s.age) },
		func(o *runtime.Object) runtime.Object { return *o }, names...), err
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
		"Name", "Operation", "Cause", "Phase", "Plan", "Approved", "Took", "Age", "+Why", "+Revision",
		kinds.MessageColumn)
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
	if a := approval.Given(r); a != nil {
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

// Rows returns a table of rows that are no objects.
func Rows(rows [][]any, names ...string) *metav1.Table {
	return table(rows, func(r *[]any) []any { return *r }, func(*[]any) runtime.Object { return nil }, names...)
}
