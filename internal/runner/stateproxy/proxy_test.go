package stateproxy

import (
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/engine/redact"
)

// newProxy starts a proxy to a server, and returns how an engine sends it a request.
func newProxy(t *testing.T) (*stateServer, *Proxy, func(method, query, body string, password ...string) (int, string)) {
	t.Helper()
	s, client := newServer(t)
	p, err := Start(t.Context(), client, redact.New(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return s, p, func(method, query, body string, password ...string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), method, p.address+query, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth(user, append(password, p.password)[0])
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

func TestProxyIsOnlyForItsEngine(t *testing.T) {
	s, _, ask := newProxy(t)
	if code, _ := ask("GET", "", "", "guess"); code != 401 {
		t.Errorf("%d", code)
	}
	if code, _ := ask("PATCH", "", ""); code != 405 {
		t.Errorf("%d", code)
	}
	if len(s.requests) != 0 {
		t.Errorf("the server was asked: %v", s.requests)
	}
}

// A state that another engine could not write would not be rescued.
func TestOnlyTheApplyWritesTheState(t *testing.T) {
	s, p, ask := newProxy(t)
	refused := func() {
		t.Helper()
		for method, want := range map[string]string{"LOCK": "{\"ID\":\"hooks read the state, they do not write it\"}\n",
			"POST": ReadOnly, "DELETE": ReadOnly} {
			if code, text := ask(method, "?ID=mine", `{"ID":"mine"}`); code != 409 || text != want {
				t.Errorf("%s: %d %q", method, code, text)
			}
		}
		if p.History().Undelivered != nil || p.History().Rejection != "" {
			t.Errorf("%s, %s", p.History().Undelivered, p.History().Rejection)
		}
	}
	refused()
	if len(s.requests) != 0 {
		t.Errorf("the server was asked: %v", s.requests)
	}
	p.AllowWrites(true)
	if code, _ := ask("LOCK", "", `{"ID":"mine"}`); code != 200 {
		t.Errorf("%d", code)
	}
	p.AllowWrites(false)
	refused()
	if code, _ := ask("GET", "", ""); code != 404 {
		t.Errorf("%d", code)
	}
	if code, _ := ask("UNLOCK", "", `{"ID":"mine"}`); code != 200 || s.lock != nil {
		t.Errorf("%d, lock %s", code, s.lock)
	}
}

// An engine has saved the state when it wrote it under the lock that it released.
func TestProxyRecordsWhetherTheStateIsSaved(t *testing.T) {
	_, p, ask := newProxy(t)
	p.AllowWrites(true)
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
		if got := p.History().Finished(); got != step.want {
			t.Errorf("%d, %s: %v", i, step.method, got)
		}
	}
}

func TestProxyRemembersStates(t *testing.T) {
	const first, second, third = `{"serial":1,"lineage":"l","outputs":{"a":{"value":"canary-one","sensitive":true}}}`,
		`{"serial":2,"lineage":"l"}`, `{"serial":3,"lineage":"l"}`
	s, p, ask := newProxy(t)
	p.AllowWrites(true)
	expect := func(wantCode int, wantText, method, query, body string) {
		t.Helper()
		if code, text := ask(method, query, body); code != wantCode || text != wantText {
			t.Errorf("%s %s: %d %q", method, query, code, text)
		}
	}
	expect(404, "404 page not found", "GET", "", "")
	if state, err := p.History().State(); err != nil || state.Serial != 0 {
		t.Errorf("%+v, %v", state, err)
	}
	expect(200, "", "LOCK", "", `{"ID":"mine"}`)
	expect(423, `{"ID":"mine"}`, "LOCK", "", `{"ID":"yours"}`)
	expect(200, "", "POST", "?ID=mine", first)
	if state, err := p.History().State(); err != nil || state.Serial != 1 ||
		p.secrets.String("canary-one") != redact.Mask {
		t.Errorf("%+v, %v", state, err)
	}
	expect(423, `{"ID":"mine"}`, "POST", "?ID=yours", second)
	if state, _ := p.History().State(); string(p.History().Undelivered) != second || state.Serial != 1 ||
		!strings.Contains(p.History().Rejection, "state not written: the server answered 423") {
		t.Errorf("%s, %+v, %s", p.History().Undelivered, state, p.History().Rejection)
	}
	expect(409, "serial 1 of l is there", "POST", "?ID=mine", first)
	expect(200, "", "POST", "?ID=mine", third)
	if state, _ := p.History().State(); p.History().Undelivered != nil || state.Serial != 3 ||
		p.History().Rejection != "" {
		t.Errorf("%s, %+v, %s", p.History().Undelivered, state, p.History().Rejection)
	}
	expect(200, third, "GET", "", "")
	expect(200, "", "UNLOCK", "", `{"ID":"mine"}`)
	expect(423, "", "UNLOCK", "", `{"ID":"mine"}`)
	if !strings.Contains(p.History().Rejection, "lock not released") {
		t.Error(p.History().Rejection)
	}
	s.server.Close()
	if code, _ := ask("POST", "?ID=mine", third); code != 502 || string(p.History().Undelivered) != third {
		t.Errorf("%d, %s", code, p.History().Undelivered)
	}
}

// The engine reads some states without the server.
func TestReadsUnderTheLock(t *testing.T) {
	const planned, other, next = `{"serial":1,"lineage":"l"}`, `{"serial":2,"lineage":"l"}`,
		`{"serial":3,"lineage":"l"}`
	for name, test := range map[string]struct {
		state string
		steps []string // what the engine sends: GET, or a state to write
		want  []string // what the server receives
	}{
		"the planned state": {planned, []string{"LOCK", "GET"}, []string{"LOCK"}},
		"another one":       {other, []string{"LOCK", "GET"}, []string{"LOCK", "GET"}},
		"what was written":  {other, []string{"LOCK", next, "GET"}, []string{"LOCK", "POST"}},
		"not after an unknown write": {planned, []string{"LOCK", "rejected", "GET"},
			[]string{"LOCK", "POST", "GET"}},
		"not without the lock": {planned, []string{"GET", "LOCK", "UNLOCK", "GET"},
			[]string{"GET", "LOCK", "UNLOCK", "GET"}},
		"not what was read unlocked": {other, []string{"GET", "LOCK", "GET"}, []string{"GET", "LOCK", "GET"}},
		"the planned state, locked again": {planned, []string{"LOCK", "UNLOCK", "LOCK", "GET"},
			[]string{"LOCK", "UNLOCK", "LOCK"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, p, ask := newProxy(t)
			p.AllowWrites(true)
			p.ExpectPlanned([]byte(planned))
			s.state, s.namesBase = []byte(test.state), true
			for _, step := range test.steps {
				method, body := step, `{"ID":"mine"}`
				if step == "rejected" || step[0] == '{' {
					method, body = http.MethodPost, step
				}
				code, text := ask(method, "?ID=mine", body)
				if method == http.MethodGet && (code != 200 || text != string(s.state)) {
					t.Errorf("the engine read %d %q", code, text)
				}
			}
			var got []string
			for _, r := range s.requests {
				method, _, _ := strings.Cut(r, " ")
				got = append(got, method)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the server received %v, want %v", got, test.want)
			}
		})
	}
}

func TestProxyRecordsTheSecretsOfAState(t *testing.T) {
	secrets := redact.New()
	(&Proxy{secrets: secrets}).learn([]byte(`{"serial":1,"lineage":"x",
		"outputs":{"a":{"value":"output-canary","sensitive":true},"b":{"value":"eu-west-six"}},
		"resources":[{"instances":[{"attributes":{"password":"attribute-canary","name":"eu-west-ten"},
		"sensitive_attributes":[[{"type":"get_attr","value":"password"}]]}]}]}`))
	for text, want := range map[string]bool{
		"output-canary": true, "attribute-canary": true, "eu-west-six": false, "eu-west-ten": false,
	} {
		if secrets.Hides(text) != want {
			t.Errorf("%s: hidden is %v", text, !want)
		}
	}
}
