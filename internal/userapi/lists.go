package userapi

import "time"

// A Page is a part of a list, which the server has filtered and sorted.
type Page[R any] struct {
	Items []R `json:"items"`
	// Total is how many rows match, on all pages.
	Total int `json:"total"`
	// Next is what to ask the next page with, as after; empty on the last one.
	Next string `json:"next,omitempty"`
}

// An Object is what all rows have.
type Object struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       string    `json:"uid"`
	Created   time.Time `json:"created"`
}

// A Stack is a row of the list of Stacks.
type Stack struct {
	Object
	// Ready is True, False or Unknown; Reason and Message explain it, since Changed.
	Ready   string     `json:"ready"`
	Reason  string     `json:"reason,omitempty"`
	Message string     `json:"message,omitempty"`
	Changed *time.Time `json:"changed,omitempty"`
	// Stalled is true when nothing continues until a user acts, Deleted when the Stack is being deleted.
	Stalled   bool `json:"stalled"`
	Drifted   bool `json:"drifted"`
	Suspended bool `json:"suspended"`
	Deleted   bool `json:"deleted"`
	// Apply is the policy: Automatic, Manual, Never.
	Apply  string `json:"apply"`
	Engine string `json:"engine"`
	// Repository is namespace/name, and Path the folder in it, of a Stack from git.
	Repository string `json:"repository,omitempty"`
	Path       string `json:"path,omitempty"`
	Revision   string `json:"revision,omitempty"`
	Resources  int32  `json:"resources"`
	// Run is the one under way, LastRun the newest.
	Run     string `json:"run,omitempty"`
	LastRun string `json:"lastRun,omitempty"`
	// Uses names the Stacks of this namespace that go before this one.
	Uses []string `json:"uses,omitempty"`
}

// A Run is a row of the list of Runs.
type Run struct {
	Object
	Stack     string `json:"stack"`
	Operation string `json:"operation"`
	Phase     string `json:"phase"`
	// Reason and Message are those of the condition Succeeded.
	Reason   string  `json:"reason,omitempty"`
	Message  string  `json:"message,omitempty"`
	Cause    Cause   `json:"cause"`
	Revision string  `json:"revision,omitempty"`
	Attempts int     `json:"attempts"`
	Plan     *Counts `json:"plan,omitempty"`
	// ApprovedBy is who approved the plan, if it was approved.
	ApprovedBy string     `json:"approvedBy,omitempty"`
	Finished   *time.Time `json:"finished,omitempty"`
}

// A Cause is why there is a Run.
type Cause struct {
	Type    string `json:"type"`
	Message string `json:"message,omitempty"`
	By      string `json:"by,omitempty"`
}

// Counts are how many resources a plan does what to.
type Counts struct {
	Changes bool `json:"changes"`
	// Add and Destroy include the replacements, as engines count them.
	Add     int32 `json:"add"`
	Change  int32 `json:"change"`
	Destroy int32 `json:"destroy"`
	// Replace is how many of Add and of Destroy are one replacement.
	Replace int32 `json:"replace"`
	Import  int32 `json:"import"`
	Forget  int32 `json:"forget"`
}

// A Repository is a row of the list of Repositories.
type Repository struct {
	Object
	URL     string     `json:"url"`
	Ref     string     `json:"ref,omitempty"`
	Ready   string     `json:"ready"`
	Reason  string     `json:"reason,omitempty"`
	Message string     `json:"message,omitempty"`
	Changed *time.Time `json:"changed,omitempty"`
	Fetched *time.Time `json:"fetched,omitempty"`
	Refs    []Ref      `json:"refs,omitempty"`
}

// A Ref is a branch, tag or commit that Stacks follow, and what it names now.
type Ref struct {
	Name     string `json:"name"`
	Revision string `json:"revision,omitempty"`
}

// A State is a row of the list of States.
type State struct {
	Object
	Version   int64  `json:"version"`
	Serial    int64  `json:"serial"`
	Size      int64  `json:"size"`
	Resources int32  `json:"resources"`
	UpdatedBy string `json:"updatedBy,omitempty"`
	// Lock is who holds it; nil when it is free.
	Lock *Lock `json:"lock,omitempty"`
	// Rescued is true when a state is stored that could not be saved when it was produced.
	Rescued bool `json:"rescued"`
}

// A Lock is that of a State.
type Lock struct {
	ID  string `json:"id"`
	Run string `json:"run,omitempty"`
	// By is the user whose engine holds it, outside of the cluster; empty for a lock of a Run.
	By    string    `json:"by,omitempty"`
	Who   string    `json:"who,omitempty"`
	Since time.Time `json:"since"`
}

// Change is an object that was created, changed or, if so, deleted.
type Change struct {
	// Kind is Stack, Run, Repository or State.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Deleted   bool   `json:"deleted"`
}

// A Detail is an object whole, beside its row.
type Detail[R, O any] struct {
	Row R `json:"row"`
	// Object is as Kubernetes has it, without what only its own bookkeeping needs.
	Object O `json:"object"`
}

// Activity is how many Runs ended, in steps of time.
type Activity struct {
	Step  string         `json:"step"`
	Steps []ActivityStep `json:"steps"`
}

// ActivityStep begins at From and is one step of the Activity long.
type ActivityStep struct {
	From      time.Time `json:"from"`
	Succeeded int       `json:"succeeded"`
	Failed    int       `json:"failed"`
	// Others were canceled, rejected or superseded.
	Others int `json:"others"`
}

// Me is who the server takes the caller for.
type Me struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
	// Real is the user that impersonates; empty without impersonation.
	Real string `json:"real,omitempty"`
}

// A Problem is an answer that is an error, as in RFC 9457.
type Problem struct {
	// Type is always about:blank: Title is what the status means.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail is a sentence for the user.
	Detail string `json:"detail"`
	// Parameter is the one of the query that the error is about, if one is.
	Parameter string `json:"parameter,omitempty"`
}

// A LogPiece is the next of a log, in whole characters.
type LogPiece struct {
	Text string `json:"text"`
}
