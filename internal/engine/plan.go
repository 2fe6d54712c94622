package engine

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/base/natural"
)

// Action is what a plan would do to a resource.
type Action string

// What a plan would do to a resource.
const (
	Create  Action = "create"
	Update  Action = "update"
	Delete  Action = "delete"
	Replace Action = "replace"
	Import  Action = "import"
	Forget  Action = "forget"
	Move    Action = "move"
	// Invoke is of an action of a provider (Terraform 1.14), which no state records.
	Invoke Action = "invoke"
	// Refresh is of a plan with -refresh-only: the state gets what changed outside of the engine, and the resource
	// stays as it is.
	Refresh Action = "refresh"
)

// gravest lists actions as a reader wants them: those that destroy first.
var gravest = []Action{Delete, Replace, Forget, Invoke, Update, Create, Import, Refresh, Move}

// ResourceChange is what a plan would do to one resource.
type ResourceChange struct {
	Address string
	Action  Action
	// Imported is true of a resource that is imported, whatever else is done to it.
	Imported bool
}

// Changes are what a plan would do, gravest first. Each is one of the actions: a resource that is imported and changed
// at once is changed, and one that is replaced is neither created nor deleted. A resource that is replaced while
// its old object lives on (lifecycle destroy = false) is two changes, a forget and a create.
type Changes []ResourceChange

// change is a planned change as an engine reports it.
type change struct {
	Resource struct {
		Address  string `json:"addr"`
		Resource string `json:"resource"`
	} `json:"resource"`
	Action    string `json:"action"`
	Previous  any    `json:"previous_resource"`
	Importing any    `json:"importing"`
}

func (all *Changes) add(c change) {
	put := func(actions ...Action) {
		for _, action := range actions {
			*all = append(*all, ResourceChange{
				Address: c.Resource.Address, Action: action, Imported: c.Importing != nil,
			})
		}
	}
	switch c.Action {
	case "create", "update", "delete", "replace", "import", "move":
		put(Action(c.Action))
	case "remove":
		put(Forget)
	case "noop":
		// OpenTofu 1.12 has no word of its own for "forget, then create", nor for the opening of an ephemeral
		// resource, which is no change.
		if c.Previous == nil && c.Importing == nil && !strings.HasPrefix(c.Resource.Resource, "ephemeral.") {
			put(Forget, Create)
		}
	}
}

// Forget adds the resources that no longer exist and that the plan does not create again: the apply takes them out of
// the state. Engines report them as drift alone.
func (all *Changes) Forget(gone []string) {
	if len(gone) == 0 {
		return
	}
	changed := map[string]bool{}
	for _, c := range *all {
		changed[c.Address] = true
	}
	for _, address := range gone {
		if !changed[address] {
			*all = append(*all, ResourceChange{Address: address, Action: Forget})
		}
	}
}

// Without returns the first of the addresses of which there is no change; empty if there is one of each.
func (all Changes) Without(addresses []string) string {
	for _, address := range addresses {
		if !slices.ContainsFunc(all, func(c ResourceChange) bool { return c.Address == address }) {
			return address
		}
	}
	return ""
}

// Sort orders the changes for users: gravest first, and then by address.
func (all Changes) Sort() {
	slices.SortStableFunc(all, func(a, b ResourceChange) int {
		return cmp.Or(slices.Index(gravest, a.Action)-slices.Index(gravest, b.Action),
			natural.Compare(a.Address, b.Address))
	})
}

// count returns how many changes there are of an action.
func (all Changes) count(action Action) int32 {
	var n int32
	for _, c := range all {
		if c.Action == action {
			n++
		}
	}
	return n
}

// String summarizes the changes, as Counts does.
func (all Changes) String() string { return all.Counts().String() }

// Counts are how many resources a plan would change.
type Counts struct {
	// Add and Destroy include the replacements, as engines count them.
	Add, Change, Destroy int32
	// Replace is how many of Add and of Destroy are one replacement.
	Replace int32
	// Import includes the resources that are imported and changed at once, as engines count them.
	Import, Forget, Move int32
	// Invoke is how many actions of providers the apply invokes. An action is no resource.
	Invoke int32
	// Refresh is how many resources changed outside of the engine, of which the apply only writes the state.
	Refresh int32
}

// Counts counts the changes.
func (all Changes) Counts() Counts {
	replace, imports := all.count(Replace), int32(0)
	for _, c := range all {
		if c.Imported {
			imports++
		}
	}
	return Counts{
		Add: all.count(Create) + replace, Change: all.count(Update), Destroy: all.count(Delete) + replace,
		Replace: replace,
		Import:  imports, Forget: all.count(Forget), Move: all.count(Move),
		Invoke: all.count(Invoke), Refresh: all.count(Refresh),
	}
}

// Changed is how many resources are created, changed, replaced or destroyed, each once.
func (c Counts) Changed() int32 { return c.Add + c.Change + c.Destroy - c.Replace }

// String summarizes the counts. Example: "3 to add, 1 to change, 1 to destroy (1 to replace)".
func (c Counts) String() string {
	destroy := "to destroy"
	if c.Replace > 0 {
		destroy += fmt.Sprintf(" (%d to replace)", c.Replace)
	}
	return listCounts([]count{
		{c.Add, "to add"}, {c.Change, "to change"}, {c.Destroy, destroy}, {c.Import, "to import"},
		{c.Forget, "to forget"},
		{c.Move, "to move"}, {c.Invoke, "to invoke"}, {c.Refresh, "to refresh in the state"},
	})
}

// count is a number and what was counted.
type count struct {
	n    int32
	what string
}

// listCounts lists those that are not zero.
func listCounts(all []count) string {
	var words []string
	for _, c := range all {
		if c.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(words, ", ")
}

// String summarizes what was done. Example: "3 added, 1 changed".
func (s Summary) String() string {
	return cmp.Or(listCounts([]count{
		{s.Add, "added"}, {s.Change, "changed"}, {s.Remove, "destroyed"}, {s.Import, "imported"},
		{s.Forget, "forgotten"},
		{s.Refresh, "refreshed in the state"},
	}), "no resource changed")
}

// largestLockFile is more than any lock file needs.
const largestLockFile = 8 << 20

// PlannedLockFile returns the lock file that a saved plan was created with, so that it is applied with the same
// providers. It is nil when there is none, and for a plan that the engine encrypted: then the engine itself compares.
func PlannedLockFile(plan io.ReaderAt, size int64) ([]byte, error) {
	archive, err := zip.NewReader(plan, size)
	if errors.Is(err, zip.ErrFormat) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the plan: %w", err)
	}
	content, err := archive.Open(LockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the plan's lock file: %w", err)
	}
	defer content.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(content, largestLockFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the plan's lock file: %w", err)
	}
	if len(data) > largestLockFile {
		return nil, errors.New("the plan's lock file is too large")
	}
	return data, nil
}
