package runnerapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// Bounds of a journal.
const (
	// LargestBatch is how large a batch may be, and MostBatches how many an attempt may send.
	LargestBatch = 64 << 10
	MostBatches  = 1 << 16
	// LargestJournal is how much of all that was sent can be read.
	LargestJournal = 64 << 20
)

// JournalEntry is one operation of an apply on a resource.
type JournalEntry struct {
	// Address of the resource. Example: module.net.aws_subnet.this["a"].
	Address string `json:"address"`
	// Type of the resource. Example: aws_subnet.
	Type string `json:"type"`
	// Action as the engine names it: create, update, delete. A replacement is two of them. The server has two more:
	// held, of what a version of the state had, and instead, of what it had at the address of something that it did not
	// have.
	Action string `json:"action"`
	// IDKey is the attribute that identifies it, and ID its value: of a delete the one that is gone. They may be empty.
	IDKey string `json:"idKey,omitempty"`
	ID    string `json:"id,omitempty"`
}

// JournalEntries are what was done, oldest first.
type JournalEntries struct {
	Entries []JournalEntry `json:"entries"`
	// UpTo names the end of what was read: a plan which finds that the state has it all reports that with it
	// (Done.Settled).
	UpTo string `json:"upTo,omitempty"`
}

// UntrackedResource is a resource that exists and is in no state.
type UntrackedResource struct {
	Address string `json:"address"`
	// Reason why it could not be taken into the state, for users, without secrets.
	Reason string `json:"reason"`
}

// AppendJournal records what the attempt has done, in its batch of that number.
func (c *Client) AppendJournal(ctx context.Context, batch int, done JournalEntries) error {
	query := url.Values{"batch": {strconv.Itoa(batch)}}
	return c.sendJSON(ctx, call{method: http.MethodPost, path: "/v1/journal", query: query}, done)
}

// Journal returns what earlier applies have done of which it is not known that the state has it.
func (c *Client) Journal(ctx context.Context) (JournalEntries, error) {
	r := call{method: http.MethodGet, path: "/v1/journal", largest: LargestJournal, mayBeEmpty: true}
	return ask[JournalEntries](ctx, c.do, r)
}
