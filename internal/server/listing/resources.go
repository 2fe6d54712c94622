package listing

import (
	"cairn.dev/cairn/internal/base/natural"
	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/userapi"
)

// Resources are listed by their Stacks. Their rows are no objects of Kubernetes: the server reads them from the indexes
// of the States.
var Resources = kinds.List[userapi.Resource]{
	Name: func(r *userapi.Resource) (string, string) { return r.Namespace, r.Stack },
	Part: func(r *userapi.Resource) string {
		if r.Deposed == "" {
			return r.Address
		}
		return r.Address + " " + r.Deposed
	},
	Compare: natural.Compare,
	Default: "stack",
	Sorts: map[string]func(*userapi.Resource) kinds.Rank{
		"stack":     func(r *userapi.Resource) kinds.Rank { return kinds.Rank{Text: r.Stack} },
		"namespace": func(r *userapi.Resource) kinds.Rank { return kinds.Rank{Text: r.Namespace} },
		"address":   func(r *userapi.Resource) kinds.Rank { return kinds.Rank{Text: r.Address} },
		"type":      func(r *userapi.Resource) kinds.Rank { return kinds.Rank{Text: r.Type} },
		"provider":  func(r *userapi.Resource) kinds.Rank { return kinds.Rank{Text: r.Provider} },
	},
	Filters: map[string]func(*userapi.Resource) string{
		"namespace": func(r *userapi.Resource) string { return r.Namespace },
		"stack":     func(r *userapi.Resource) string { return r.Stack },
		"type":      func(r *userapi.Resource) string { return r.Type },
		"provider":  func(r *userapi.Resource) string { return r.Provider },
	},
	Words: func(r *userapi.Resource) []string { return []string{r.Address, r.Stack, r.Namespace} },
}
