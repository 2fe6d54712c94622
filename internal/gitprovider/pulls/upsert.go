package pulls

import (
	"context"
	"slices"
)

// writer writes comments, and finds those that it wrote.
type writer interface {
	// written returns all comments of a pull request whose author is this client, the oldest first.
	written(ctx context.Context, number int) ([]Comment, error)
	create(ctx context.Context, number int, body string) (int64, error)
	update(ctx context.Context, number int, id int64, body string) error
	remove(ctx context.Context, number int, id int64) error
}

// upsert is Client.Upsert.
func upsert(ctx context.Context, w writer, number int, known int64, isOurs func(string) bool, body string) (int64, error) {
	if known != 0 {
		if err := w.update(ctx, number, known, body); KindOf(err) != NotFound {
			return known, err
		}
	}
	found, err := w.written(ctx, number)
	if err != nil {
		return 0, err
	}
	ours := slices.DeleteFunc(found, func(c Comment) bool { return !isOurs(c.Body) })
	if len(ours) == 0 {
		return w.create(ctx, number, body)
	}
	for _, c := range ours[1:] {
		if err := w.remove(ctx, number, c.ID); err != nil && KindOf(err) != NotFound {
			return 0, err
		}
	}
	return ours[0].ID, w.update(ctx, number, ours[0].ID, body)
}
