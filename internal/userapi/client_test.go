package userapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine/plan"
)

// asked is what a server was asked.
type asked struct{ Line, Body string }

// serving returns the same response to each request, and records the requests.
func serving(t *testing.T, code int, answer string) (*Client, *[]asked) {
	t.Helper()
	got := &[]asked{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*got = append(*got, asked{r.Method + " " + r.RequestURI, string(body)})
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return New(s.URL+"/", http.DefaultTransport), got
}

func TestClientSendsTheDocumentedRequests(t *testing.T) {
	view, err := json.Marshal(plan.View{Changes: []plan.Change{{Address: "a.b", Action: plan.Delete}}})
	if err != nil {
		t.Fatal(err)
	}
	const version = `{"version": 4, "serial": 9, "resources": 2}`
	tests := map[string]struct {
		ask    func(*Client) (any, error)
		answer string
		want   asked
		gets   any
	}{
		"me": {func(c *Client) (any, error) { return c.Me(t.Context()) },
			`{"name": "alice"}`, asked{"GET /api/v1/me", ""}, Me{Name: "alice"}},
		"build": {func(c *Client) (any, error) { return c.Build(t.Context()) },
			`{"version": "v1.2.3"}`, asked{"GET /api/v1/version", ""}, Build{Version: "v1.2.3"}},
		"plan": {func(c *Client) (any, error) { return c.Plan(t.Context(), "web", "net-7") },
			string(view), asked{"GET /api/v1/namespaces/web/runs/net-7/plan?format=view", ""},
			plan.View{Changes: []plan.Change{{Address: "a.b", Action: plan.Delete}}}},
		"plan as text": {func(c *Client) (any, error) {
			return read(c.PlanForm(t.Context(), "web", "net-7", FormText))
		},
			"Plan: 3 to add", asked{"GET /api/v1/namespaces/web/runs/net-7/plan?format=text", ""}, "Plan: 3 to add"},
		"plan as JSON": {func(c *Client) (any, error) {
			return read(c.PlanForm(t.Context(), "web", "net-7", FormJSON))
		},
			"{}", asked{"GET /api/v1/namespaces/web/runs/net-7/plan?format=json", ""}, "{}"},
		"all logs": {func(c *Client) (any, error) { return read(c.Logs(t.Context(), "web", "net-7", LogOptions{})) },
			"text", asked{"GET /api/v1/namespaces/web/runs/net-7/logs", ""}, "text"},
		"a log from an offset": {func(c *Client) (any, error) {
			return read(c.Logs(t.Context(), "web", "net-7", LogOptions{Attempt: 2, Offset: 10, Follow: true}))
		}, "text", asked{"GET /api/v1/namespaces/web/runs/net-7/logs?attempt=2&follow=true&offset=10", ""}, "text"},
		"the current state": {func(c *Client) (any, error) { return c.State(t.Context(), "web", "net", 0) },
			"{}", asked{"GET /api/v1/namespaces/web/states/net/versions/current", ""}, []byte("{}")},
		"a version of a state": {func(c *Client) (any, error) { return c.State(t.Context(), "web", "net", 3) },
			"{}", asked{"GET /api/v1/namespaces/web/states/net/versions/3", ""}, []byte("{}")},
		"the journal of a state": {func(c *Client) (any, error) { return c.Journal(t.Context(), "web", "net") },
			`{"resources":[{"address":"a.b","standing":"Missing"}]}`,
			asked{"GET /api/v1/namespaces/web/states/net/journal", ""},
			Journal{[]JournalResource{{Address: "a.b", Standing: "Missing"}}}},
		"resources": {func(c *Client) (any, error) { return c.Resources(t.Context(), "", url.Values{"type": {"a"}}) },
			`{"items":[{"address":"a.b"}],"total":1,"missing":{"pending":2}}`,
			asked{"GET /api/v1/resources?type=a", ""},
			Resources{Page[Resource]{Items: []Resource{{Address: "a.b"}}, Total: 1}, MissingResources{Pending: 2}}},
		"resources of a namespace": {func(c *Client) (any, error) { return c.Resources(t.Context(), "web", nil) },
			`{}`, asked{"GET /api/v1/namespaces/web/resources", ""}, Resources{}},
		"push": {func(c *Client) (any, error) { return c.PushState(t.Context(), "web", "net", []byte("{s}"), false) },
			version, asked{"POST /api/v1/namespaces/web/states/net/versions", "{s}"}, StateVersion{4, 9, 2}},
		"push by force": {func(c *Client) (any, error) {
			return c.PushState(t.Context(), "web", "net", []byte("{s}"), true)
		},
			version, asked{"POST /api/v1/namespaces/web/states/net/versions?force=true", "{s}"}, StateVersion{4, 9, 2}},
		"rollback": {func(c *Client) (any, error) { return c.Rollback(t.Context(), "web", "net", 3) },
			version, asked{"POST /api/v1/namespaces/web/states/net/rollback", `{"version":3}`}, StateVersion{4, 9, 2}},
		"restore": {func(c *Client) (any, error) { return c.RestoreState(t.Context(), "web", "net", true) },
			version, asked{"POST /api/v1/namespaces/web/states/net/restore", `{"forget":true}`}, StateVersion{4, 9, 2}},
		"rollback of what was shown": {func(c *Client) (any, error) {
			return c.At(5).Rollback(t.Context(), "web", "net", 3)
		},
			version, asked{"POST /api/v1/namespaces/web/states/net/rollback?current=5", `{"version":3}`},
			StateVersion{4, 9, 2}},
		"push over what was shown": {func(c *Client) (any, error) {
			return c.At(5).PushState(t.Context(), "web", "net", []byte("{s}"), true)
		},
			version, asked{"POST /api/v1/namespaces/web/states/net/versions?current=5&force=true", "{s}"},
			StateVersion{4, 9, 2}},
		"unlock": {func(c *Client) (any, error) { return nil, c.Unlock(t.Context(), "web", "net", "a") },
			"", asked{"POST /api/v1/namespaces/web/states/net/unlock", `{"id":"a"}`}, nil},
		"names that are none": {func(c *Client) (any, error) { return c.State(t.Context(), "web", "../x?y", 0) },
			"{}", asked{"GET /api/v1/namespaces/web/states/..%2Fx%3Fy/versions/current", ""}, []byte("{}")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, got := serving(t, http.StatusOK, test.answer)
			gets, err := test.ask(c)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]asked{test.want}, *got) + cmp.Diff(test.gets, gets); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func read(r io.ReadCloser, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return string(data), err
}

func TestErrorContainsTheServerMessage(t *testing.T) {
	c, _ := serving(t, http.StatusForbidden, "alice may not pull\n")
	_, err := c.State(t.Context(), "web", "net", 0)
	var no *Error
	if !errors.As(err, &no) || no.Code != http.StatusForbidden || err.Error() != "alice may not pull" {
		t.Errorf("got %v", err)
	}
	c, _ = serving(t, http.StatusBadGateway, "")
	if err := c.Unlock(t.Context(), "web", "net", "a"); err == nil ||
		err.Error() != "the server answered 502 Bad Gateway" {
		t.Errorf("got %v", err)
	}
}

func TestReadIsRetriedWhileTheServerIsNotReady(t *testing.T) {
	times := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if times++; times < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, "{}")
	}))
	defer s.Close()
	c := New(s.URL, http.DefaultTransport)
	if _, err := c.State(t.Context(), "web", "net", 0); err != nil || times != 3 {
		t.Errorf("asked %d times: %v", times, err)
	}
	times = 0
	if _, err := c.Rollback(t.Context(), "web", "net", 3); err == nil || times != 1 {
		t.Errorf("a write was sent %d times: %v", times, err)
	}
}

func TestClientDoesNotSendCredentialsAfterARedirect(t *testing.T) {
	elsewhere, got := serving(t, http.StatusOK, "{}")
	s := httptest.NewServer(http.RedirectHandler(elsewhere.base, http.StatusTemporaryRedirect))
	defer s.Close()
	if _, err := New(s.URL, http.DefaultTransport).State(t.Context(), "web", "net", 0); err == nil || len(*got) > 0 {
		t.Errorf("got %v, and elsewhere was asked %v", err, *got)
	}
}

func TestOnlyTheSealedStateOfALogIsSent(t *testing.T) {
	c, got := serving(t, http.StatusOK, `{"version": 1}`)
	sealed := "-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n-----END AGE ENCRYPTED FILE-----\n"
	if v, err := c.Recover(t.Context(), "web", "net", strings.NewReader("a secret\n"+sealed+"more\n")); err != nil ||
		v.Version != 1 {
		t.Fatal(v, err)
	}
	want := []asked{{"POST /api/v1/namespaces/web/states/net/recover", sealed}}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Error(diff)
	}
}

func TestTooLargeResponseIsRejected(t *testing.T) {
	c, _ := serving(t, http.StatusOK, strings.Repeat(" ", largestMessage+1))
	if _, err := c.Rollback(t.Context(), "web", "net", 1); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("got %v", err)
	}
}
