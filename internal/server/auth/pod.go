package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/base/weightedlru"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
)

const (
	// trustFor is how long a token is believed without asking again. The fence does not rest on it: whether a pod is a
	// Run's current one is read for each request.
	trustFor = time.Minute
	// MaxToken is the longest token that is accepted, in bytes; those of a cluster are shorter.
	MaxToken = 16 << 10
	// knownTokens is how many tokens are remembered.
	knownTokens = 10_000
	// rejectFor is how long a token that was rejected is rejected without a new review. It is short: a runner repeats
	// its requests for longer than that.
	rejectFor = 10 * time.Second
	// rejectedTokens is how many rejected tokens are remembered. They are apart from the valid ones, which they do not
	// evict.
	rejectedTokens = 10_000
	// askFor is how long it may take to ask about a token.
	askFor = 30 * time.Second
)

// Pod is the pod that a token was issued for.
type Pod struct {
	Namespace, Name string
	UID             types.UID
}

// Key names the pod.
func (p Pod) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// PodVerifier verifies the token of a runner. It returns an httpapi.Error for a token that is not valid. Any other
// error means that the token could not be verified now.
type PodVerifier interface {
	VerifyPod(ctx context.Context, token string) (Pod, error)
}

// PodAuthenticator authenticates the pod that sends a request. It caches results for a moment, also those of rejected
// tokens, since a review is a round trip to the API server. Concurrent requests with one token are verified once.
type PodAuthenticator struct {
	from PodVerifier
	// keys verifies tokens whose pod was deleted; nil rejects them. Its results are cached as well: for a token of an
	// unknown key the keys are fetched again.
	keys    *PodAuthenticator
	now     func() time.Time
	marker  marker
	known   *lru.Cache[mark, knownToken]
	refused *lru.Cache[mark, refusedToken]
	limit   *failureLimit
	asking  singleflight.Group
}

type knownToken struct {
	pod   Pod
	until time.Time
}

type refusedToken struct {
	why   *httpapi.Error
	until time.Time
}

// NewPodAuthenticator creates a PodAuthenticator. deleted verifies the tokens of pods that were deleted; nil rejects
// them.
func NewPodAuthenticator(from, keys PodVerifier, now func() time.Time) *PodAuthenticator {
	t := &PodAuthenticator{
		from: from, now: now, marker: newMarker(),
		known:   weightedlru.Sized[mark, knownToken](knownTokens),
		refused: weightedlru.Sized[mark, refusedToken](rejectedTokens),
		limit:   newFailureLimit(now),
	}
	if keys != nil {
		t.keys = NewPodAuthenticator(keys, nil, now)
	}
	return t
}

// Authenticate returns the pod that sends a request.
func (t *PodAuthenticator) Authenticate(r *http.Request) (Pod, error) {
	token, err := bearer(r)
	if err != nil {
		return Pod{}, err
	}
	return t.of(WithSource(r), token)
}

// AuthenticateDeleted is Authenticate for requests whose content would be lost otherwise. A pod whose object was
// deleted by force may still run, and a review rejects its token by then. The token is accepted here until it expires,
// if the keys of the cluster verify it.
func (t *PodAuthenticator) AuthenticateDeleted(r *http.Request) (Pod, error) {
	pod, err := t.Authenticate(r)
	var no *httpapi.Error
	if t.keys == nil || !errors.As(err, &no) || no.Code != http.StatusUnauthorized {
		return pod, err
	}
	token, without := bearer(r)
	if without != nil {
		return Pod{}, err
	}
	gone, keysErr := t.keys.of(WithSource(r), token)
	if errors.As(keysErr, &no) {
		return Pod{}, err
	}
	return gone, keysErr
}

func bearer(r *http.Request) (string, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" || len(token) > MaxToken {
		return "", httpapi.Errorf(http.StatusUnauthorized, "no bearer token: the pod's token for audience %q is needed",
			runnerapi.Audience)
	}
	return token, nil
}

func (t *PodAuthenticator) of(ctx context.Context, token string) (Pod, error) {
	m := t.marker.of(token)
	k, wasValid := t.known.Get(m)
	if wasValid && t.now().Before(k.until) {
		return k.pod, nil
	}
	if k, ok := t.refused.Get(m); ok && t.now().Before(k.until) {
		return Pod{}, k.why
	}
	answer := t.asking.DoChan(string(m[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askFor) // others may wait for it too
		defer cancel()
		if !wasValid && !t.limit.begin(ctx) {
			return Pod{}, errTooManyFailures
		}
		pod, err := t.from.VerifyPod(ctx, token)
		var no *httpapi.Error
		if errors.As(err, &no) {
			t.refused.Add(m, refusedToken{no, t.now().Add(rejectFor)})
			return pod, err
		}
		if !wasValid {
			t.limit.valid(ctx)
		}
		if err == nil {
			t.known.Add(m, knownToken{pod, t.now().Add(trustFor)})
		}
		return pod, err
	})
	select {
	case a := <-answer:
		pod, _ := a.Val.(Pod)
		return pod, a.Err
	case <-ctx.Done():
		return Pod{}, ctx.Err()
	}
}

// mark is what a token is remembered by.
type mark [sha256.Size]byte

// marker computes marks with a key of its own, so that nothing can be derived from them without it.
type marker [sha256.Size]byte

func newMarker() marker {
	var m marker
	_, _ = rand.Read(m[:]) // never fails
	return m
}

func (m marker) of(token string) mark {
	h := hmac.New(sha256.New, m[:])
	_, _ = io.WriteString(h, token) // never fails
	return mark(h.Sum(nil))
}
