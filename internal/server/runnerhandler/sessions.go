package runnerhandler

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/weightedlru"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/httpapi"
)

const (
	// openSessions is how many sessions are cached.
	openSessions = 10_000
	// maxSessionKey is the longest key that is accepted, in bytes.
	maxSessionKey = 256
	// misuseInterval is how often the misuse of the token of one pod is recorded.
	misuseInterval = time.Minute
)

// sessions bind each pod to the key of its runner. Hooks, providers and the engine can read the token of their pod, but
// not the key. The bucket has the digest of the key, so that a binding outlives the process and holds in all servers.
// The runner is the first to send a request, and it starts no other program before it has an order: so nothing else can
// bind its pod. A pod whose runner has begun is not bound again, whatever became of the bucket.
type sessions struct {
	bucket *bucket.Bucket
	mu     sync.Mutex
	open   *lru.Cache[types.UID, *session]
}

// session is the session of a pod, as far as this process has read it.
type session struct {
	mu sync.Mutex
	// digest of the key; empty before it is read. It never changes.
	digest string
	// recorded is when a misuse of the token was last recorded.
	recorded time.Time
}

func newSessions(b *bucket.Bucket) *sessions {
	return &sessions{bucket: b, open: weightedlru.Sized[types.UID, *session](openSessions)}
}

func (s *sessions) of(pod types.UID) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry, ok := s.open.Get(pod)
	if !ok {
		entry = &session{}
		s.open.Add(pod, entry)
	}
	return entry
}

// bound returns the digest of the key that the pod of a caller is bound to, and binds the pod to a key if it is not
// bound yet. It is empty if there is no such key: the Run was deleted, and the binding with it.
func (s *sessions) bound(ctx context.Context, c Caller, digest string) (string, error) {
	entry := s.of(c.Pod.UID)
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if entry.digest != "" || c.Run == nil {
		return entry.digest, nil
	}
	key := artifact.SessionKey(c.Run, c.Pod.UID)
	stored, err := s.bucket.Get(ctx, key, sha256.BlockSize*2)
	switch {
	case err == nil:
		digest = string(stored)
	case !errors.Is(err, bucket.ErrNotFound):
		return "", fmt.Errorf("read the session of pod %s/%s: %w", c.Pod.Namespace, c.Pod.Name, err)
	case begun(c):
		return "", httpapi.Errorf(http.StatusGone, "the session of pod %s is no longer in the bucket, so a "+
			"request of its runner cannot be distinguished from others", c.Pod.Name)
	case digest == "":
		return "", httpapi.Errorf(http.StatusBadRequest, "a request of a runner has header %s", runnerapi.SessionHeader)
	default:
		if err := s.bucket.Put(ctx, key, []byte(digest)); err != nil {
			return "", fmt.Errorf("store the session of pod %s/%s: %w", c.Pod.Namespace, c.Pod.Name, err)
		}
	}
	entry.digest = digest
	return digest, nil
}

// begun reports whether the Run shows that the runner of the pod had a session: it reported, or had the time to. If the
// bucket has lost the session since, a program that it started could bind the pod.
func begun(c Caller) bool {
	return slices.ContainsFunc(c.Run.Status.Attempts, func(a v1alpha1.Attempt) bool {
		return a.PodUID == c.Pod.UID && (len(a.Steps) > 0 || a.FinishedAt != nil)
	})
}

// mayRecord reports whether a misuse of the token of a pod is to be recorded now.
func (s *sessions) mayRecord(pod types.UID, now time.Time) bool {
	entry := s.of(pod)
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if now.Sub(entry.recorded) < misuseInterval {
		return false
	}
	entry.recorded = now
	return true
}

// sessionDigest is the digest of the key that a request has; empty without one.
func sessionDigest(r *http.Request) (string, error) {
	key := r.Header.Get(runnerapi.SessionHeader)
	switch {
	case key == "":
		return "", nil
	case len(key) > maxSessionKey:
		return "", httpapi.Errorf(http.StatusBadRequest, "header %s has more than %d bytes", runnerapi.SessionHeader,
			maxSessionKey)
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:]), nil
}

// checkSession rejects a request without the key that the pod of its caller is bound to. While the bucket is not
// available, the token suffices for the state: what is in it comes from code of users anyway, and it must not be lost.
func (s *API) checkSession(r *http.Request, c Caller) error {
	sent, err := sessionDigest(r)
	if err != nil {
		return err
	}
	bound, err := s.sessions.bound(r.Context(), c, sent)
	if err != nil && strings.HasSuffix(r.Pattern, " "+statePath) && r.Context().Err() == nil {
		s.Log.Warn("session not checked", "namespace", c.Pod.Namespace, "stack", c.Stack, "run", c.RunName, "pod",
			c.Pod.Name, "error", err)
		return nil
	}
	if err != nil || subtle.ConstantTimeCompare([]byte(sent), []byte(bound)) == 1 || bound == "" {
		return err
	}
	s.recordMisuse(r, c)
	return &runnerapi.Error{
		Code: http.StatusForbidden, Reason: runnerapi.ReasonOtherSession,
		Message: fmt.Sprintf("the token of pod %s is bound to another process, which sent the first request with it",
			c.Pod.Name),
	}
}

// recordMisuse counts a request with the token of a pod that is not from its runner, and records it in the log and as
// an event of the Run.
func (s *API) recordMisuse(r *http.Request, c Caller) {
	s.Metrics.CountTokenMisuse()
	if !s.sessions.mayRecord(c.Pod.UID, time.Now()) {
		return
	}
	s.Log.Warn("audit: token of a runner misused", "namespace", c.Pod.Namespace, "stack", c.Stack, "run", c.RunName,
		"pod", c.Pod.Name,
		"attempt", c.Attempt, "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr)
	if s.Events == nil || c.Run == nil {
		return
	}
	s.Events.Eventf(c.Run, nil, corev1.EventTypeWarning, v1alpha1.EventTokenMisused, "Authenticate",
		"rejected %s %.100s: it has the token of pod %s and is not from its runner. Code that runs in this pod sent "+
			"it, or sent the token elsewhere",
		r.Method, r.URL.Path, c.Pod.Name)
}
