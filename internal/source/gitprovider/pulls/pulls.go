// Package pulls reads pull requests from the APIs of Git providers, and writes comments and statuses to them.
//
// The client of Gitea (and Forgejo) is tested against a real server: `make test-gitea`. All others are tested against
// small fakes of their APIs, which are what we read in the documentation of these.
package pulls

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Client is the access to the pull requests of one repository. All methods return an *Error for a response of the Git
// provider that is no success.
type Client interface {
	// Open returns the open pull requests, the newest update first. last is the result of the call before; if nothing
	// changed since, Open sends one request and returns ErrUnchanged. It returns ErrTooMany beyond MaxOpen, so that
	// none is overlooked.
	Open(ctx context.Context, last Version) ([]PullRequest, Version, error)
	// Get returns a pull request, open or not.
	Get(ctx context.Context, number int) (PullRequest, error)
	// Comments returns the comments that were created at or after a time, the oldest first and at most MaxComments.
	Comments(ctx context.Context, number int, since time.Time) ([]Comment, error)
	// Upsert changes the comment with the known ID, which an earlier call returned. If that is 0, or the comment is
	// gone, it searches for the comment of which isOurs reports true for the body and whose author is this client, and
	// creates it if there is none. If there are several, it keeps the oldest and deletes the others.
	Upsert(ctx context.Context, number int, known int64, isOurs func(body string) bool, body string) (Written, error)
	// Reviews returns the reviews that approve a pull request now, open or not: of each user the newest result, if that
	// is an approval which was neither dismissed nor revoked.
	Reviews(ctx context.Context, number int) ([]Review, error)
	// Readiness returns what the rules of the Git provider lead to for an open pull request, without the statuses of
	// which isOwn reports true as far as it reports the others. It is of the head that it names, which may be a newer
	// one.
	Readiness(ctx context.Context, of Merge, isOwn func(context string) bool) (Readiness, error)
	// Merge merges a pull request if its head is the commit of the merge: a newer one is a Conflict, or NotAllowed. Use
	// MergeHead, which checks the rest.
	Merge(ctx context.Context, of Merge, method Method) error
	// SetStatus sets the status of a commit for a context.
	SetStatus(ctx context.Context, commit string, status Status) error
	// React adds a reaction to a comment of a pull request. It has no effect if it is there.
	React(ctx context.Context, number int, comment int64, reaction Reaction) error
	// Teams returns the teams of the owner of the repository that a user is a member of, as far as the client may see
	// them; none if the owner is a user.
	Teams(ctx context.Context, login string) ([]string, error)
	// Limits of the Git provider.
	Limits() Limits
}

// Bounds of what a client reads.
const (
	// MaxOpen is the maximum number of open pull requests of a repository.
	MaxOpen = 1000
	// MaxComments is the maximum number of comments that Comments returns.
	MaxComments = 1000
	// maxTeams is the maximum number of teams of an organization.
	maxTeams = 200
)

// Errors that are no response.
var (
	// ErrUnchanged: no open pull request changed since the last call of Open.
	ErrUnchanged = errors.New("the open pull requests are unchanged")
	// ErrTooMany: there are more open pull requests or teams than a client reads.
	ErrTooMany = fmt.Errorf("more than %d open pull requests, or %d teams of the owner", MaxOpen, maxTeams)
)

// Version identifies a list of open pull requests. It is empty for no list.
type Version string

// PullRequest is a pull or merge request.
type PullRequest struct {
	Number int
	Title  string
	// Author is the login of the user who opened it.
	Author string
	// URL of its page.
	URL   string
	State State
	// MergeCommit is the commit of the base that has the pull request: that of the merge, of the squash, or the last
	// one of a rebase. Empty if it is not merged, or in a list.
	MergeCommit string
	Draft       bool
	// Head is what is to be merged, and Base what it is to be merged into.
	Head, Base Ref
	// Fork reports that the head is in another repository, or that its repository was deleted.
	Fork    bool
	Updated time.Time
}

// Ref is a branch at a commit.
type Ref struct{ Branch, Commit string }

// State of a pull request.
type State string

// States of a pull request.
const (
	Open   State = "Open"
	Merged State = "Merged"
	Closed State = "Closed"
)

// Comment is a comment on a pull request.
type Comment struct {
	ID int64
	// Author is the login of the user who wrote it.
	Author string
	Body   string
	// Edited reports that it was changed after it was created.
	Edited  bool
	Created time.Time
}

// Written is a comment that a client wrote.
type Written struct {
	ID int64
	// At is when the Git provider wrote it last, by its clock; zero if it does not report that.
	At time.Time
}

// Status is a status of a commit.
type Status struct {
	// Context identifies the status at the commit. Example: cairn/prod/net.
	Context string
	State   StatusState
	// Description in one line. A longer one than the provider accepts is cut.
	Description string
	// URL of the details; empty for none.
	URL string
}

// StatusState is the state of a status.
type StatusState string

// States of a status.
const (
	Pending StatusState = "Pending"
	Success StatusState = "Success"
	Failure StatusState = "Failure"
)

// Reaction to a comment.
type Reaction string

// Reactions: a command was accepted, or rejected.
const (
	Accepted Reaction = "Accepted"
	Rejected Reaction = "Rejected"
)

// Limits are those of a Git provider.
type Limits struct {
	// Comment and Description are the maximum numbers of characters of a comment and of a status' description.
	Comment, Description int
	// HTML reports that comments can have HTML, such as <details>.
	HTML bool
}

// Kind is the kind of an error.
type Kind string

// Kinds of errors.
const (
	// NotFound: no such object, or the token may not read it.
	NotFound Kind = "NotFound"
	// Unauthorized: the token is invalid.
	Unauthorized Kind = "Unauthorized"
	// Forbidden: the token lacks a permission.
	Forbidden Kind = "Forbidden"
	// Conflict: the object has another version than expected.
	Conflict Kind = "Conflict"
	// NotAllowed: the state of the object does not permit it.
	NotAllowed Kind = "NotAllowed"
	// RateLimited: too many requests. Retry after Error.RetryAfter.
	RateLimited Kind = "RateLimited"
	// Unavailable: the Git provider failed or did not respond. Retry with a backoff.
	Unavailable Kind = "Unavailable"
	// Invalid: the Git provider rejected the request.
	Invalid Kind = "Invalid"
)

// Error is a response of a Git provider that is no success, or none at all.
type Error struct {
	Kind Kind
	// Status is the HTTP status; 0 without a response.
	Status int
	// RetryAfter is how long to wait; 0 if the Git provider does not set it.
	RetryAfter time.Duration
	// Message is the message of the Git provider, at most 300 bytes and without the token, or why there is no response.
	Message string
}

// Error returns the kind and the message.
func (e *Error) Error() string {
	switch {
	case e.Status == 0 && e.Kind == Unavailable:
		return fmt.Sprintf("the Git provider did not respond: %s", e.Message)
	case e.Status == 0: // no request was sent
		return e.Message
	}
	return fmt.Sprintf("the Git provider responded %d: %s", e.Status, e.Message)
}

// KindOf returns the kind of an *Error in a chain; empty for another error.
func KindOf(err error) Kind {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Kind
	}
	return ""
}
