package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
)

// asked verifies tokens, and counts how often it is called.
type asked struct {
	n    atomic.Int32
	pod  func(token string) (Pod, error)
	hold chan struct{} // nil does not
}

func (a *asked) VerifyPod(ctx context.Context, token string) (Pod, error) {
	a.n.Add(1)
	if a.hold != nil {
		select {
		case <-a.hold:
		case <-ctx.Done():
			return Pod{}, ctx.Err()
		}
	}
	return a.pod(token)
}

func with(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/v1/state", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func saysNo(string) (Pod, error) { return Pod{}, httpapi.Errorf(http.StatusUnauthorized, "not valid") }

func TestInvalidTokenIsReviewedOnceInAWhile(t *testing.T) {
	now := time.Now()
	from := &asked{pod: saysNo}
	tokens := NewPodAuthenticator(from, nil, func() time.Time { return now })
	for range 1000 {
		if code, text := httpapi.StatusOf(second(tokens.Authenticate(with("bad")))); code != http.StatusUnauthorized ||
			text != "not valid" {
			t.Fatalf("got %d %s", code, text)
		}
	}
	if n := from.n.Load(); n != 1 {
		t.Errorf("%d reviews of one bad token", n)
	}
	now = now.Add(rejectFor)
	_, _ = tokens.Authenticate(with("bad"))
	if n := from.n.Load(); n != 2 {
		t.Errorf("%d reviews, and it may be good by now", n)
	}
}

func TestConcurrentReviewsOfOneTokenAreShared(t *testing.T) {
	for name, pod := range map[string]func(string) (Pod, error){
		"a bad one":  saysNo,
		"a good one": func(string) (Pod, error) { return Pod{Name: "a"}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from := &asked{pod: pod, hold: make(chan struct{})}
				tokens := NewPodAuthenticator(from, nil, time.Now)
				want, wantErr := pod("")
				// Who began to ask goes away: that is no answer to the others.
				first, goes := context.WithCancel(t.Context())
				var g sync.WaitGroup
				g.Go(func() {
					if _, err := tokens.Authenticate(with("one").WithContext(first)); !errors.Is(err,
						context.Canceled) {
						t.Errorf("who went away got %v", err)
					}
				})
				synctest.Wait()
				for range 100 {
					g.Go(func() {
						if got, err := tokens.Authenticate(with("one")); got != want ||
							fmt.Sprint(err) != fmt.Sprint(wantErr) {
							t.Errorf("got %v, %v", got, err)
						}
					})
				}
				synctest.Wait()
				goes()
				synctest.Wait()
				close(from.hold)
				g.Wait()
				if n := from.n.Load(); n != 1 {
					t.Errorf("asked %d times", n)
				}
			})
		})
	}
}

// Only what was said of a token is remembered: that the API server is away says nothing of it.
func TestTokenIsNotRejectedWhileTheAPIServerIsUnavailable(t *testing.T) {
	away := true
	from := &asked{pod: func(string) (Pod, error) {
		if away {
			return Pod{}, errors.New("away")
		}
		return Pod{Name: "a"}, nil
	}}
	tokens := NewPodAuthenticator(from, nil, time.Now)
	if code, _ := httpapi.StatusOf(second(tokens.Authenticate(with("good")))); code != http.StatusServiceUnavailable {
		t.Errorf("got %d", code)
	}
	away = false
	if pod, err := tokens.Authenticate(with("good")); err != nil || pod.Name != "a" {
		t.Errorf("got %v, %v", pod, err)
	}
}

// Any number of bad tokens takes no more memory than some, and pushes no good one out.
func TestInvalidTokensDoNotEvictValidOnes(t *testing.T) {
	from := &asked{pod: func(token string) (Pod, error) {
		if token == "good" {
			return Pod{Name: "a"}, nil
		}
		return saysNo(token)
	}}
	tokens := NewPodAuthenticator(from, nil, time.Now)
	_, _ = tokens.Authenticate(with("good"))
	for i := range max(rejectedTokens, knownTokens) + 100 {
		bad := with(fmt.Sprint("bad-", i))
		bad.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1", i/256, i%256) // or they would not be reviewed
		_, _ = tokens.Authenticate(bad)
	}
	if n := tokens.refused.Len(); n != rejectedTokens {
		t.Errorf("%d are remembered", n)
	}
	before := from.n.Load()
	if _, err := tokens.Authenticate(with("good")); err != nil || from.n.Load() != before {
		t.Errorf("the good one was forgotten, %v", err)
	}
}

// A token that the keys do not know has them fetched anew.
func TestInvalidTokenIsVerifiedWithKeysOnceInAWhile(t *testing.T) {
	now := time.Now()
	keys := &asked{pod: saysNo}
	tokens := NewPodAuthenticator(&asked{pod: saysNo}, keys, func() time.Time { return now })
	for range 1000 {
		if code, _ := httpapi.StatusOf(second(tokens.AuthenticateDeleted(with("bad")))); code !=
			http.StatusUnauthorized {
			t.Fatal(code)
		}
	}
	if n := keys.n.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	now = now.Add(rejectFor)
	keys.pod = func(string) (Pod, error) { return Pod{Name: "gone"}, nil } // those of a new key of the cluster
	if pod, err := tokens.AuthenticateDeleted(with("bad")); err != nil || pod.Name != "gone" {
		t.Errorf("got %v, %v", pod, err)
	}
}

// What is cached of a token is of no use without the key, which each process has for itself.
func TestTokenIsCachedByItsMark(t *testing.T) {
	a, b := newMarker(), newMarker()
	again := a.of("x")
	if a.of("x") != again || a.of("x") == a.of("y") || a.of("x") == b.of("x") {
		t.Error("a mark is of one token and one key")
	}
}

func TestTokensOfDeletedPods(t *testing.T) {
	gone := Pod{Name: "gone"}
	away := errors.New("away")
	says := func(pod Pod, err error) *asked {
		return &asked{pod: func(string) (Pod, error) { return pod, err }}
	}
	no := func(code int) error { return httpapi.Errorf(code, "the review says no") }
	for name, test := range map[string]struct {
		review, keys *asked
		want         Pod
		code         int
		asked        int32 // of the keys
	}{
		"one that a review takes needs no keys": {review: says(Pod{Name: "a"}, nil), keys: says(gone, nil),
			want: Pod{Name: "a"}},
		"one that it saysNo is good by the keys": {review: says(Pod{}, no(401)), keys: says(gone, nil),
			want: gone, asked: 1},
		"one that is bad by the keys too is refused": {review: says(Pod{}, no(401)),
			keys: says(Pod{}, httpapi.Errorf(401, "the keys say no")), code: 401, asked: 1},
		"keys that are away say nothing of it": {review: says(Pod{}, no(401)), keys: says(Pod{}, away),
			code: 503, asked: 2},
		"a review that is away says nothing of it":    {review: says(Pod{}, away), keys: says(gone, nil), code: 503},
		"one that is good and no pod's is no other's": {review: says(Pod{}, no(403)), keys: says(gone, nil), code: 403},
		"without keys it is refused":                  {review: says(Pod{}, no(401)), code: 401},
	} {
		t.Run(name, func(t *testing.T) {
			tokens := NewPodAuthenticator(test.review, nil, time.Now)
			if test.keys != nil {
				tokens = NewPodAuthenticator(test.review, test.keys, time.Now)
			}
			for range 2 { // the second time, what was said is remembered, but for who is away
				pod, err := tokens.AuthenticateDeleted(with("x"))
				if code, text := httpapi.StatusOf(err); pod != test.want || (err == nil) != (test.code == 0) ||
					(err != nil && code != test.code) || strings.Contains(text, "keys say") {
					t.Fatalf("got %v, %d %s", pod, code, text)
				}
			}
			if test.keys != nil && test.keys.n.Load() != test.asked {
				t.Errorf("the keys were asked %d times", test.keys.n.Load())
			}
			if _, err := tokens.Authenticate(with("x")); (err == nil) != (test.want.Name == "a") {
				t.Errorf("for all else: %v", err)
			}
		})
	}
	if _, err := NewPodAuthenticator(says(Pod{}, no(401)), says(gone, nil), time.Now).AuthenticateDeleted(
		httptest.NewRequest(http.MethodPut, "/", http.NoBody)); err == nil {
		t.Error("a request without a token is authenticated")
	}
}

func second[A any](_ A, err error) error { return err }

// The API server checks the audience as well, unless its authenticator knows none.
func TestTokenReviewDecision(t *testing.T) {
	whose := authenticationv1.UserInfo{Username: "system:serviceaccount:team:default",
		Extra: map[string]authenticationv1.ExtraValue{
			"authentication.kubernetes.io/pod-name": {"net-1-plan-1"}, "authentication.kubernetes.io/pod-uid": {"u"},
		}}
	human := whose
	human.Username = "alice"
	for name, test := range map[string]struct {
		status authenticationv1.TokenReviewStatus
		code   int
	}{
		"it is for the store": {authenticationv1.TokenReviewStatus{Authenticated: true,
			Audiences: []string{"x", runnerapi.Audience}, User: whose}, 0},
		"it is for another audience": {authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: []string{"x"},
			User: whose}, http.StatusUnauthorized},
		"its audience is not known": {authenticationv1.TokenReviewStatus{Authenticated: true, User: whose},
			http.StatusUnauthorized},
		"it is not authenticated": {authenticationv1.TokenReviewStatus{Audiences: []string{runnerapi.Audience},
			User: whose}, http.StatusUnauthorized},
		"it is a user's": {authenticationv1.TokenReviewStatus{Authenticated: true,
			Audiences: []string{runnerapi.Audience}, User: human}, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			pod, err := podOf(test.status)
			if test.code == 0 {
				if want := (Pod{Namespace: "team", Name: "net-1-plan-1", UID: "u"}); err != nil || pod != want {
					t.Errorf("got %v, %v", pod, err)
				}
				return
			}
			if code, _ := httpapi.StatusOf(err); code != test.code || pod != (Pod{}) {
				t.Errorf("got %v, %d", pod, code)
			}
		})
	}
}
