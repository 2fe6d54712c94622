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

// bitbucketCommenter is the access to the comments of pull requests that bitbucketUpsert needs.
type bitbucketCommenter interface {
	// self returns the login of the client; empty if it is not known yet.
	self(ctx context.Context) (string, error)
	// allComments returns the comments that are neither deleted nor on a file, the oldest first.
	allComments(ctx context.Context, number int, since time.Time) ([]Comment, error)
	create(ctx context.Context, number int, body string) (Comment, error)
	edit(ctx context.Context, number int, id int64, body string) error
	remove(ctx context.Context, number int, id int64) error
}

// bitbucketUpsert implements Client.Upsert. If the login of the client is not known, it is that of the author of a new
// comment, with which the others of the client are then found.
func bitbucketUpsert(
	ctx context.Context, c bitbucketCommenter, number int, known int64, isOurs func(string) bool, body string,
) (int64, error) {
	if known != 0 {
		if err := c.edit(ctx, number, known, body); !mustReplace(err) {
			return known, err
		}
	}
	self, err := c.self(ctx)
	if err != nil {
		return 0, err
	}
	all, err := c.allComments(ctx, number, time.Time{})
	if err != nil {
		return 0, err
	}
	ours := slices.DeleteFunc(all, func(o Comment) bool { return self != "" && o.Author != self || !isOurs(o.Body) })
	created := Comment{}
	if self == "" || len(ours) == 0 {
		if created, err = c.create(ctx, number, body); err != nil {
			return 0, err
		}
		self = created.Author
		ours = slices.DeleteFunc(ours, func(o Comment) bool { return self == "" || o.Author != self })
		ours = append(ours, created)
	}
	for _, o := range ours[1:] {
		if err := c.remove(ctx, number, o.ID); err != nil && KindOf(err) != NotFound {
			return 0, err
		}
	}
	if ours[0].ID == created.ID {
		return created.ID, nil
	}
	return ours[0].ID, c.edit(ctx, number, ours[0].ID, body)
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
