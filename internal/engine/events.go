package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"path"
	"regexp"
	"slices"

	"github.com/hashicorp/go-version"

	"cairn.dev/cairn/internal/runnerapi"
)

// longestEvent is how long a line of events may be; longer ones are left out.
const longestEvent = 4 << 20

// mostErrors is how many errors are kept. Users need the first one most.
const mostErrors = 20

// Events is what an engine reported while it ran.
type Events struct {
	// Version of the engine; empty when it was not reported.
	Version string
	// Errors, in order; when there are very many only the first ones.
	Errors []Diagnostic
	// Undeclared has the values for which the code has no variable.
	Undeclared []Undeclared
	// Changes in a plan, and whether they are all that it has: their summary follows them.
	Changes Changes
	Planned bool
	// Reads: the apply of a plan would read data sources, as those of check blocks. OutputsChange: it would change
	// outputs.
	Reads, OutputsChange bool
	// Gone has the addresses of resources of the state that the plan did not find any longer.
	Gone []string
	// Drift has what else changed outside of the engine. Only the apply of a plan with -refresh-only writes it to the
	// state.
	Drift Changes
	// DriftAccepted: the apply writes the drift to the state, and changes no resource.
	DriftAccepted bool
	// Imported has the addresses of the resources that a plan would import, whatever else it would do to them.
	Imported map[string]bool
	// Done is what an apply did, when it got to its end.
	Done *Summary
	// Changed has the addresses of the resources that an apply changed, whether it completed or not. A resource that is
	// replaced, which the engine reports twice, is there once.
	Changed map[string]bool
}

// Ended reports whether an apply came to its end: it reports what it did, or its errors, only after it has written the
// state. Terragrunt, which may ignore that its engine was killed, has the exit code of an apply that ended.
func (all *Events) Ended() bool { return all.Done != nil || len(all.Errors) > 0 }

// HasChanges reports whether the apply of a plan would change something, given the exit code of the plan. That code
// also stands for a plan that only reads data sources, as every plan of code with a data source in a check block does,
// and for a plan with -refresh-only that shows nothing, as where a provider stores something of its own in the state.
func (all *Events) HasChanges(exitCode int32) bool {
	if all.DriftAccepted {
		return len(all.Changes) > 0 || all.OutputsChange
	}
	onlyReads := all.Reads && !all.OutputsChange
	return len(all.Changes) > 0 || exitCode == PlanChanges && !onlyReads
}

// AcceptDrift adds the drift to the changes, of a plan with -refresh-only: its apply writes that to the state.
func (all *Events) AcceptDrift() {
	all.DriftAccepted, all.Changes = true, append(all.Changes, all.Drift...)
	all.Changes.Sort()
}

// Summary is how an engine counts what it did: a replacement both adds and removes.
type Summary struct {
	Add    int32 `json:"add"`
	Change int32 `json:"change"`
	Import int32 `json:"import"`
	Remove int32 `json:"remove"`
	Forget int32 `json:"forget"`
	// Refresh is how many resources only the state was written of. Engines do not count that.
	Refresh int32 `json:"-"`
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
	Outputs    map[string]struct {
		Action string `json:"action"`
	} `json:"outputs"`
	Hook       *hook `json:"hook"`
	Invocation *struct {
		Action actionAddress `json:"action"`
	} `json:"invocation"`
}

// actionAddress names an action of a provider (Terraform 1.14).
type actionAddress struct {
	Address string `json:"addr"`
	Type    string `json:"action_type"`
}

// hook is the report of an apply about one resource.
type hook struct {
	Resource struct {
		Address string `json:"addr"`
		Type    string `json:"resource_type"`
	} `json:"resource"`
	Action string `json:"action"`
	IDKey  string `json:"id_key"`
	ID     string `json:"id_value"`
}

// UnmarshalJSON reads the report of an apply about a resource, or about an action of a provider, which is an object
// there.
func (h *hook) UnmarshalJSON(data []byte) error {
	type resource hook
	var about struct {
		resource
		Action json.RawMessage `json:"action"`
	}
	if err := json.Unmarshal(data, &about); err != nil {
		return err
	}
	*h = hook(about.resource)
	if !bytes.HasPrefix(about.Action, []byte("{")) {
		return json.Unmarshal([]byte(cmp.Or(string(about.Action), `""`)), &h.Action)
	}
	var action actionAddress
	if err := json.Unmarshal(about.Action, &action); err != nil {
		return err
	}
	h.Resource.Address, h.Resource.Type, h.Action = action.Address, action.Type, string(Invoke)
	return nil
}

// changes reports whether it is about a change: a resource that is only read, or opened as long as the engine runs, is
// not changed.
func (h hook) changes() bool {
	return h.Resource.Address != "" && !slices.Contains([]string{"", "read", "noop"}, h.Action)
}

// ReadEvents reads the file of events that an engine wrote. Lines that are none are left out, as is a last one that is
// cut off: an engine may have been killed while it wrote.
func ReadEvents(r io.Reader) (Events, error) { return FollowEvents(r, nil) }

// FollowEvents is ReadEvents while the engine still writes them. It calls observe for the operations of an apply.
func FollowEvents(r io.Reader, observe Observer) (Events, error) {
	l := NewListener(io.Discard)
	l.Notify(observe)
	_, err := io.Copy(l, r)
	events, bad := l.Close()
	return events, cmp.Or(err, bad)
}

func (all *Events) add(e event) {
	switch {
	case e.Type == "version":
		reported := e.OpenTofu + e.Terraform // each has its own field
		if _, err := version.NewVersion(reported); err == nil {
			all.Version = reported
		}
	case e.Type == "diagnostic" && e.Diagnostic != nil:
		if e.Diagnostic.Severity == "error" && len(all.Errors) < mostErrors {
			all.Errors = append(all.Errors, *e.Diagnostic)
		}
		if u, ok := undeclaredValue(*e.Diagnostic); ok {
			all.Undeclared = append(all.Undeclared, u)
		}
	case e.Type == "resource_drift" && e.Change != nil && e.Change.Action == string(Delete):
		all.Gone = append(all.Gone, e.Change.Resource.Address)
	case e.Type == "resource_drift" && e.Change != nil && e.Change.Action == string(Move):
		all.Drift = append(all.Drift, ResourceChange{Address: e.Change.Resource.Address, Action: Move})
	case e.Type == "resource_drift" && e.Change != nil:
		all.Drift = append(all.Drift, ResourceChange{Address: e.Change.Resource.Address, Action: Refresh})
	case e.Type == "outputs":
		for _, output := range e.Outputs {
			all.OutputsChange = all.OutputsChange || output.Action != "" && output.Action != "noop"
		}
	case e.Type == "planned_change" && e.Change != nil:
		all.Changes.add(*e.Change)
		all.Reads = all.Reads || e.Change.Action == "read"
		if e.Change.Importing != nil {
			if all.Imported == nil {
				all.Imported = map[string]bool{}
			}
			all.Imported[e.Change.Resource.Address] = true
		}
	case e.Type == "planned_action_invocation" && e.Invocation != nil:
		all.Changes = append(all.Changes, ResourceChange{Address: e.Invocation.Action.Address, Action: Invoke})
	case e.Type == "change_summary" && e.Changes != nil && e.Changes.Operation == "plan":
		all.Planned = true
	case e.Type == "change_summary" && e.Changes != nil:
		all.Done = e.Changes
	case e.Type == "apply_complete" && e.Hook != nil && e.Hook.changes():
		if all.Changed == nil {
			all.Changed = map[string]bool{}
		}
		all.Changed[e.Hook.Resource.Address] = true
	}
}

// Done is one change that an apply has done to a resource.
type Done = runnerapi.JournalEntry

func (h hook) done() Done {
	return Done{Address: h.Resource.Address, Type: h.Resource.Type, Action: h.Action, IDKey: h.IDKey, ID: h.ID}
}

// An Observer is called when the operation of an apply on a resource begins or ends, as soon as the engine reports it.
type Observer func(what Done, state runnerapi.OperationState)

// operationStates are the states that events report.
var operationStates = map[string]runnerapi.OperationState{
	"apply_start":    runnerapi.OperationStarted,
	"apply_complete": runnerapi.OperationSucceeded,
	"apply_errored":  runnerapi.OperationFailed,

	"action_start":    runnerapi.OperationStarted,
	"action_complete": runnerapi.OperationSucceeded,
	"action_errored":  runnerapi.OperationFailed,
}

// notifier calls an Observer.
type notifier struct {
	observe Observer
	// ends are the resources being destroyed, by address: only the first event of a destroy has the ID.
	ends map[string]Done
}

func (t *notifier) of(e event) {
	state := operationStates[e.Type]
	if t.observe == nil || state == "" || e.Hook == nil || !e.Hook.changes() {
		return
	}
	d := e.Hook.done()
	if d.Action == string(Delete) {
		switch {
		case state == runnerapi.OperationStarted:
			if t.ends == nil {
				t.ends = map[string]Done{}
			}
			t.ends[d.Address] = d
		case d.ID == "":
			d = cmp.Or(t.ends[d.Address], d)
		}
	}
	t.observe(d, state)
}

// valueUndeclared is the warning about a value of a variable file for which the code has no variable. Of many, engines
// warn of the first two by name.
const valueUndeclared = "Value for undeclared variable"

var undeclaredIn = regexp.MustCompile(`declare a variable named "([^"]+)" but a value was found in file "([^"]+)"`)

// Undeclared is a value for which the code has no variable, and the name of the variable file that has it.
type Undeclared struct{ Variable, File string }

// undeclaredValue reads that warning.
func undeclaredValue(d Diagnostic) (Undeclared, bool) {
	found := undeclaredIn.FindStringSubmatch(d.Detail)
	if d.Summary != valueUndeclared || found == nil {
		return Undeclared{}, false
	}
	return Undeclared{Variable: found[1], File: path.Base(found[2])}, true
}
