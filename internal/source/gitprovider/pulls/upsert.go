package pulls

import (
	"context"
	"slices"
	"time"
)

// writer writes comments, and finds those that it wrote.
type writer interface {
	// written returns all comments of a pull request whose author is this client, the oldest first.
	written(ctx context.Context, number int) ([]Comment, error)
	create(ctx context.Context, number int, body string) (Written, error)
	// update returns when the comment was written.
	update(ctx context.Context, number int, id int64, body string) (time.Time, error)
	remove(ctx context.Context, number int, id int64) error
}

// upsert is Client.Upsert. After it creates a comment it reads them again, and so does another process that creates one
// at the same time: both keep the oldest.
func upsert(ctx context.Context, w writer, number int, known int64, isOurs func(string) bool, body string) (Written,
	error) {
	update := func(id int64) (Written, error) {
		at, err := w.update(ctx, number, id, body)
		return Written{id, at}, err
	}
	if known != 0 {
		if written, err := update(known); !mustReplace(err) {
			return written, err
		}
	}
	oldest, err := keepOldest(ctx, w, number, isOurs)
	switch {
	case err != nil:
		return Written{}, err
	case oldest != 0:
		return update(oldest)
	}
	created, err := w.create(ctx, number, body)
	if err != nil {
		return Written{}, err
	}
	oldest, err = keepOldest(ctx, w, number, isOurs)
	switch {
	case err != nil:
		return Written{}, err
	case oldest != 0 && oldest != created.ID: // 0 is of a list that is not up to date
		return update(oldest)
	}
	return created, nil
}

// keepOldest returns the ID of the oldest comment of which isOurs reports true, and deletes the others; 0 if there is
// none.
func keepOldest(ctx context.Context, w writer, number int, isOurs func(string) bool) (int64, error) {
	found, err := w.written(ctx, number)
	if err != nil {
		return 0, err
	}
	ours := slices.DeleteFunc(found, func(c Comment) bool { return !isOurs(c.Body) })
	if len(ours) == 0 {
		return 0, nil
	}
	for _, c := range ours[1:] {
		if err := w.remove(ctx, number, c.ID); err != nil && KindOf(err) != NotFound {
			return 0, err
		}
	}
	return ours[0].ID, nil
}

// mustReplace reports whether a known comment has to be replaced: it was deleted, or is of the user of an earlier
// token.
func mustReplace(err error) bool {
	kind := KindOf(err)
	return kind == NotFound || kind == Forbidden
}
