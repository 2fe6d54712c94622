package runnerapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Download is what the server fetches for a request that it answers once that is done: the answer with code 202. Who
// asks again hears how far it is then.
type Download struct {
	// What is fetched. Example: Terraform 1.5.7.
	What string `json:"what"`
	// From is the address, without a password; empty while none is asked.
	From string `json:"from,omitempty"`
	// Received is how many bytes of Total are there; Total is 0 while it is unknown.
	Received int64 `json:"received,omitempty"`
	Total    int64 `json:"total,omitempty"`
	// Unreachable is why the last try came to nothing, when the address does not answer. A new request has the server
	// try again.
	Unreachable string `json:"unreachable,omitempty"`
}

// String is the progress, for users.
func (d Download) String() string {
	if d.Unreachable != "" {
		return d.Unreachable
	}
	text := "downloads " + d.What
	if d.From != "" {
		text += " from " + d.From
	}
	switch {
	case d.Total > 0:
		return text + fmt.Sprintf(": %s of %s", megabytes(d.Received), megabytes(d.Total))
	case d.Received > 0:
		return text + ": " + megabytes(d.Received)
	}
	return text
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// DownloadWait is how long the server holds a request that waits for a download before it responds with the progress.
const DownloadWait = 2 * time.Second

// waitQuery is how long a request is to be held.
const waitQuery = "wait"

// UnreachablePause is between two tries at a place that does not answer.
const UnreachablePause = 5 * time.Second

// later is the response while a download continues.
type later struct{ Download }

func (l *later) Error() string { return l.String() }

// await sends a request until what it waits for is downloaded. Each progress is passed on; an error of that ends it.
func (c *Client) await(ctx context.Context, r call, progress func(Download) error) error {
	if r.query == nil {
		r.query = url.Values{}
	}
	r.query.Set(waitQuery, DownloadWait.String())
	r.later = func(body *reader) error {
		l := &later{}
		data, err := readAll(body, largestAnswer)
		if err == nil {
			err = decode(data, &l.Download)
		}
		return cmp.Or[error](err, l)
	}
	for {
		err := c.do(ctx, r)
		l, ok := errors.AsType[*later](err)
		if !ok {
			return err
		}
		if err := progress(l.Download); err != nil {
			return err
		}
		if l.Unreachable == "" {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(UnreachablePause):
		}
	}
}
