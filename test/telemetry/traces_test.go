//go:build envtest

// Package telemetry tests the traces that Cairn's processes export.
package telemetry

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/devcluster"
	"cairn.dev/cairn/test/gitserver"
)

// collected has the spans that an OpenTelemetry collector received.
type collected struct {
	mu    sync.Mutex
	spans []span
	raw   bytes.Buffer
}

// span is a span with its service name.
type span struct {
	*otlp.Span
	service string
}

// collect starts a collector, to which processes that start later export.
func collect(t *testing.T) *collected {
	t.Helper()
	c := &collected{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		c.add(&request)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	return c
}

func (c *collected) add(r *collector.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintln(&c.raw, r.String())
	for _, of := range r.ResourceSpans {
		service := ""
		for _, a := range of.Resource.Attributes {
			if a.Key == "service.name" {
				service = a.Value.GetStringValue()
			}
		}
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, span{s, service})
			}
		}
	}
}

// traceOf returns the spans of the trace that has a matching span.
func (c *collected) traceOf(match func(span) bool) []span {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.spans, match)
	if i < 0 {
		return nil
	}
	var trace []span
	for _, s := range c.spans {
		if bytes.Equal(s.TraceId, c.spans[i].TraceId) {
			trace = append(trace, s)
		}
	}
	return trace
}

func attribute(s span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// paths returns the spans of a trace, each with its ancestors and its service.
func paths(trace []span) []string {
	byID := map[string]span{}
	for _, s := range trace {
		byID[string(s.SpanId)] = s
	}
	var all []string
	for _, s := range trace {
		path := s.Name
		for at := s; len(at.ParentSpanId) > 0; {
			parent, ok := byID[string(at.ParentSpanId)]
			if !ok {
				path = "? > " + path
				break
			}
			path, at = parent.Name+" > "+path, parent
		}
		all = append(all, path+" ("+s.service+")")
	}
	slices.Sort(all)
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// waitFor polls until a condition holds.
func waitFor(t *testing.T, what string, done func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, done); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

const code = `resource "terraform_data" "one" { input = "%s" }`

// A push is one trace, from the webhook, which the server receives, through the fetch and the decision of the operator,
// to the steps of the engine, which the server records. The operator and the server do not communicate directly.
func TestPushIsOneTraceFromWebhookToEngineSteps(t *testing.T) {
	c := collect(t)
	hooks := devcluster.FreeAddress(t)
	cluster := devcluster.StartSplit(t, "--web-listen="+hooks)
	ctx, repos := t.Context(), gitserver.New(t)
	server, err := gitserver.ServeHTTP(repos, false)
	must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	origin, err := repos.Init("infra")
	must(t, err)
	push := func(value string) string {
		commit, err := origin.Commit(gitserver.Change{Files: map[string]string{"net/main.tf": fmt.Sprintf(code, value)},
			Message: "canary"})
		must(t, err)
		return commit
	}
	push("first")

	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "traced", Name: name} }
	must(t, cluster.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "traced"}}))
	must(t, cluster.Create(ctx,
		&corev1.Secret{ObjectMeta: meta("hook"), StringData: map[string]string{"token": "canary"}}))
	must(t, cluster.Create(ctx, &v1alpha1.Repository{ObjectMeta: meta("infra"), Spec: v1alpha1.RepositorySpec{
		URL: server.URL + origin.Path(), Webhook: &v1alpha1.WebhookSource{Secret: v1alpha1.ObjectRef{Name: "hook"}},
	}}))
	stack := &v1alpha1.Stack{ObjectMeta: meta("net"), Spec: v1alpha1.StackSpec{
		Apply: v1alpha1.ApplyAutomatic,
		Source: v1alpha1.Source{Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: "infra"},
			Path: "net"}},
	}}
	must(t, cluster.Create(ctx, stack))
	succeeded := func(name string) {
		t.Helper()
		waitFor(t, name, func(ctx context.Context) (bool, error) {
			r := &v1alpha1.Run{}
			err := cluster.Get(ctx, client.ObjectKey{Namespace: "traced", Name: name}, r)
			if r.Status.Phase == v1alpha1.PhaseFailed {
				t.Fatalf("%s: %v", name, r.Status.Conditions)
			}
			return r.Status.Phase == v1alpha1.PhaseSucceeded, client.IgnoreNotFound(err)
		})
	}
	succeeded("net-1")
	commit := push("second")
	webhook(t, "http://"+hooks+"/hooks/traced/infra", commit)
	succeeded("net-2")

	want := []string{
		"commit (cairn-operator)",
		"commit > decide (cairn-operator)",
		"commit > decide > run (cairn-server)",
		"commit > decide > run > attempt (cairn-server)",
		"commit > decide > run > attempt (cairn-server)",
		"commit > decide > run > attempt > apply (cairn-server)",
		"commit > decide > run > attempt > fetch (cairn-server)",
		"commit > decide > run > attempt > init (cairn-server)",
		"commit > decide > run > attempt > outputs (cairn-server)",
		"commit > decide > run > attempt > plan (cairn-server)",
		"commit > decide > run > queue (cairn-server)",
		"commit > decide > run > wait (cairn-server)",
		"commit > fetch (cairn-operator)",
		"commit > webhook (cairn-server)",
	}
	var got []string
	// reported below
	_ = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true,
		func(context.Context) (bool, error) {
			got = paths(c.traceOf(func(s span) bool {
				return s.Name == "commit" && attribute(s, "cairn.commit") == commit
			}))
			return len(got) >= len(want), nil
		})
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// The cause of the first Run is the Stack, so it has its own trace, which is complete too.
	first := paths(c.traceOf(func(s span) bool { return attribute(s, "cairn.run") == "net-1" }))
	if !slices.Contains(first, "decide > run > attempt > apply (cairn-server)") ||
		strings.Contains(strings.Join(first, "\n"), "?") {
		t.Errorf("the first Run has the trace\n%s", strings.Join(first, "\n"))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.Contains(c.raw.String(), "canary") {
		t.Error("a secret, or the message of a commit, is in a trace")
	}
}

// webhook sends the webhook of a push as GitHub does.
func webhook(t *testing.T, url, commit string) {
	t.Helper()
	body := fmt.Appendf(nil, `{"ref":"refs/heads/main","after":%q,"repository":{"clone_url":"https://git.example.com/acme/infra.git"}}`, commit)
	mac := hmac.New(sha256.New, []byte("canary"))
	mac.Write(body)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	must(t, err)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "X-GitHub-Event": "push", "X-GitHub-Delivery": "d-" + commit,
		"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)),
	} {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusAccepted {
		t.Fatalf("the response to the webhook is %s", answer.Status)
	}
}
