package engine

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/hashicorp/go-version"
)

// longestEvent is how long a line of events may be; longer ones are left out.
const longestEvent = 4 << 20

// mostErrors is how many errors are kept. The first one is what people need.
const mostErrors = 20

// Events is what an engine told while it ran.
type Events struct {
	// Version of the engine; empty when it did not tell.
	Version string
	// Errors, in order; when there are very many only the first ones.
	Errors []Diagnostic
	// Undeclared has the values for which the code has no variable.
	Undeclared []Undeclared
	// Changes that a plan would make.
	Changes Changes
	// Imported has the addresses of the resources that a plan would import, whatever else it would do to them.
	Imported map[string]bool
	// Done is what an apply did, when it got to its end.
	Done *Summary
	// Changed has the addresses of the resources that an apply changed, whether it got to its end or not. One that is
	// replaced, which the engine tells of twice, is one.
	Changed map[string]bool
}

// Summary is how an engine counts what it did: a replacement both adds and removes.
type Summary struct {
	Add    int32 `json:"add"`
	Change int32 `json:"change"`
	Import int32 `json:"import"`
	Remove int32 `json:"remove"`
	Forget int32 `json:"forget"`
	// Operation is plan, apply or destroy.
	Operation string `json:"operation"`
}

// event is a line of events, as far as we read it.
type event struct {
	Type       string      `json:"type"`
	Message    string      `json:"@message"`
	OpenTofu   string      `json:"tofu"`
	Terraform  string      `json:"terraform"`
	Diagnostic *Diagnostic `json:"diagnostic"`
	Change     *change     `json:"change"`
	Changes    *Summary    `json:"changes"`
	Hook       *hook       `json:"hook"`
}

// hook is what an apply tells of one resource.
type hook struct {
	Resource struct {
		Address string `json:"addr"`
		Type    string `json:"resource_type"`
	} `json:"resource"`
	Action string `json:"action"`
	IDKey  string `json:"id_key"`
	ID     string `json:"id_value"`
}

// changes says whether it tells of a change: what is only read, or opened as long as the engine runs, is none.
func (h hook) changes() bool {
	return h.Resource.Address != "" && !slices.Contains([]string{"", "read", "noop"}, h.Action)
}

// ReadEvents reads the file of events that an engine wrote. Lines that are none are left out, as is a last one that is
// cut off: an engine may have been killed while it wrote.
func ReadEvents(r io.Reader) (Events, error) { return FollowEvents(r, nil) }

// FollowEvents is ReadEvents while the engine still writes them. It tells heard of each thing that an apply has done.
func FollowEvents(r io.Reader, heard func(Done)) (Events, error) {
	var all Events
	tell := teller{heard: heard}
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(lines)
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil {
				all.add(e)
				tell.of(e)
			}
		}
		if errors.Is(err, io.EOF) {
			all.Changes.sort()
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

func (all *Events) add(e event) {
	switch {
	case e.Type == "version":
		told := e.OpenTofu + e.Terraform // each tells its own
		if _, err := version.NewVersion(told); err == nil {
			all.Version = told
		}
	case e.Type == "diagnostic" && e.Diagnostic != nil:
		if e.Diagnostic.Severity == "error" && len(all.Errors) < mostErrors {
			all.Errors = append(all.Errors, *e.Diagnostic)
		}
		if u, ok := undeclaredValue(*e.Diagnostic); ok {
			all.Undeclared = append(all.Undeclared, u)
		}
	case e.Type == "planned_change" && e.Change != nil:
		all.Changes.add(*e.Change)
		if e.Change.Importing != nil {
			if all.Imported == nil {
				all.Imported = map[string]bool{}
			}
			all.Imported[e.Change.Resource.Address] = true
		}
	case e.Type == "change_summary" && e.Changes != nil && e.Changes.Operation != "plan":
		all.Done = e.Changes
	case e.Type == "apply_complete" && e.Hook != nil && e.Hook.changes():
		if all.Changed == nil {
			all.Changed = map[string]bool{}
		}
		all.Changed[e.Hook.Resource.Address] = true
	}
}

// readLine gives the next line, or nothing for one that is too long.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for long := false; ; {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > longestEvent; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
