// Package kindstest has a kind for tests: what is true of it is true of each kind that is registered.
package kindstest

import (
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/userapi"
)

// Row is a row of the list of ConfigMaps.
type Row struct {
	userapi.Object
	Keys      int  `json:"keys"`
	Immutable bool `json:"immutable"`
}

// ConfigMaps are a kind, since each API server has them.
var ConfigMaps = &kinds.Type[corev1.ConfigMap, Row]{
	Name: kinds.Name{Kind: "ConfigMap", Plural: "ConfigMaps", Short: []string{"cm"}},
	List: func() client.ObjectList { return &corev1.ConfigMapList{} },
	Row: func(c *corev1.ConfigMap) Row {
		return Row{
			Object: kinds.ObjectOf(c), Keys: len(c.Data), Immutable: c.Immutable != nil && *c.Immutable,
		}
	},
	Query: kinds.List[Row]{
		Name:    func(r *Row) (string, string) { return r.Namespace, r.Name },
		Default: "name",
		Sorts: map[string]func(*Row) kinds.Rank{
			"name": func(r *Row) kinds.Rank { return kinds.Rank{Text: r.Name} },
			"keys": func(r *Row) kinds.Rank { return kinds.Rank{Number: int64(r.Keys)} },
		},
		Filters: map[string]func(*Row) string{
			"immutable": func(r *Row) string { return strconv.FormatBool(r.Immutable) },
		},
		Words: func(r *Row) []string { return []string{r.Name} },
	},
	Columns: []string{"Name", "Keys", "Age"},
	Cells: func(c *corev1.ConfigMap, age kinds.Age) []any {
		return []any{c.Name, int32(len(c.Data)), age(c.CreationTimestamp.Time)}
	},
	Conditions: func(*corev1.ConfigMap) []metav1.Condition { return nil },
}

// Register has ConfigMaps for the duration of a test.
func Register(t *testing.T) {
	before := kinds.All
	kinds.All = append(slices.Clone(before), ConfigMaps)
	t.Cleanup(func() { kinds.All = before })
}
