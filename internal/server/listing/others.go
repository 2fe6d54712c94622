package listing

import (
	"strconv"
	"time"
	"unique"

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
}

// States are listed by name, which is that of their Stack.
var States = Kind[v1alpha1.State, userapi.State]{
	Row: func(s *v1alpha1.State) userapi.State {
		row := userapi.State{
			Object: object(&s.ObjectMeta), Version: s.Status.Version, Serial: s.Status.Serial, Size: s.Status.Size, Resources: s.Status.Resources,
			SHA256: s.Status.SHA256, UpdatedBy: intern(s.Status.UpdatedBy), Rescued: s.Status.Rescued != nil,
		}
		if l := s.Status.Lock; l != nil {
			row.Lock = &userapi.Lock{ID: l.ID, Run: l.Run, By: l.By, Who: l.Who, Since: l.Since.Time}
		}
		return row
	},
	Name:    func(s *userapi.State) (string, string) { return s.Namespace, s.Name },
	Default: "name",
	Sorts: map[string]func(*userapi.State) Rank{
		"name":      func(s *userapi.State) Rank { return Rank{Text: s.Name} },
		"size":      func(s *userapi.State) Rank { return Rank{Number: s.Size} },
		"resources": func(s *userapi.State) Rank { return Rank{Number: int64(s.Resources)} },
		"locked": func(s *userapi.State) Rank {
			if s.Lock == nil {
				return Rank{}
			}
			return at(&s.Lock.Since)
		},
	},
	Filters: map[string]func(*userapi.State) string{
		"namespace": func(s *userapi.State) string { return s.Namespace },
		"locked":    func(s *userapi.State) string { return strconv.FormatBool(s.Lock != nil) },
		"rescued":   func(s *userapi.State) string { return strconv.FormatBool(s.Rescued) },
	},
	Words: func(s *userapi.State) []string { return []string{s.Namespace + "/" + s.Name} },
}

func object(m *metav1.ObjectMeta) userapi.Object {
	return userapi.Object{Namespace: intern(m.Namespace), Name: m.Name, UID: string(m.UID), Created: m.CreationTimestamp.Time}
}

// intern uses one string for all rows that have it.
func intern(text string) string { return unique.Make(text).Value() }

// at ranks by a time, of which there may be none.
func at(t *time.Time) Rank {
	if t == nil || t.IsZero() {
		return Rank{}
	}
	return Rank{Number: t.UnixNano()}
}

// when copies a time: a pointer to that of an object would keep the object.
func when(t *metav1.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	at := t.Time
	return &at
}
