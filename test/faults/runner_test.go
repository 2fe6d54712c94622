package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestRunnerRequestsHaveNames(t *testing.T) {
	for _, tt := range []struct{ method, path, body, want string }{
		{"GET", "/v1/order?after=3", "", "GET order"},
		{"GET", "/v1/sources/sha256:1", "", "GET sources"},
		{"PUT", "/v1/plan", "", "PUT plan"},
		{"PUT", "/v1/plan/sha256:1/document", "", "PUT plan/document"},
		{"LOCK", "/v1/state", "", "LOCK state"},
		{"POST", "/v1/steps", `{"steps":[{"name":"fetch","state":"Succeeded"},{"name":"init","state":"Running"},{"name":"plan","state":"Waiting"}]}`, "POST steps (init running)"},
		{"POST", "/v1/steps", `{"steps":[{"name":"fetch","state":"Failed"}],"done":{}}`, "POST steps (done)"},
	} {
		if got := what(httptest.NewRequest(tt.method, tt.path, nil), []byte(tt.body)); got != tt.want {
			t.Errorf("%s %s is named %q", tt.method, tt.path, got)
		}
	}
}

func TestPodIsReadFromToken(t *testing.T) {
	// {"kubernetes.io":{"pod":{"name":"net-1-plan-1"}}}
	r := httptest.NewRequest(http.MethodGet, "/v1/order", nil)
	r.Header.Set("Authorization", "Bearer x.eyJrdWJlcm5ldGVzLmlvIjp7InBvZCI6eyJuYW1lIjoibmV0LTEtcGxhbi0xIn19fQ.y")
	if got := podOf(r); got != "net-1-plan-1" {
		t.Errorf("it is %s", got)
	}
	r.Header.Set("Authorization", "Bearer x")
	if got := podOf(r); got != "unknown" {
		t.Errorf("without a token it is %s", got)
	}
}

func TestNumberOfChangesDoesNotCount(t *testing.T) {
	a := []ending{{Cloud: []string{"a map[], made 1, changed 0"}, Lock: "net-1"}}
	b := []ending{{Cloud: []string{"a map[], made 1, changed 2"}}}
	if !slices.Equal(unchanged(a)[0].Cloud, unchanged(b)[0].Cloud) || unchanged(a)[0].Lock != "" {
		t.Errorf("%v and %v", unchanged(a), unchanged(b))
	}
	if a[0].Lock == "" || !strings.Contains(a[0].Cloud[0], "changed") {
		t.Error("what it was given is not what it was")
	}
	if c := unchanged([]ending{{Cloud: []string{"a map[], made 2, changed 0"}}}); slices.Equal(c[0].Cloud,
		unchanged(a)[0].Cloud) {
		t.Error("how often it was made does not count")
	}
}

// Each step of a Run has a point: the names are those of the API's validation rules.
func TestEachStepHasAPoint(t *testing.T) {
	var asked []string
	for _, v := range visitsAt(func(request) bool { return true }) {
		asked = append(asked, v.What)
	}
	for step, at := range map[string]string{
		"fetch": "GET sources", "init": "GET providers", "plan": "PUT plan", "policy": "POST policy",
		"apply": "POST state", "outputs": "POST outputs",
	} {
		if !slices.Contains(asked, at) {
			t.Errorf("step %s has none: no runner requests %s", step, at)
		}
	}
}
