package auth

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"cairn.dev/cairn/internal/base/weightedlru"
	"cairn.dev/cairn/internal/server/httpapi"
)

const (
	// mostFailures is how many invalid tokens of one source are reviewed at once, and failureEvery how often one more
	// is.
	mostFailures = 30
	failureEvery = time.Second
	// knownSources is how many sources are remembered.
	knownSources = 10_000
)

// errTooManyFailures is the response to a source that has sent too many invalid tokens.
var errTooManyFailures = httpapi.Errorf(http.StatusTooManyRequests,
	"too many tokens from this address were not valid: try again later")

// failureLimit limits for each source how many tokens that turn out to be invalid are reviewed, since each review is a
// request to the API server. A valid token costs nothing.
type failureLimit struct {
	now     func() time.Time
	mu      sync.Mutex
	sources *lru.Cache[netip.Prefix, *budget]
}

// budget is what a source has left at a time.
type budget struct {
	left int
	at   time.Time
}

func newFailureLimit(now func() time.Time) *failureLimit {
	return &failureLimit{now: now, sources: weightedlru.Sized[netip.Prefix, *budget](knownSources)}
}

// begin reports whether a token of the source of a request may be reviewed. It counts as invalid until valid is called.
func (l *failureLimit) begin(ctx context.Context) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.of(ctx)
	if b.left == 0 {
		return false
	}
	b.left--
	return true
}

// valid ends a review whose token is valid, or that failed for another reason.
func (l *failureLimit) valid(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.of(ctx)
	b.left = min(b.left+1, mostFailures)
}

// of returns the budget of a source now.
func (l *failureLimit) of(ctx context.Context) *budget {
	source, now := sourceOf(ctx), l.now()
	b, ok := l.sources.Get(source)
	if !ok {
		b = &budget{left: mostFailures, at: now}
		l.sources.Add(source, b)
	}
	if more := int(now.Sub(b.at) / failureEvery); more > 0 {
		b.left, b.at = min(b.left+more, mostFailures), b.at.Add(time.Duration(more)*failureEvery)
	}
	return b
}

// remoteKey is of the address that a request is from, in its context.
type remoteKey struct{}

// WithSource returns the context of a request with the address that it is from.
func WithSource(r *http.Request) context.Context {
	return context.WithValue(r.Context(), remoteKey{}, r.RemoteAddr)
}

// sourceOf returns the address that a request is from. One host has all addresses of an IPv6 network of 64 bits.
func sourceOf(ctx context.Context) netip.Prefix {
	text, _ := ctx.Value(remoteKey{}).(string)
	remote, err := netip.ParseAddrPort(text)
	if err != nil {
		return netip.Prefix{}
	}
	address, bits := remote.Addr().Unmap().WithZone(""), 64
	if address.Is4() {
		bits = 32
	}
	source, _ := address.Prefix(bits) // for these bits it has no error
	return source
}
