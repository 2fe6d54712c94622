package proxy_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"cairn.dev/cairn/dev/authority"
	"cairn.dev/cairn/test/faults/proxy"
)

const (
	runs   = "/apis/cairn.dev/v1alpha1/namespaces/a/runs"
	status = runs + "/net-1/status"
)

// An api is a simulated API server, which records its requests.
type api struct {
	mu    sync.Mutex
	asked []string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
	if r.URL.Query().Get("watch") == "" {
		w.WriteHeader(http.StatusCreated)
		return
	}
	if accept := r.Header.Get("Accept"); accept != "application/json" {
		_, _ = fmt.Fprintln(w, "not JSON: "+accept)
		return
	}
	for _, line := range []string{
		`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}`,
		`{"type":"ADDED","object":{"metadata":{"name":"net-1"}}}`,
		`{"type":"MODIFIED","object":{"metadata":{"name":"net-1"}}}`,
	} {
		_, _ = fmt.Fprintln(w, line)
	}
}

func (a *api) was() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

// start returns a proxy to an API, and a client of the proxy.
func start(t *testing.T) (*api, *proxy.Proxy, func(method, path, body string) (int, string, error)) {
	t.Helper()
	a := &api{}
	upstream := httptest.NewServer(a)
	t.Cleanup(upstream.Close)
	ca, err := authority.Load(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	p, err := proxy.Start("operator", &rest.Config{Host: upstream.URL}, ca, kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return a, p, func(method, path, body string) (int, string, error) {
		r, err := http.NewRequestWithContext(t.Context(), method, config.Host+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "application/vnd.kubernetes.protobuf,application/json")
		answer, err := client.Do(r)
		if err != nil {
			return 0, "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text), err
	}
}

func TestWritesHaveStableNames(t *testing.T) {
	a, p, ask := start(t)
	namesOfWrites := func() (names []string) {
		for _, r := range [][2]string{
			{http.MethodPost, runs}, {http.MethodGet, runs}, {http.MethodPatch, status}, {http.MethodPatch, status},
			{http.MethodDelete, runs + "/net-1"},
			{http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews"},
			{http.MethodPost, "/api/v1/namespaces/a/events"},
			{http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/a/leases/x"},
		} {
			if code, _, err := ask(r[0], r[1], "it"); code != http.StatusCreated || err != nil {
				t.Errorf("%v: %d %v", r, code, err)
			}
		}
		for _, w := range p.Writes() {
			names = append(names, w.String())
			if w.Code != http.StatusCreated {
				t.Errorf("%s was answered %d", w, w.Code)
			}
		}
		return names
	}
	want := []string{"operator create runs 1", "operator patch runs/status 1", "operator patch runs/status 2",
		"operator delete runs 1"}
	if diff := cmp.Diff(want, namesOfWrites()); diff != "" {
		t.Error(diff)
	}
	p.Reset()
	if diff := cmp.Diff(want, namesOfWrites()); diff != "" {
		t.Error("once more:", diff)
	}
	if got := a.was()[0]; got != "POST "+runs+" it" {
		t.Errorf("the API server was asked %q", got)
	}
	if p.Leases() != 2 {
		t.Errorf("%d writes of leases", p.Leases())
	}
	// a write ends a moment after its response
	for end := time.Now().Add(time.Minute); p.Quiet() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a write is still under way")
		}
	}
}

func TestFaultsOfWrites(t *testing.T) {
	for name, tt := range map[string]struct {
		do     func(*proxy.Call)
		taken  bool
		code   int
		reason metav1.StatusReason
	}{
		"refused": {func(c *proxy.Call) {
			c.Refuse(http.StatusConflict, metav1.StatusReasonConflict, 0)
		}, false, http.StatusConflict, metav1.StatusReasonConflict},
		"not heard":          {func(c *proxy.Call) { c.Cut() }, false, 0, ""},
		"taken, answer lost": {func(c *proxy.Call) { c.Forward(t.Context()); c.Cut() }, true, 0, ""},
		"taken and answered": {func(c *proxy.Call) { c.Pass() }, true, http.StatusCreated, ""},
		"taken, reported as not": {func(c *proxy.Call) {
			c.Forward(t.Context())
			c.Refuse(504, metav1.StatusReasonTimeout, 0)
		}, true, 504, metav1.StatusReasonTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			a, p, ask := start(t)
			p.OnWrite(func(c *proxy.Call) {
				if p.Quiet() != 0 {
					t.Error("it is quiet while a write is under way")
				}
				tt.do(c)
			})
			code, text, err := ask(http.MethodPatch, status, "it")
			if code != tt.code || (err != nil) != (tt.code == 0) {
				t.Errorf("answered %d %v", code, err)
			}
			if taken := len(a.was()) == 1; taken != tt.taken {
				t.Errorf("the API server was asked %q", a.was())
			}
			var status metav1.Status
			if tt.reason == "" {
				return
			}
			if err := json.Unmarshal([]byte(text), &status); err != nil || status.Reason != tt.reason {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}

func TestRejectionHasRetryAfter(t *testing.T) {
	_, p, ask := start(t)
	p.OnWrite(func(c *proxy.Call) {
		c.Refuse(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, time.Second)
	})
	if _, text, _ := ask(http.MethodPost, runs, ""); !strings.Contains(text, `"retryAfterSeconds":1`) {
		t.Error(text)
	}
}

func TestWatches(t *testing.T) {
	const added, modified = `"ADDED"`, `"MODIFIED"`
	for name, tt := range map[string]struct {
		handling proxy.Handling
		at       int
		has      []string
		not      string
	}{
		"pass":  {proxy.Pass, 2, []string{"BOOKMARK", added, modified}, "ERROR"},
		"drop":  {proxy.Drop, 2, []string{"BOOKMARK", added}, modified},
		"gone":  {proxy.Gone, 1, []string{`"ERROR"`, `"code":410`}, added},
		"later": {proxy.Drop, 3, []string{modified}, "ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			_, p, ask := start(t)
			p.OnEvent(func(e proxy.Event) proxy.Handling {
				if e.String() == fmt.Sprintf("operator hears of runs %d", tt.at) {
					return tt.handling
				}
				return proxy.Pass
			})
			_, text, _ := ask(http.MethodGet, runs+"?watch=true", "") // a watch that ends is interrupted
			for _, has := range tt.has {
				if !strings.Contains(text, has) {
					t.Errorf("%s lacks %s", text, has)
				}
			}
			if strings.Contains(text, tt.not) {
				t.Errorf("%s has %s", text, tt.not)
			}
		})
	}
}

// A request whose process was killed still arrives.
func TestWriteSurvivesItsProcess(t *testing.T) {
	a, p, _ := start(t)
	ctx, kill := context.WithCancel(t.Context())
	done := make(chan bool, 1)
	p.OnWrite(func(c *proxy.Call) {
		kill()
		<-c.Abandoned()
		c.Forward(t.Context())
		done <- c.Took()
		c.Reply()
	})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Address+runs, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	if _, err := client.Do(r); err == nil {
		t.Error("who was killed got an answer")
	}
	if !<-done || len(a.was()) != 1 {
		t.Error("the write did not arrive")
	}
}
