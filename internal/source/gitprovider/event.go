// Package gitprovider is the list of Git providers. It verifies and parses their webhooks, and creates the clients of
// their pull requests. A webhook only triggers a fetch; nothing else in it is trusted.
package gitprovider

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Event is the content of a webhook. It is only a hint to fetch; nothing else is taken from it.
type Event struct {
	// Provider that sent it, by its name in providers.
	Provider string
	// Kind is one of the Kind constants or, for any other event, the Git provider's own word for it, at most 64 bytes.
	Kind string
	// Ref that was pushed, as in refs/heads/main; empty when the webhook names none or several.
	Ref string
	// Commit that the Ref is at now, in hex; empty when it is gone, or when the webhook names none or several. For a
	// tag some Git providers send the tag's object.
	Commit string
	// Delivery is the Git provider's ID of this webhook, the same if it is sent again; at most 128 bytes, empty when it
	// has none.
	Delivery string
	// CloneURLs are addresses of the repository, as the Git provider sends them; may be empty.
	CloneURLs []string
	// At is when it arrived; a Handler sets it.
	At time.Time
	// Ping is true when the Git provider only tests the connection.
	Ping bool
}

// Kinds of events that Git providers have in common.
const (
	KindPush = "push"
	KindTag  = "tag"
	// KindPullRequest is a change of a pull request, a comment on one, or a review.
	KindPullRequest = "pull_request"
	KindPing        = "ping"
)

// NeedsFetch returns true if refs or pull requests of the repository may have changed, so that a fetch is needed.
func (e Event) NeedsFetch() bool {
	return e.Kind == KindPush || e.Kind == KindTag || e.Kind == KindPullRequest
}

// What may be wrong with a webhook.
var (
	// ErrUnsigned: no Git provider signed it, or there is no secret to check it with.
	ErrUnsigned = errors.New("not signed")
	// ErrSignature: it was not signed with any of the secrets, or too long ago.
	ErrSignature = errors.New("wrong signature")
	// ErrBody: its signature is valid, and it is not what the Git provider sends.
	ErrBody = errors.New("not what a Git provider sends")
)

// Verify reads a webhook that is signed with one of the secrets. Empty secrets are left out: what could be signed by
// unauthenticated content is never accepted. The errors are ErrUnsigned, ErrSignature and ErrBody.
//
// A secret is used as it is. One that begins with whsec_ is a signing token of GitLab; where there is one, a webhook
// that has such a signature needs it to be right.
func Verify(h http.Header, body []byte, secrets [][]byte, now time.Time) (Event, error) {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s []byte) bool { return len(s) == 0 })
	d, ok := providerOf(h)
	if !ok || len(secrets) == 0 {
		return Event{}, ErrUnsigned
	}
	document, bad := payload(h, body)
	signed := body
	if d.webhook.signsPayload && bad == nil {
		signed = document
	}
	if err := d.webhook.check(h, signed, secrets, now); err != nil {
		return Event{}, err
	}
	if bad == nil && !json.Valid(document) {
		bad = errors.New("no JSON")
	}
	if bad != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrBody, bad)
	}
	e := Event{Provider: d.name, Kind: h.Get(d.webhook.event), Delivery: clip(first(h, d.webhook.delivery...), 128)}
	if err := d.webhook.read(&e, document); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrBody, err)
	}
	e.Ping = e.Kind == KindPing
	return tidy(e), nil
}

// tidy leaves out what no Git provider would send.
func tidy(e Event) Event {
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(e.Kind) > 64 || strings.ContainsFunc(strings.ReplaceAll(e.Kind, " ", ""), odd) {
		e.Kind = "unknown"
	}
	e.Delivery = strings.ToValidUTF8(e.Delivery, "")
	if len(e.Ref) > 1024 || !strings.HasPrefix(e.Ref, "refs/") || strings.ContainsFunc(e.Ref, func(r rune) bool {
		return r <= ' ' || r == 0x7f
	}) {
		e.Ref = ""
	}
	if n := len(e.Commit); n != 40 && n != 64 || strings.Trim(e.Commit, "0123456789abcdef") != "" ||
		strings.Trim(e.Commit, "0") == "" {
		e.Commit = ""
	}
	e.CloneURLs = slices.DeleteFunc(e.CloneURLs, func(u string) bool { return u == "" || len(u) > 2048 })
	return e
}

func clip(s string, limit int) string { return s[:min(len(s), limit)] }

// first value that one of the headers has.
func first(h http.Header, names ...string) string {
	for _, name := range names {
		if v := h.Get(name); v != "" {
			return v
		}
	}
	return ""
}
