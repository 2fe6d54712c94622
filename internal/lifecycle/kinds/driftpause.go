package kinds

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

// DriftPauses are listed by namespace.
var DriftPauses = &Type[v1alpha1.DriftPause, userapi.DriftPause]{
	Name: Name{Kind: "DriftPause", Plural: "DriftPauses"},
	List: func() client.ObjectList { return &v1alpha1.DriftPauseList{} },
	Row:  driftPause,
	Query: List[userapi.DriftPause]{
		Name:    func(p *userapi.DriftPause) (string, string) { return p.Namespace, p.Name },
		Default: "name",
		Sorts: map[string]func(*userapi.DriftPause) Rank{
			"name":    func(p *userapi.DriftPause) Rank { return Rank{Text: p.Name} },
			"created": func(p *userapi.DriftPause) Rank { return at(&p.Created) },
			"since":   func(p *userapi.DriftPause) Rank { return at(p.Since) },
		},
		Filters: map[string]func(*userapi.DriftPause) string{
			"namespace": func(p *userapi.DriftPause) string { return p.Namespace },
			"ready":     func(p *userapi.DriftPause) string { return p.Ready },
			"reason":    func(p *userapi.DriftPause) string { return p.Reason },
		},
		Words: func(p *userapi.DriftPause) []string { return []string{p.Namespace + "/" + p.Name, p.Message} },
	},
	Columns: []string{"Name", "Ready", "Reason", "Drifted", "Since", MessageColumn},
	Cells: func(p *v1alpha1.DriftPause, age Age) []any {
		row := driftPause(p)
		var since time.Time
		if row.Since != nil {
			since = *row.Since
		}
		return []any{
			p.Name, row.Ready, cmp.Or(row.Reason, newReason), fmt.Sprintf("%d of %d", row.Drifted, row.Checked),
			age(since), row.Message,
		}
	},
	Conditions: func(p *v1alpha1.DriftPause) []metav1.Condition { return p.Status.Conditions },
}

// The server lists and shows them, and the operator counts them.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=driftpauses,verbs=get;list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=driftpauses,verbs=list;watch

func driftPause(p *v1alpha1.DriftPause) userapi.DriftPause {
	is := ready(p.Status.Conditions)
	return userapi.DriftPause{
		Object: ObjectOf(p), Ready: intern(string(is.Status)), Reason: intern(is.Reason), Message: intern(is.Message),
		Since: when(p.Status.Since), Drifted: int(p.Status.Drifted), Checked: int(p.Status.Checked),
	}
}
