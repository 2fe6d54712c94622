package runner

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/redact"
	"cairn.dev/cairn/internal/store"
)

// newProxy gives a proxy to a store, and how to ask it as the engine does.
func newProxy(t *testing.T, s *testStore) (*proxy, func(method, query, body string, password ...string) (int, string)) {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(testToken), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := store.NewClient(store.ClientOptions{URL: s.server.URL, CA: s.ca(), TokenFile: token, Patience: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	p, err := startProxy(t.Context(), client.For(1, 200*time.Millisecond), redact.New(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	s.attempt = 1
	return p, func(method, query, body string, password ...string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), method, p.address+query, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth(proxyUser, append(password, p.password)[0])
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
}

func TestTheProxyIsOnlyForItsEngine(t *testing.T) {
	s := newTestStore(t)
	_, ask := newProxy(t, s)
	if code, _ := ask("GET", "", "", "guess"); code != 401 {
		t.Errorf("%d", code)
	}
	if code, _ := ask("PATCH", "", ""); code != 405 {
		t.Errorf("%d", code)
	}
	if len(s.requests) != 0 {
		t.Errorf("the store was asked: %v", s.requests)
	}
}

// TestOnlyTheApplyWritesTheState: what another engine could not write nobody would rescue.
func TestOnlyTheApplyWritesTheState(t *testing.T) {
	s := newTestStore(t)
	p, ask := newProxy(t, s)
	refused := func() {
		t.Helper()
		for method, want := range map[string]string{"LOCK": "{\"ID\":\"hooks read the state, they do not write it\"}\n", "POST": readOnly, "DELETE": readOnly} {
			if code, text := ask(method, "?ID=mine", `{"ID":"mine"}`); code != 409 || text != want {
				t.Errorf("%s: %d %q", method, code, text)
			}
		}
		if p.undelivered() != nil || p.refused() != "" {
			t.Errorf("%s, %s", p.undelivered(), p.refused())
		}
	}
	refused()
	if len(s.requests) != 0 {
		t.Errorf("the store was asked: %v", s.requests)
	}
	p.open(true)
	if code, _ := ask("LOCK", "", `{"ID":"mine"}`); code != 200 {
		t.Errorf("%d", code)
	}
	p.open(false)
	refused()
	if code, _ := ask("GET", "", ""); code != 404 {
		t.Errorf("%d", code)
	}
	if code, _ := ask("UNLOCK", "", `{"ID":"mine"}`); code != 200 || s.lock != nil {
		t.Errorf("%d, lock %s", code, s.lock)
	}
}

// TestTheProxyKnowsWhatIsFinished: an engine that wrote the state under the lock that it gave back.
func TestTheProxyKnowsWhatIsFinished(t *testing.T) {
	s := newTestStore(t)
	p, ask := newProxy(t, s)
	p.open(true)
	const lock = `{"ID":"mine"}`
	for i, step := range []struct {
		method, body string
		want         bool
	}{
		{"LOCK", lock, false}, {"UNLOCK", lock, false}, // it wrote nothing
		{"LOCK", lock, false}, {"POST", `{"serial":1,"lineage":"l"}`, false}, {"UNLOCK", lock, true},
		{"LOCK", lock, false}, {"UNLOCK", lock, false}, // what was written before proves nothing
		{"LOCK", lock, false}, {"POST", `{"serial":1,"lineage":"l"}`, false}, {"UNLOCK", lock, false}, // it was refused
	} {
		ask(step.method, "?ID=mine", step.body)
		if got := p.finished(); got != step.want {
			t.Errorf("%d, %s: %v", i, step.method, got)
		}
	}
}

func TestTheProxyRemembersStates(t *testing.T) {
	const first, second, third = `{"serial":1,"lineage":"l","outputs":{"a":{"value":"canary-one","sensitive":true}}}`, `{"serial":2,"lineage":"l"}`, `{"serial":3,"lineage":"l"}`
	s := newTestStore(t)
	p, ask := newProxy(t, s)
	p.open(true)
	expect := func(wantCode int, wantText, method, query, body string) {
		t.Helper()
		if code, text := ask(method, query, body); code != wantCode || text != wantText {
			t.Errorf("%s %s: %d %q", method, query, code, text)
		}
	}
	expect(404, "404 page not found", "GET", "", "")
	if state, err := p.state(); err != nil || state.Serial != 0 {
		t.Errorf("%+v, %v", state, err)
	}
	expect(200, "", "LOCK", "", `{"ID":"mine"}`)
	expect(423, `{"ID":"mine"}`, "LOCK", "", `{"ID":"yours"}`)
	expect(200, "", "POST", "?ID=mine", first)
	if state, err := p.state(); err != nil || state.Serial != 1 || p.secrets.String("canary-one") != redact.Mask {
		t.Errorf("%+v, %v", state, err)
	}
	expect(423, `{"ID":"mine"}`, "POST", "?ID=yours", second)
	if state, _ := p.state(); string(p.undelivered()) != second || state.Serial != 1 || !strings.Contains(p.refused(), "state not written: the store answered 423") {
		t.Errorf("%s, %+v, %s", p.undelivered(), state, p.refused())
	}
	expect(409, "serial 1 of l is there", "POST", "?ID=mine", first)
	expect(200, "", "POST", "?ID=mine", third)
	if state, _ := p.state(); p.undelivered() != nil || state.Serial != 3 || p.refused() != "" {
		t.Errorf("%s, %+v, %s", p.undelivered(), state, p.refused())
	}
	expect(200, third, "GET", "", "")
	expect(200, "", "UNLOCK", "", `{"ID":"mine"}`)
	expect(423, "", "UNLOCK", "", `{"ID":"mine"}`)
	if !strings.Contains(p.refused(), "lock not given back") {
		t.Error(p.refused())
	}
	s.server.Close()
	if code, _ := ask("POST", "?ID=mine", third); code != 502 || string(p.undelivered()) != third {
		t.Errorf("%d, %s", code, p.undelivered())
	}
}
