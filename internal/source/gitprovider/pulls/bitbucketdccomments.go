package pulls

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

type bitbucketDCComment struct {
	ID                       int64
	Version                  int
	Text                     string
	Author                   bitbucketDCUser
	CreatedDate, UpdatedDate int64
	// Comments are the replies.
	Comments []bitbucketDCComment
}

// milliseconds returns a time; zero for 0.
func milliseconds(since1970 int64) time.Time {
	if since1970 == 0 {
		return time.Time{}
	}
	return time.UnixMilli(since1970).UTC()
}

// with returns the comment and its replies.
func (c bitbucketDCComment) with() []Comment {
	created := time.UnixMilli(c.CreatedDate).UTC()
	edited := c.UpdatedDate > c.CreatedDate
	all := []Comment{{ID: c.ID, Author: c.Author.Name, Body: c.Text, Edited: edited, Created: created}}
	for _, reply := range c.Comments {
		all = append(all, reply.with()...)
	}
	return all
}

// Comments implements Client. It does not return comments on files.
func (b *bitbucketDC) Comments(ctx context.Context, number int, since time.Time) ([]Comment, error) {
	comments, err := b.allComments(ctx, number, since)
	return bitbucketSince(comments, since), err
}

// allComments returns all comments: a new reply is part of an old activity.
func (b *bitbucketDC) allComments(ctx context.Context, number int, _ time.Time) ([]Comment, error) {
	type activity struct {
		Action, CommentAction string
		Comment               *bitbucketDCComment
		CommentAnchor         *struct{}
	}
	path, query := b.pullPath(number)+"/activities", url.Values{"limit": {"500"}}
	all, err := bitbucketDCList[activity](ctx, b, path, query, bitbucketComments, nil)
	var comments []Comment
	seen := map[int64]bool{}
	for _, a := range all {
		if a.Action != "COMMENTED" || a.CommentAction == "DELETED" || a.Comment == nil || a.CommentAnchor != nil {
			continue
		}
		for _, c := range a.Comment.with() {
			if !seen[c.ID] {
				comments = append(comments, c)
			}
			seen[c.ID] = true
		}
	}
	bitbucketSort(comments)
	return comments, bitbucketTooMany(err)
}

// Upsert implements Client. It keeps a comment with replies, which cannot be deleted.
func (b *bitbucketDC) Upsert(
	ctx context.Context, number int, known int64, isOurs func(body string) bool, body string,
) (Written, error) {
	return upsert(ctx, b, number, known, isOurs, body)
}

func (b *bitbucketDC) written(ctx context.Context, number int) ([]Comment, error) {
	return bitbucketWritten(ctx, b, number)
}

func (b *bitbucketDC) create(ctx context.Context, number int, body string) (Written, error) {
	var c bitbucketDCComment
	_, err := b.call(ctx, http.MethodPost, b.pullPath(number)+"/comments", nil, map[string]string{"text": body}, &c)
	return Written{c.ID, milliseconds(c.UpdatedDate)}, err
}

func (b *bitbucketDC) update(ctx context.Context, number int, id int64, body string) (time.Time, error) {
	var c bitbucketDCComment
	err := b.versioned(ctx, number, id, func(path string, version int) error {
		_, err := b.call(ctx, http.MethodPut, path, nil, map[string]any{"text": body, "version": version}, &c)
		return err
	})
	return milliseconds(c.UpdatedDate), err
}

func (b *bitbucketDC) remove(ctx context.Context, number int, id int64) error {
	err := b.versioned(ctx, number, id, func(path string, version int) error {
		_, err := b.call(ctx, http.MethodDelete, path, url.Values{"version": {strconv.Itoa(version)}}, nil, nil)
		return err
	})
	if KindOf(err) == Conflict { // it has replies
		return nil
	}
	return err
}

// versioned changes a comment at the version that it has. It reads the version again once, if another change was in
// between.
func (b *bitbucketDC) versioned(
	ctx context.Context, number int, id int64, change func(path string, version int) error,
) (err error) {
	path := fmt.Sprintf("%s/comments/%d", b.pullPath(number), id)
	for range 2 {
		var c bitbucketDCComment
		if _, err := b.call(ctx, http.MethodGet, path, nil, nil, &c); err != nil {
			return err
		}
		if err = change(path, c.Version); KindOf(err) != Conflict {
			return err
		}
	}
	return err
}

// self returns the login of the token's user, which each response has.
func (b *bitbucketDC) self(ctx context.Context) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.login != "" {
		return b.login, nil
	}
	header, err := b.call(ctx, http.MethodGet, b.repository, nil, nil, nil)
	if err != nil {
		return "", err
	}
	login, err := url.PathUnescape(header.Get("X-Ausername"))
	if err != nil || login == "" {
		return "", &Error{Kind: Invalid, Status: http.StatusOK, Message: "the response has no user (X-AUSERNAME)"}
	}
	b.login = login
	return login, nil
}
