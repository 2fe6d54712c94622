package pulls

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// comments is a pull request of which another process may write comments.
type comments struct {
	all []Comment
	// before and after are called around a creation.
	before, after func(*comments)
}

func (c *comments) written(context.Context, int) ([]Comment, error) { return slices.Clone(c.all), nil }

func (c *comments) create(_ context.Context, _ int, body string) (Written, error) {
	if c.before != nil {
		c.before(c)
	}
	id := c.add(body)
	if c.after != nil {
		c.after(c)
	}
	return Written{id, now}, nil
}

func (c *comments) add(body string) int64 {
	id := int64(len(c.all) + 1)
	c.all = append(c.all, Comment{ID: id, Body: body})
	return id
}

func (c *comments) update(_ context.Context, _ int, id int64, body string) (time.Time, error) {
	for i := range c.all {
		if c.all[i].ID == id {
			c.all[i].Body = body
			return now, nil
		}
	}
	return time.Time{}, &Error{Kind: NotFound}
}

func (c *comments) remove(_ context.Context, _ int, id int64) error {
	c.all = slices.DeleteFunc(c.all, func(o Comment) bool { return o.ID == id })
	return nil
}

// others is a pull request whose first comment is of the user of an earlier token.
type others struct{ comments }

func (c *others) written(ctx context.Context, n int) ([]Comment, error) {
	all, err := c.comments.written(ctx, n)
	return all[1:], err
}

func (c *others) update(ctx context.Context, n int, id int64, body string) (time.Time, error) {
	if id == 1 {
		return time.Time{}, &Error{Kind: Forbidden}
	}
	return c.comments.update(ctx, n, id, body)
}

// After the token is that of another user, the comment of the earlier one cannot be changed.
func TestACommentOfAnotherUserIsReplaced(t *testing.T) {
	c := &others{}
	c.add("M old")
	for _, body := range []string{"M new", "M newer"} {
		id, err := upsert(t.Context(), c, 1, 1, func(body string) bool { return strings.HasPrefix(body, "M ") }, body)
		if err != nil || id != (Written{2, now}) || len(c.all) != 2 || c.all[1].Body != body {
			t.Errorf("%v, %v: %+v", id, err, c.all)
		}
	}
}

// Two processes that create the comment at the same time keep one. tofu-controller PR 1614: comments were duplicated.
func TestTwoProcessesKeepOneComment(t *testing.T) {
	other := func(c *comments) { c.add("M other") }
	for name, c := range map[string]*comments{
		"the other is first":  {before: other},
		"the other is second": {after: other},
		"no other":            {},
	} {
		id, err := upsert(t.Context(), c, 1, 0, func(body string) bool {
			return strings.HasPrefix(body, "M ")
		}, "M ours")
		if err != nil || len(c.all) != 1 || c.all[0].ID != id.ID || c.all[0].Body != "M ours" {
			t.Errorf("%s: %v, %v: %+v", name, id, err, c.all)
		}
	}
}
