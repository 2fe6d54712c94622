//go:build envtest

package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/kinds/kindstest"
	"cairn.dev/cairn/internal/server"
	"cairn.dev/cairn/internal/server/listing"
	"cairn.dev/cairn/internal/server/userhandler"
	"cairn.dev/cairn/internal/userapi"
	"cairn.dev/cairn/test/apiserver"
)

// serveLists serves users with a catalog that the API server fills.
func (e *env) serveLists(change ...func(*server.Options)) *userServer {
	e.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	catalog, ended := listing.NewCatalog(), make(chan error, 1)
	catalog.Mirror(apiserver.Kube, nil)
	go func() { ended <- catalog.Start(ctx) }()
	e.Cleanup(func() { cancel(); <-ended })
	p := e.serveUsers(append(change, func(o *server.Options) { o.Catalog = catalog })...)
	p.eventually(func() bool { return catalog.CheckFilled() == nil })
	return p
}

// described checks that each response matches the OpenAPI description.
func described(t *testing.T, r *http.Request, answer *http.Response, body []byte) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(userhandler.OpenAPI)
	must(t, err)
	router, err := gorillamux.NewRouter(doc)
	must(t, err)
	route, in, err := router.FindRoute(&http.Request{Method: r.Method, URL: r.URL})
	if err == routers.ErrPathNotFound { //nolint:errorlint // it is returned as it is
		t.Fatalf("%s is not described", r.URL.Path)
	}
	must(t, err)
	must(t, openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: in, Route: route},
		Status:                 answer.StatusCode, Header: answer.Header, Body: io.NopCloser(bytes.NewReader(body)),
	}))
}

// get asks, and reads the answer into a value.
func get[T any](p *userServer, who shown, path string) (T, int) {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), http.MethodGet, p.base+path, nil)
	must(p.T, err)
	answer, err := p.transport(who).RoundTrip(r)
	must(p.T, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(p.T, err)
	described(p.T, r, answer, body)
	var v T
	if answer.StatusCode == http.StatusOK {
		must(p.T, json.Unmarshal(body, &v))
	}
	return v, answer.StatusCode
}

func names(page userapi.Page[userapi.Stack]) string {
	var all []string
	for _, row := range page.Items {
		all = append(all, row.Name)
	}
	return strings.Join(all, " ")
}

func TestUsersListObjectsThatTheirRolesAllow(t *testing.T) {
	e, other := newEnv(t), newEnv(t)
	p := e.serveLists()
	e.newStack("web")
	other.newStack("hidden")
	e.newRun(e.stack, "net-1")
	user, who := e.account("alice")
	stranger, unknown := e.account("stranger")
	e.allow(user, may("list", "stacks"), may("get", "stacks", "web"), may("list", "runs"))
	everyone, all := other.account("root")
	e.allowEverywhere(everyone, may("list", "stacks"))
	_ = stranger

	// Until what was made is there, and the roles are known.
	p.eventually(func() bool {
		page, _ := get[userapi.Page[userapi.Stack]](p, who, "/api/v1/stacks")
		return page.Total == 2
	})
	if page, _ := get[userapi.Page[userapi.Stack]](p, who, "/api/v1/stacks?sort=-name"); names(page) != "web net" {
		t.Errorf("alice sees %s", names(page))
	}
	if page, _ := get[userapi.Page[userapi.Stack]](p, who, "/api/v1/namespaces/"+e.namespace+"/stacks?q=WE"); names(
		page) != "web" {
		t.Errorf("a search finds %s", names(page))
	}
	p.eventually(func() bool { // the catalog has one watch for Runs and another for Stacks
		page, _ := get[userapi.Page[userapi.Run]](p, who, "/api/v1/runs?stack=net&phase=Queued&phase=")
		return page.Total == 1
	})
	p.eventually(func() bool {
		page, _ := get[userapi.Page[userapi.Stack]](p, all, "/api/v1/stacks?limit=500")
		return strings.Contains(names(page), "hidden") && strings.Contains(names(page), "web")
	})
	byNamespace, _ := get[userapi.Page[userapi.Stack]](p, who, "/api/v1/stacks?facet=namespace&group=namespace")
	if diff := cmp.Diff([]userapi.Facet{
		{Field: "namespace", Values: []userapi.FacetValue{{Value: e.namespace, Count: 2}}}},
		byNamespace.Facets); diff != "" {
		t.Errorf("the values are not those of Stacks that alice may list: %s", diff)
	}
	if diff := cmp.Diff([]userapi.Group{{Value: e.namespace, Count: 2, Rows: 2}}, byNamespace.Groups); diff != "" {
		t.Errorf("the groups are not those of Stacks that alice may list: %s", diff)
	}
	detail, code := get[userapi.Detail[userapi.Stack, v1alpha1.Stack]](p, who, "/api/v1/namespaces/"+e.namespace+
		"/stacks/web")
	if code != http.StatusOK || detail.Row.Name != "web" || detail.Object.UID == "" {
		t.Errorf("%d, %+v", code, detail)
	}
	if me, _ := get[userapi.Me](p, who, "/api/v1/me"); me.Name != user {
		t.Errorf("alice is %+v", me)
	}
	if a, _ := get[userapi.Activity](p, who, "/api/v1/activity?since=24h&step=1h"); len(a.Steps) != 24 {
		t.Errorf("%d hours have %d steps", 24, len(a.Steps))
	}
	for path, want := range map[string]int{
		"/api/v1/namespaces/" + other.namespace + "/stacks": http.StatusForbidden,
		"/api/v1/namespaces/" + e.namespace + "/stacks/net": http.StatusForbidden,
		"/api/v1/stacks?shade=red":                          http.StatusBadRequest,
		"/api/v1/activity?step=1ms&since=9000h":             http.StatusBadRequest,
		"/api/v1/namespaces/" + e.namespace + "/runs/net-1": http.StatusForbidden,
	} {
		if _, code := get[struct{}](p, who, path); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
	if _, code := get[struct{}](p, unknown, "/api/v1/stacks"); code != http.StatusForbidden {
		t.Errorf("who may list nothing gets %d", code)
	}
	if _, code := get[struct{}](p, shown{}, "/api/v1/stacks"); code != http.StatusUnauthorized {
		t.Errorf("a request without a user gets %d", code)
	}
	if _, code := get[struct{}](p, shown{}, "/api/v1/openapi.json"); code != http.StatusOK {
		t.Errorf("the description: %d", code)
	}
}

// TestListOfANamespaceWithoutObjects checks that a user of one namespace gets an empty list of what only others have,
// and that no error names a namespace that the user did not name.
func TestListOfANamespaceWithoutObjects(t *testing.T) {
	e, other := newEnv(t), newEnv(t)
	p := e.serveLists()
	e.newRun(e.stack, "net-1")
	other.newStack("staging")
	user, who := other.account("alice")
	other.allow(user, may("list", "stacks"), may("list", "runs"))
	_, stranger := other.account("stranger")
	p.eventually(func() bool {
		page, _ := get[userapi.Page[userapi.Stack]](p, who, "/api/v1/stacks?q=staging")
		return page.Total == 1
	})
	if page, code := get[userapi.Page[userapi.Run]](p, who, "/api/v1/runs"); code != http.StatusOK || page.Total != 0 {
		t.Errorf("the list of Runs has code %d and %d rows", code, page.Total)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.base+"/api/v1/runs", nil)
	must(t, err)
	answer, err := p.transport(stranger).RoundTrip(r)
	must(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	if answer.StatusCode != http.StatusForbidden || bytes.Contains(body, []byte(e.namespace)) {
		t.Errorf("code %d: %s", answer.StatusCode, body)
	}
}

// A kind is listed, filtered, watched and shown once it is registered, without other code.
func TestRegisteredKindIsServed(t *testing.T) {
	kindstest.Register(t)
	e := newEnv(t)
	p := e.serveLists()
	user, who := e.account("alice")
	e.allow(user, may("list", "configmaps"), may("get", "configmaps"))
	yes := true
	for name, immutable := range map[string]*bool{"fixed": &yes, "free": nil} {
		must(t, apiserver.Kube.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name}, Immutable: immutable,
			Data: map[string]string{"a": "b"},
		}))
	}
	answer := func(path string, into any) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.base+path, nil)
		must(t, err)
		answer, err := p.transport(who).RoundTrip(r)
		must(t, err)
		defer answer.Body.Close()
		must(t, json.NewDecoder(answer.Body).Decode(into))
		return answer.StatusCode
	}
	p.eventually(func() bool {
		var page userapi.Page[kindstest.Row]
		answer("/api/v1/configmaps?immutable=true", &page)
		return len(page.Items) == 1 && page.Items[0].Name == "fixed" && page.Items[0].Keys == 1
	})
	at := "/api/v1/namespaces/" + e.namespace + "/configmaps/"
	var detail userapi.Detail[kindstest.Row, corev1.ConfigMap]
	if code := answer(at+"free", &detail); code != http.StatusOK || detail.Row.Immutable ||
		detail.Object.Data["a"] != "b" {
		t.Errorf("%d, %+v", code, detail)
	}
	var events userapi.Events
	if code := answer(at+"free/events", &events); code != http.StatusOK {
		t.Errorf("events: %d", code)
	}
	s := p.stream(who, "/api/v1/changes", "")
	defer s.close()
	if event, data := s.next(); event != "hello" {
		t.Fatalf("%s %s", event, data)
	}
	must(t, apiserver.Kube.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: detail.Object.ObjectMeta}))
	want := userapi.Change{Kind: "ConfigMap", Namespace: e.namespace, Name: "free", Deleted: true}
	var c userapi.Change
	for c != want {
		_, data := s.next()
		must(t, json.Unmarshal([]byte(data), &c))
	}
}

func TestUsersListPullRequestsThatTheirRolesAllow(t *testing.T) {
	e, other := newEnv(t), newEnv(t)
	p := e.serveLists()
	user, who := e.account("alice")
	_, unknown := e.account("stranger")
	e.allow(user, may("list", "pullrequests"), may("get", "pullrequests", "infra-7"))
	p.eventually(func() bool {
		_, code := get[userapi.Page[userapi.PullRequest]](p, who, "/api/v1/namespaces/"+e.namespace+"/pullrequests")
		return code == http.StatusOK
	})
	s := p.stream(who, "/api/v1/changes", "")
	if event, data := s.next(); event != "hello" {
		t.Fatalf("%s %s", event, data)
	}
	other.newPullRequest(7) // alice receives no event of it
	e.newPullRequest(7)
	event, data := s.next()
	var c userapi.Change
	must(t, json.Unmarshal([]byte(data), &c))
	if want := (userapi.Change{Kind: "PullRequest", Namespace: e.namespace, Name: "infra-7"}); event != "change" ||
		c != want {
		t.Errorf("%s %s", event, data)
	}
	s.close()

	p.eventually(func() bool { // until the catalog has the status
		page, _ := get[userapi.Page[userapi.PullRequest]](p, who, "/api/v1/pullrequests?phase=Planned&stack="+
			e.namespace+"/net")
		return page.Total == 1 && page.Items[0].Namespace == e.namespace && page.Items[0].Planned == 1 &&
			page.Items[0].Plan.Add == 2
	})
	if page, _ := get[userapi.Page[userapi.PullRequest]](p, who, "/api/v1/pullrequests?stack="+e.namespace+
		"/web"); page.Total != 0 {
		t.Errorf("%d pull requests plan a Stack that none affects", page.Total)
	}
	at := "/api/v1/namespaces/" + e.namespace + "/pullrequests/infra-7"
	detail, code := get[userapi.Detail[userapi.PullRequest, v1alpha1.PullRequest]](p, who, at)
	if code != http.StatusOK || detail.Row.Number != 7 || detail.Object.Status.Stacks[0].Name != "net" {
		t.Errorf("%d, %+v", code, detail)
	}
	if access, code := get[userapi.Access](p, who, at+"/access"); code != http.StatusOK || len(access.Actions) != 0 {
		t.Errorf("access is %d %+v", code, access)
	}
	if _, code := get[userapi.Events](p, who, at+"/events"); code != http.StatusOK {
		t.Errorf("the events are %d", code)
	}
	for _, path := range []string{at, at + "/events", at + "/access", "/api/v1/pullrequests"} {
		if _, code := get[struct{}](p, unknown, path); code != http.StatusForbidden {
			t.Errorf("a stranger gets %d of %s", code, path)
		}
	}
	if _, code := get[struct{}](p, who, "/api/v1/namespaces/"+other.namespace+"/pullrequests/infra-7"); code !=
		http.StatusForbidden {
		t.Errorf("the one of another namespace is %d", code)
	}
}

// newPullRequest creates a PullRequest with the plan of one Stack.
func (e *env) newPullRequest(number int64) {
	e.Helper()
	pull := &v1alpha1.PullRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: fmt.Sprintf("infra-%d", number)},
		Spec: v1alpha1.PullRequestSpec{
			Repository: v1alpha1.ObjectRef{Name: "infra"}, Number: number, State: v1alpha1.PullRequestOpen,
			Base: "main",
			Head: v1alpha1.PullRequestHead{Branch: "wider", Commit: strings.Repeat("a", 40)},
		},
	}
	must(e.T, apiserver.Kube.Create(e.Context(), pull))
	pull.Status = v1alpha1.PullRequestStatus{Phase: v1alpha1.PullRequestPlanned, Stacks: []v1alpha1.PullRequestStack{{
		Namespace: e.namespace, Name: "net", Phase: v1alpha1.PhaseSucceeded,
		Plan: &v1alpha1.Plan{Digest: "sha256:" + strings.Repeat("a", 64), Changes: true, Add: 2},
	}}}
	must(e.T, apiserver.Kube.Status().Update(e.Context(), pull))
}

// stream follows server-sent events.
type stream struct {
	*userServer
	lines *bufio.Scanner
	close func()
	// id is the last one.
	id string
}

func (p *userServer) stream(who shown, path, after string) *stream {
	p.Helper()
	ctx, cancel := context.WithCancel(p.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+path, nil)
	must(p.T, err)
	r.Header.Set("Accept", "text/event-stream")
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	answer, err := p.transport(who).RoundTrip(r)
	must(p.T, err)
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		p.Fatalf("%s: %d %s", path, answer.StatusCode, answer.Header.Get("Content-Type"))
	}
	closing := func() { cancel(); _ = answer.Body.Close() }
	p.Cleanup(closing)
	return &stream{userServer: p, lines: bufio.NewScanner(answer.Body), close: closing, id: after}
}

// next gives the next event and its data.
func (s *stream) next() (event, data string) {
	s.Helper()
	for s.lines.Scan() {
		field, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch {
		case field == "id":
			s.id = value
		case field == "event":
			event = value
		case field == "data":
			data = value
		case s.lines.Text() == "" && event == "beat": // on a slow machine
			event = ""
		case s.lines.Text() == "" && event != "":
			return event, data
		}
	}
	s.Fatalf("the stream ended: %v", s.lines.Err())
	return "", ""
}

func TestUsersWatchObjectsThatTheirRolesAllow(t *testing.T) {
	e, other := newEnv(t), newEnv(t)
	p := e.serveLists()
	user, who := e.account("alice")
	e.allow(user, may("list", "stacks"))
	p.eventually(func() bool {
		page, _ := get[userapi.Page[userapi.Stack]](p, who, "/api/v1/stacks")
		return page.Total == 1
	})
	s := p.stream(who, "/api/v1/changes", "")
	if event, data := s.next(); event != "hello" || !strings.Contains(data, "alice") {
		t.Fatalf("%s %s", event, data)
	}
	other.newStack("hidden") // alice receives no event of it
	e.newStack("web")
	want := func(name string, deleted bool) {
		t.Helper()
		for {
			event, data := s.next()
			var c userapi.Change
			must(t, json.Unmarshal([]byte(data), &c))
			if event != "change" || c.Namespace != e.namespace || c.Kind != "Stack" {
				t.Fatalf("%s %s", event, data)
			}
			if c.Name == name && c.Deleted == deleted {
				return
			}
		}
	}
	want("web", false)
	s.close()

	// Changes while the browser is disconnected are sent when it reconnects.
	web := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "web"}}
	must(t, apiserver.Kube.Delete(t.Context(), web))
	s = p.stream(who, "/api/v1/changes", s.id)
	want("web", true)
	s.close()

	// A place that another process gave means nothing here.
	s = p.stream(who, "/api/v1/changes", "another-17")
	if event, _ := s.next(); event != "reset" || s.id == "another-17" {
		t.Errorf("%s, and the place is %s", event, s.id)
	}
}
