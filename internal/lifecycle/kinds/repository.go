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

// Repositories are listed by name.
var Repositories = &Type[v1alpha1.Repository, userapi.Repository]{
	Name: Name{Kind: "Repository", Plural: "Repositories", Short: []string{"repos", "repo"}},
	List: func() client.ObjectList { return &v1alpha1.RepositoryList{} },
	Row: func(r *v1alpha1.Repository) userapi.Repository {
		is := ready(r.Status.Conditions)
		row := userapi.Repository{
			Object: ObjectOf(r), URL: r.Spec.URL, Ref: r.Spec.Ref, Ready: string(is.Status), Reason: is.Reason,
			Message: is.Message,
			Changed: when(&is.LastTransitionTime),
		}
		if f := r.Status.LastFetch; f != nil {
			row.Fetched = when(&f.FinishedAt)
		}
		for _, ref := range r.Status.Refs {
			row.Refs = append(row.Refs, userapi.Ref{Name: ref.Name, Revision: ref.Revision})
		}
		return row
	},
	Query: List[userapi.Repository]{
		Name:    func(r *userapi.Repository) (string, string) { return r.Namespace, r.Name },
		Default: "name",
		Sorts: map[string]func(*userapi.Repository) Rank{
			"name":    func(r *userapi.Repository) Rank { return Rank{Text: r.Name} },
			"created": func(r *userapi.Repository) Rank { return at(&r.Created) },
		},
		Filters: map[string]func(*userapi.Repository) string{
			"namespace": func(r *userapi.Repository) string { return r.Namespace },
			"ready":     func(r *userapi.Repository) string { return r.Ready },
			"reason":    func(r *userapi.Repository) string { return r.Reason },
		},
		Words: func(r *userapi.Repository) []string { return []string{r.Namespace + "/" + r.Name, r.URL} },
	},
	Columns: []string{"Name", "Ready", "Reason", "URL", "Fetched", "Age", "+Ref", "+Interval", "+Refs",
		MessageColumn},
	Cells:      repositoryCells,
	Conditions: func(o *v1alpha1.Repository) []metav1.Condition { return o.Status.Conditions },
}

// The server lists and shows them, and the operator counts them.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=repositories,verbs=get;list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=repositories,verbs=list;watch

func repositoryCells(r *v1alpha1.Repository, age Age) []any {
	is := ready(r.Status.Conditions)
	var fetched time.Time
	if f := r.Status.LastFetch; f != nil {
		fetched = f.FinishedAt.Time
	}
	interval := "-"
	if r.Spec.Interval != nil {
		interval = r.Spec.Interval.Duration.String()
	}
	return []any{
		r.Name, string(is.Status), cmp.Or(is.Reason, newReason), r.Spec.URL, age(fetched),
		age(r.CreationTimestamp.Time),
		cmp.Or(r.Spec.Ref, "-"), interval, fmt.Sprint(len(r.Status.Refs)), is.Message,
	}
}
