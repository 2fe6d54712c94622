// Package kinds is the registry of the kinds of objects that users see, with everything that depends on the kind and on
// nothing else: its names, the row that lists have of an object, what rows are filtered and sorted by, and the columns
// of tables. The lists and routes of the server, the metrics, OpenAPI and its page, and the commands get and completion
// read the registry, so that a new kind is a file here and its place in All.
package kinds

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/userapi"
)

// All are the kinds, in the order in which users see them. Only tests change it.
var All = []Kind{Stacks, StackSets, Runs, States, Repositories, PullRequests, VariableSets, StackPolicies, StackGrants,
	Notifications,
	DriftPauses, Pipelines}

// Named returns the kind with one of the names that users can write, in any case.
func Named(name string) (Kind, bool) {
	name = strings.ToLower(name)
	i := slices.IndexFunc(All, func(k Kind) bool { return slices.Contains(k.Named().Words(), name) })
	if i < 0 {
		return nil, false
	}
	return All[i], true
}

// A Name is how a kind is named.
type Name struct {
	// Kind is the name in the API of Kubernetes, and Plural that of several objects. Examples: Repository,
	// Repositories.
	Kind, Plural string
	// Short are abbreviations for commands.
	Short []string
}

// Named returns the name of the kind.
func (n Name) Named() Name { return n }

// Resource returns the name in roles and routes. Example: repositories.
func (n Name) Resource() string { return strings.ToLower(n.Plural) }

// Singular returns the name that commands print before the name of an object. Example: repository.
func (n Name) Singular() string { return strings.ToLower(n.Kind) }

// Words returns the names that users can write, the resource first.
func (n Name) Words() []string { return append([]string{n.Resource(), n.Singular()}, n.Short...) }

// A Kind is a kind of objects, whatever their types. It is a Type.
type Kind interface {
	Named() Name
	// New and NewList return an empty object, and an empty list of objects.
	New() client.Object
	NewList() client.ObjectList
	// RowOf returns a pointer to the row of an object. It does not point into the object.
	RowOf(o client.Object) (any, error)
	// Select returns the page of rows that a query asks for. An error is a *BadQuery.
	Select(rows []any, query url.Values) (any, error)
	// Parameters are those of a query.
	Parameters() []string
	// Detail returns an object with its row.
	Detail(o client.Object) any
	// Table returns the columns of a table, and the cells of an object.
	Table() (columns []string, cells func(o client.Object, age Age) []any)
	// ConditionsOf returns the conditions of an object, of which one is Ready. It is nil if the kind has none.
	ConditionsOf() func(o client.Object) []metav1.Condition
}

// Age formats the time since a moment; "-" if it is zero.
type Age func(time.Time) string

// A Type is a kind whose objects are of type O, and whose rows are of type R.
type Type[O, R any] struct {
	Name
	// List returns an empty list of objects.
	List func() client.ObjectList
	// Row returns the row of an object. It has no pointer into the object.
	Row func(*O) R
	// Query is what can be asked of the rows.
	Query List[R]
	// Columns are those of a table; one that only -o wide shows begins with +. The last one is MessageColumn if objects
	// have a message. Cells returns the cells of an object.
	Columns []string
	Cells   func(o *O, age Age) []any
	// Conditions returns the conditions of an object, of which one is Ready; nil if objects have none.
	Conditions func(*O) []metav1.Condition
}

// ReadyHelp describes the metric that counts objects by their Ready condition, and ReadyLabels are its labels.
func ReadyHelp(k Kind) string {
	return k.Named().Plural + " by their Ready condition. An unknown reason is Other."
}

// ReadyLabels belong to ReadyHelp.
var ReadyLabels = []string{"namespace", "ready", "reason"}

// MessageColumn is a column that is cut to the width of the terminal.
const MessageColumn = "Message"

// New implements Kind.
func (t *Type[O, R]) New() client.Object { return any(new(O)).(client.Object) }

// NewList implements Kind.
func (t *Type[O, R]) NewList() client.ObjectList { return t.List() }

// RowOf implements Kind.
func (t *Type[O, R]) RowOf(o client.Object) (any, error) {
	typed, ok := any(o).(*O)
	if !ok {
		return nil, fmt.Errorf("%T is not a %s", o, t.Kind)
	}
	row := t.Row(typed)
	return &row, nil
}

// Select implements Kind.
func (t *Type[O, R]) Select(rows []any, query url.Values) (any, error) {
	return t.Query.Page(Typed[R](rows), query)
}

// Typed returns rows as what they are.
func Typed[R any](rows []any) []*R {
	typed := make([]*R, len(rows))
	for i, row := range rows {
		typed[i] = row.(*R)
	}
	return typed
}

// Parameters implements Kind.
func (t *Type[O, R]) Parameters() []string { return t.Query.Parameters() }

// Detail implements Kind.
func (t *Type[O, R]) Detail(o client.Object) any {
	typed := any(o).(*O)
	return userapi.Detail[R, *O]{Row: t.Row(typed), Object: typed}
}

// Table implements Kind.
func (t *Type[O, R]) Table() ([]string, func(client.Object, Age) []any) {
	return t.Columns, func(o client.Object, age Age) []any { return t.Cells(any(o).(*O), age) }
}

// ConditionsOf implements Kind.
func (t *Type[O, R]) ConditionsOf() func(client.Object) []metav1.Condition {
	if t.Conditions == nil {
		return nil
	}
	return func(o client.Object) []metav1.Condition { return t.Conditions(any(o).(*O)) }
}
