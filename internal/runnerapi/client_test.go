package runnerapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// newClient gives a Client for a server that answers as told, and the file with its token.
func newClient(t *testing.T, patience time.Duration, answer http.HandlerFunc) (*Client, string) {
	t.Helper()
	server := httptest.NewUnstartedServer(answer)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(ClientOptions{
		URL: server.URL, TokenFile: token, Patience: patience,
		CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, token
}

func TestEveryRequestCarriesTheTokenAsItIsNow(t *testing.T) {
	var got []string
	c, token := newClient(t, 0, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Proto+" "+r.Header.Get("Authorization")+" "+r.Header.Get(AttemptHeader))
		fmt.Fprint(w, `{"kind":"Wait"}`)
	})
	if _, err := c.Order(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(token, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.For(7, 0).Order(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	if want := "HTTP/2.0 Bearer one |HTTP/2.0 Bearer two 7"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEveryRequestHasTheKeyOfTheSession, the same in all attempts of a pod, and another one in each process.
func TestEveryRequestHasTheKeyOfTheSession(t *testing.T) {
	var keys []string
	record := func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get(SessionHeader))
		w.Header().Set(ReasonHeader, ReasonOtherSession)
		w.WriteHeader(http.StatusForbidden)
	}
	first, _ := newClient(t, 0, record)
	second, _ := newClient(t, 0, record)
	for _, c := range []*Client{first, first.For(7, 0), second} {
		_, err := c.Order(t.Context(), 0)
		if rejected, ok := errors.AsType[*Error](err); !ok || rejected.Reason != ReasonOtherSession {
			t.Errorf("%v", err)
		}
	}
	if len(keys[0]) < 26 || keys[0] != keys[1] || keys[0] == keys[2] {
		t.Error(keys)
	}
}

func TestOnlyTheGivenAuthorityIsTrusted(t *testing.T) {
	c, _ := newClient(t, 0, func(http.ResponseWriter, *http.Request) {})
	other, _ := newClient(t, 0, func(http.ResponseWriter, *http.Request) {})
	c.http.Transport.(*http.Transport).TLSClientConfig.RootCAs = nil // those of the system
	if err := c.Report(t.Context(), Report{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v", err)
	}
	if err := other.Report(t.Context(), Report{}); err != nil {
		t.Error(err)
	}
	for _, o := range []ClientOptions{{URL: "http://x"}, {URL: "https://x", CA: []byte("none")}, {URL: "https://"}} {
		if _, err := NewClient(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

func TestAStoreThatIsAwayIsTriedAgain(t *testing.T) {
	var tries atomic.Int32
	c, _ := newClient(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch tries.Add(1) {
		case 1:
			http.Error(w, "later", http.StatusServiceUnavailable)
		case 2:
			http.Error(w, "slower", http.StatusTooManyRequests)
		case 3:
			panic(http.ErrAbortHandler) // the connection breaks
		default:
			fmt.Fprintf(w, `{"digest":%q}`, body)
		}
	})
	kept, err := c.PutPlan(t.Context(), strings.NewReader("the whole plan"), 14)
	if err != nil || kept.Digest != "the whole plan" || tries.Load() != 4 {
		t.Errorf("%+v, %v, after %d tries", kept, err, tries.Load())
	}
}

func TestADownloadThatBreaksBeginsAnew(t *testing.T) {
	var tries atomic.Int32
	c, _ := newClient(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) == 1 {
			fmt.Fprint(w, strings.Repeat("broken", 1000))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "whole")
	})
	file, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := c.Source(t.Context(), "sha256:x", file, 10000); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(file.Name()); string(data) != "whole" {
		t.Errorf("%q", data)
	}
	if err := c.Plan(t.Context(), "sha256:x", file, 4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestARefusalIsFinal(t *testing.T) {
	var tries atomic.Int32
	c, _ := newClient(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		tries.Add(1)
		http.Error(w, "held by x", http.StatusLocked)
	})
	_, err := c.State(t.Context(), "LOCK", "", []byte("{}"))
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != 423 || refused.Message != "held by x" || tries.Load() != 1 ||
		Code(err) != 423 {
		t.Errorf("%v after %d tries", err, tries.Load())
	}
}

// TestATokenThatExpiredIsWaitedFor until the kubelet has renewed it, and no other that is refused.
func TestATokenThatExpiredIsWaitedFor(t *testing.T) {
	token := func(expires time.Time) string {
		claims := fmt.Sprintf(`{"exp":%d,"sub":"system:serviceaccount:prod:net"}`, expires.Unix())
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	}
	expired, good := token(time.Now().Add(-time.Minute)), token(time.Now().Add(time.Hour))
	var refused string
	var file string
	var tries atomic.Int32
	c, file := newClient(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) == 3 { // the kubelet is back
			_ = os.WriteFile(file, []byte(good), 0o600)
		}
		if strings.HasSuffix(r.Header.Get("Authorization"), refused) {
			http.Error(w, "the token is not valid", http.StatusUnauthorized)
			return
		}
	})
	for _, test := range []struct {
		first, refused string
		code           int
		tries          int32
	}{
		{expired, expired, 0, 4},
		{good, good, http.StatusUnauthorized, 1},
		{"a.b.c", "a.b.c", http.StatusUnauthorized, 1},
		{"opaque", "opaque", http.StatusUnauthorized, 1},
	} {
		refused = test.refused
		tries.Store(0)
		if err := os.WriteFile(file, []byte(test.first), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.State(t.Context(), http.MethodPost, "", []byte("{}")); Code(err) != test.code ||
			tries.Load() != test.tries {
			t.Errorf("%s: %v after %d tries", test.first, err, tries.Load())
		}
	}
}

func TestPatienceEnds(t *testing.T) {
	c, _ := newClient(t, 300*time.Millisecond, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "later", http.StatusBadGateway)
	})
	begin := time.Now()
	if _, err := c.Rescue(t.Context(), "", []byte("x")); Code(err) != 502 {
		t.Errorf("%v", err)
	}
	if took := time.Since(begin); took > 50*time.Second {
		t.Errorf("took %s", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin = time.Now()
	if _, err := c.For(1, time.Minute).Rescue(ctx, "", []byte("x")); err == nil || time.Since(begin) > 50*time.Second {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	c, _ := newClient(t, 0, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/order" {
			t.Error("the redirect was followed")
		}
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	if _, err := c.Order(t.Context(), 0); Code(err) != http.StatusTemporaryRedirect {
		t.Errorf("%v", err)
	}
}

func TestTheLogGoesOnWhereTheStoreWants(t *testing.T) {
	c, _ := newClient(t, 0, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("offset") {
		case "0":
			w.WriteHeader(http.StatusNoContent)
		case "3":
			http.Error(w, "17", http.StatusConflict)
		default:
			http.Error(w, "nonsense", http.StatusConflict)
		}
	})
	for _, test := range []struct {
		offset, next int64
		code         int
	}{{0, 3, 0}, {3, 17, 0}, {9, 12, 409}} {
		next, err := c.AppendLog(t.Context(), test.offset, []byte("abc"))
		if next != test.next || Code(err) != test.code {
			t.Errorf("at %d: %d, %v", test.offset, next, err)
		}
	}
}

func TestWhatIsSent(t *testing.T) {
	var got string
	c, _ := newClient(t, 0, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.RequestURI() + " " + string(body)
		fmt.Fprint(w, `{"kind":"Exit"}`)
	})
	for want, send := range map[string]func() error{
		"GET /v1/order?after=3 ": func() error { _, err := c.Order(t.Context(), 3); return err },
		"POST /v1/state?ID=l {}": func() error {
			_, err := c.State(t.Context(), "POST", "l", []byte("{}"))
			return err
		},
		"UNLOCK /v1/state {}": func() error { _, err := c.State(t.Context(), "UNLOCK", "", []byte("{}")); return err },
		"PUT /v1/plan/sha256:1/document {}": func() error {
			return c.PutPlanDocument(t.Context(), "sha256:1", strings.NewReader("{}"), 2)
		},
		"POST /v1/policy/sha256:1 ": func() error {
			_, err := c.CheckPolicy(t.Context(), "sha256:1")
			return err
		},
		"GET /v1/interrupt ": func() error { _, err := c.Interrupt(t.Context()); return err },
		"PUT /v1/rescue?base=sha256%3A1 state": func() error {
			_, err := c.Rescue(t.Context(), "sha256:1", []byte("state"))
			return err
		},
		"POST /v1/outputs {}": func() error { return c.WriteOutputs(t.Context(), nil) },
		`POST /v1/steps {"steps":null}`: func() error {
			return c.Report(t.Context(), Report{})
		},
		"GET /v1/outputs/vpc/a%2Fb%20%C3%A4 ": func() error {
			_, err := c.StackOutput(t.Context(), "vpc", "a/b ä")
			return err
		},
		`PUT /v1/inputs {"files":{"a":"Yg=="}}`: func() error {
			return c.PutInputs(t.Context(), InputsKept{Files: map[string][]byte{"a": []byte("b")}})
		},
		`POST /v1/outputs {"a":{"value":1,"sensitive":true}}`: func() error {
			return c.WriteOutputs(t.Context(), Outputs{"a": {Value: json.RawMessage("1"), Sensitive: true}})
		},
	} {
		if err := send(); err != nil || got != want {
			t.Errorf("got %q, want %q, %v", got, want, err)
		}
	}
}

func TestAnInterruptIsToldOrNot(t *testing.T) {
	for name, test := range map[string]struct {
		code int
		text string
		want *Interrupt
		err  bool
	}{
		"not yet":        {http.StatusNoContent, "", nil, false},
		"now":            {http.StatusOK, `{"reason":"canceled by bob"}`, &Interrupt{Reason: "canceled by bob"}, false},
		"nonsense":       {http.StatusOK, "<html>", nil, true},
		"not the server": {http.StatusNotFound, "no", nil, true},
	} {
		c, _ := newClient(t, 0, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.code)
			fmt.Fprint(w, test.text)
		})
		got, err := c.Interrupt(t.Context())
		if (err != nil) != test.err || (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestTheJSONOfAPlanReplacesWhatTheFileHeld(t *testing.T) {
	c, _ := newClient(t, 0, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/plan/sha256:1/json" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "Plan: 1 to add")
	})
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fmt.Fprint(file, "what was there, and is longer")
	if err := c.PlanJSON(t.Context(), "sha256:1", file); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(file.Name()); string(data) != "Plan: 1 to add" {
		t.Errorf("%q", data)
	}
	if err := c.PlanJSON(t.Context(), "sha256:2", file); Code(err) != http.StatusNotFound {
		t.Errorf("%v", err)
	}
}
