package kinds

import (
	"cmp"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

// States are listed by name, which is that of their Stack.
var States = &Type[v1alpha1.State, userapi.State]{
	Name: Name{Kind: "State", Plural: "States"},
	List: func() client.ObjectList { return &v1alpha1.StateList{} },
	Row: func(s *v1alpha1.State) userapi.State {
		row := userapi.State{
			Object: ObjectOf(s), Version: s.Status.Version, Serial: s.Status.Serial, Size: s.Status.Size,
			Resources: int32(s.Status.Resources),
			SHA256:    s.Status.SHA256, UpdatedBy: intern(s.Status.UpdatedBy), Rescued: s.Status.Rescued != nil,
		}
		if l := s.Status.Lock; l != nil {
			row.Lock = &userapi.Lock{ID: l.ID, Run: l.Run, By: l.By, Who: l.Who, Since: l.Since.Time}
		}
		return row
	},
	Query: List[userapi.State]{
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
	},
	Columns: []string{"Name", "Version", "Serial", "Resources", "Size", "Locked by", "Updated by", "Updated", "Age",
		"+Versions", "+Lineage"},
	Cells: stateCells,
}

// The server lists and shows them, and the operator counts them.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=states,verbs=get;list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=states,verbs=list;watch

func stateCells(s *v1alpha1.State, age Age) []any {
	locked := "-"
	if l := s.Status.Lock; l != nil {
		locked = cmp.Or(l.Run, l.By, l.Who, "-")
	}
	var updated time.Time
	if n := len(s.Status.Versions); n > 0 {
		updated = s.Status.Versions[n-1].At.Time
	}
	return []any{
		s.Name, s.Status.Version, s.Status.Serial, s.Status.Resources, Size(s.Status.Size), locked,
		cmp.Or(s.Status.UpdatedBy, "-"), age(updated), age(s.CreationTimestamp.Time), int32(len(s.Status.Versions)),
		cmp.Or(s.Status.Lineage, "-"),
	}
}

// Size formats a size in bytes.
func Size(bytes int64) string {
	switch {
	case bytes < 10<<10:
		return strconv.FormatInt(bytes, 10) + "B"
	case bytes < 10<<20:
		return strconv.FormatInt(bytes>>10, 10) + "Ki"
	}
	return strconv.FormatInt(bytes>>20, 10) + "Mi"
}
