package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/internal/server/httpapi"
)

// A client without a valid token sends another one with each request: each would be a request to the API server.
func TestInvalidTokensOfOneAddressAreLimited(t *testing.T) {
	now := time.Now()
	from := &asked{pod: func(token string) (Pod, error) {
		switch token {
		case "good", "new":
			return Pod{Name: "a"}, nil
		case "unknown":
			return Pod{}, errors.New("away")
		}
		return saysNo(token)
	}}
	tokens := NewPodAuthenticator(from, nil, func() time.Time { return now })
	send := func(from, token string) int {
		t.Helper()
		r := with(token)
		r.RemoteAddr = from
		_, err := tokens.Authenticate(r)
		if err == nil {
			return http.StatusOK
		}
		code, _ := httpapi.StatusOf(err)
		return code
	}
	const thief, neighbor = "[2001:db8::1]:1000", "[2001:db8::ffff]:2000" // one host can have both
	if code := send(thief, "good"); code != http.StatusOK {
		t.Fatal(code)
	}
	for i := range 1000 {
		want := http.StatusUnauthorized
		if i >= mostFailures {
			want = http.StatusTooManyRequests
		}
		if code := send(thief, fmt.Sprint(i)); code != want {
			t.Fatalf("token %d: %d, want %d", i, code, want)
		}
	}
	if n := from.n.Load(); n != mostFailures+1 {
		t.Errorf("%d reviews", n)
	}
	now = now.Add(trustFor) // with one failure each second, and it may send some again
	for _, c := range []struct {
		from, token string
		code        int
	}{{neighbor, "0", 401}, {"192.0.2.1:1", "new", 200}, {"[2001:db8:0:1::1]:1", "1", 401}} {
		if code := send(c.from, c.token); code != c.code {
			t.Errorf("%s from %s: %d, want %d", c.token, c.from, code, c.code)
		}
	}
	for i := range mostFailures {
		send(neighbor, fmt.Sprint("more", i))
	}
	for _, c := range []struct {
		token string
		code  int
	}{{"last", 429}, {"new", 200}, {"good", 200}} { // it was valid: its review is not one that only costs
		if code := send(thief, c.token); code != c.code {
			t.Errorf("%s: %d, want %d", c.token, code, c.code)
		}
	}
	now = now.Add(failureEvery)
	for i := range 3 * mostFailures {
		if code := send(thief, "unknown"); code != http.StatusServiceUnavailable {
			t.Fatalf("review %d that failed for another reason: %d", i, code)
		}
	}
	if first, second := send(thief, "x"), send(thief, "y"); first != 401 || second != 429 {
		t.Errorf("a second later: %d, then %d", first, second)
	}
}

func TestInvalidTokensOfUsersAreLimited(t *testing.T) {
	reviews := 0
	create := func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
		reviews++
		review := o.(*authenticationv1.TokenReview)
		review.Status.Authenticated, review.Status.User.Username = review.Spec.Token == "good", "alice"
		return nil
	}
	kube := interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{Create: create})
	users := newUserAuthenticator(kube, nil, nil)
	send := func(from, token string) int {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = from
		r.Header.Set("Authorization", "Bearer "+token)
		_, err := users.of(r)
		if err == nil {
			return http.StatusOK
		}
		code, _ := httpapi.StatusOf(err)
		return code
	}
	for i := range 1000 {
		send("192.0.2.1:1", fmt.Sprint(i))
	}
	if reviews > mostFailures+5 { // one more a second
		t.Errorf("%d reviews", reviews)
	}
	if code := send("192.0.2.1:2", "again"); code != http.StatusTooManyRequests {
		t.Errorf("one more: %d", code)
	}
	if code := send("192.0.2.2:1", "good"); code != http.StatusOK {
		t.Errorf("another address: %d", code)
	}
}
