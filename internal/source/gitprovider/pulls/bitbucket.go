package pulls

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"
)

// bitbucketComments is the maximum number of comments, and of other activities, of a pull request that a client of
// Bitbucket reads.
const bitbucketComments = 10_000

// errTooManyComments: a pull request has more comments or activities than bitbucketComments.
var errTooManyComments = &Error{
	Kind: Invalid, Status: http.StatusOK, Message: "the pull request has more than 10000 comments and activities",
}

// bitbucketMessage returns the message of an error of Bitbucket Cloud or Bitbucket Data Center; empty if it has another
// form.
func bitbucketMessage(data []byte) string {
	var e struct {
		Error  struct{ Message string }
		Errors []struct{ Message string }
	}
	if json.Unmarshal(data, &e) != nil {
		return ""
	}
	if e.Error.Message == "" && len(e.Errors) > 0 {
		return e.Errors[0].Message
	}
	return e.Error.Message
}

// bitbucketCommenter reads the comments of pull requests.
type bitbucketCommenter interface {
	// self returns the login of the client; empty if it is not known before it has created a comment.
	self(ctx context.Context) (string, error)
	// allComments returns the comments that are neither deleted nor on a file, the oldest first.
	allComments(ctx context.Context, number int, since time.Time) ([]Comment, error)
}

// bitbucketWritten returns the comments of the client; none as long as its login is not known.
func bitbucketWritten(ctx context.Context, c bitbucketCommenter, number int) ([]Comment, error) {
	self, err := c.self(ctx)
	if err != nil || self == "" {
		return nil, err
	}
	all, err := c.allComments(ctx, number, time.Time{})
	return slices.DeleteFunc(all, func(o Comment) bool { return o.Author != self }), err
}

// bitbucketSince returns at most MaxComments of the comments, the oldest first.
func bitbucketSince(comments []Comment, since time.Time) []Comment {
	comments = slices.DeleteFunc(comments, func(c Comment) bool { return c.Created.Before(since) })
	return comments[:min(len(comments), MaxComments)]
}

// bitbucketSort sorts comments, the oldest first.
func bitbucketSort(comments []Comment) {
	slices.SortFunc(comments, func(a, b Comment) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
}

// bitbucketTooMany returns errTooManyComments instead of ErrTooMany.
func bitbucketTooMany(err error) error {
	if errors.Is(err, ErrTooMany) {
		return errTooManyComments
	}
	return err
}

// bitbucketState returns the state of a status in both APIs.
func bitbucketState(state StatusState) string {
	return map[StatusState]string{Pending: "INPROGRESS", Success: "SUCCESSFUL", Failure: "FAILED"}[state]
}
