package listing

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

// Repositories are listed by name.
var Repositories = Kind[v1alpha1.Repository, userapi.Repository]{
	Row: func(r *v1alpha1.Repository) userapi.Repository {
		is := ready(r.Status.Conditions)
		row := userapi.Repository{
			Object: object(&r.ObjectMeta), URL: r.Spec.URL, Ref: r.Spec.Ref, Ready: string(is.Status), Reason: is.Reason, Message: is.Message,
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
	Name:    func(r *v1alpha1.Repository) (string, string) { return r.Namespace, r.Name },
	Default: "name",
	Sorts: map[string]func(*v1alpha1.Repository) Rank{
		"name":    func(r *v1alpha1.Repository) Rank { return Rank{Text: r.Name} },
		"created": func(r *v1alpha1.Repository) Rank { return at(&r.CreationTimestamp) },
	},
	Filters: map[string]func(*v1alpha1.Repository) string{
		"namespace": func(r *v1alpha1.Repository) string { return r.Namespace },
		"ready":     func(r *v1alpha1.Repository) string { return string(ready(r.Status.Conditions).Status) },
		"reason":    func(r *v1alpha1.Repository) string { return ready(r.Status.Conditions).Reason },
	},
	Words: func(r *v1alpha1.Repository) []string { return []string{r.Namespace + "/" + r.Name, r.Spec.URL} },
}

// States are listed by name, which is that of their Stack.
var States = Kind[v1alpha1.State, userapi.State]{
	Row: func(s *v1alpha1.State) userapi.State {
		row := userapi.State{
			Object: object(&s.ObjectMeta), Version: s.Status.Version, Serial: s.Status.Serial, Size: s.Status.Size, Resources: s.Status.Resources,
			UpdatedBy: s.Status.UpdatedBy, Rescued: s.Status.Rescued != nil,
		}
		if l := s.Status.Lock; l != nil {
			row.Lock = &userapi.Lock{ID: l.ID, Run: l.Run, By: l.By, Who: l.Who, Since: l.Since.Time}
		}
		return row
	},
	Name:    func(s *v1alpha1.State) (string, string) { return s.Namespace, s.Name },
	Default: "name",
	Sorts: map[string]func(*v1alpha1.State) Rank{
		"name":      func(s *v1alpha1.State) Rank { return Rank{Text: s.Name} },
		"size":      func(s *v1alpha1.State) Rank { return Rank{Number: s.Status.Size} },
		"resources": func(s *v1alpha1.State) Rank { return Rank{Number: int64(s.Status.Resources)} },
		"locked": func(s *v1alpha1.State) Rank {
			if s.Status.Lock == nil {
				return Rank{}
			}
			return at(&s.Status.Lock.Since)
		},
	},
	Filters: map[string]func(*v1alpha1.State) string{
		"namespace": func(s *v1alpha1.State) string { return s.Namespace },
		"locked":    func(s *v1alpha1.State) string { return strconv.FormatBool(s.Status.Lock != nil) },
		"rescued":   func(s *v1alpha1.State) string { return strconv.FormatBool(s.Status.Rescued != nil) },
	},
	Words: func(s *v1alpha1.State) []string { return []string{s.Namespace + "/" + s.Name} },
}

func object(m *metav1.ObjectMeta) userapi.Object {
	return userapi.Object{Namespace: m.Namespace, Name: m.Name, UID: string(m.UID), Created: m.CreationTimestamp.Time}
}

// at ranks by a time, of which there may be none.
func at(t *metav1.Time) Rank {
	if t.IsZero() {
		return Rank{}
	}
	return Rank{Number: t.UnixNano()}
}

func when(t *metav1.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t.Time
}
