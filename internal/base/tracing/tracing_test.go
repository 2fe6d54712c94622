package tracing

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// recorded returns a Tracer and the exporter that records its spans.
func recorded(options ...sdktrace.TracerProviderOption) (*Tracer, *tracetest.InMemoryExporter) {
	seen := tracetest.NewInMemoryExporter()
	return New(append(options, sdktrace.WithSyncer(seen))...), seen
}

func TestProcessesShareATrace(t *testing.T) {
	at := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	root := Commit("uid", "1f3c")
	server, seenByServer := recorded()
	operator, seenByOperator := recorded()
	server.Send(Span{ID: root.Child("webhook"), Parent: root, Name: "webhook", Start: at, End: at.Add(time.Second)})
	operator.Send(Span{ID: Commit("uid", "1f3c"), Name: "commit", Start: at, End: at.Add(time.Minute), Failed: true})
	webhook, commit := seenByServer.GetSpans()[0], seenByOperator.GetSpans()[0]
	if webhook.SpanContext.TraceID() != commit.SpanContext.TraceID() ||
		webhook.Parent.SpanID() != commit.SpanContext.SpanID() {
		t.Errorf("the webhook is in trace %s under %s; the commit is %s in trace %s",
			webhook.SpanContext.TraceID(), webhook.Parent.SpanID(), commit.SpanContext.SpanID(),
			commit.SpanContext.TraceID())
	}
	if commit.Parent.IsValid() {
		t.Errorf("the root has the parent %s", commit.Parent.SpanID())
	}
	if commit.EndTime.Sub(commit.StartTime) != time.Minute || !commit.StartTime.Equal(at) {
		t.Errorf("the commit is from %s to %s", commit.StartTime, commit.EndTime)
	}
	if len(webhook.Attributes) != 0 || webhook.Status.Code == commit.Status.Code {
		t.Errorf("the webhook has %v and %v; that of the one that failed is %v", webhook.Attributes, webhook.Status,
			commit.Status)
	}
}

func TestIDsAreDeterministic(t *testing.T) {
	ids := map[ID]string{}
	for name, id := range map[string]ID{
		"commit": Commit("uid", "1f3c"), "another commit": Commit("uid", "1f3d"),
		"another Repository":          Commit("uie", "1f3c"),
		"texts that join to the same": Commit("uid1", "f3c"), "child": Commit("uid", "1f3c").Child("fetch"),
		"other child":            Commit("uid", "1f3c").Child("webhook"),
		"grandchild":             Commit("uid", "1f3c").Child("fetch").Child("fetch"),
		"child in another trace": Commit("uid", "1f3d").Child("fetch"),
	} {
		if other, ok := ids[id]; ok {
			t.Errorf("%s and %s have the same ID", name, other)
		}
		ids[id] = name
		if !id.Trace.IsValid() || !id.Span.IsValid() {
			t.Errorf("%s: %v is not valid", name, id)
		}
	}
}

// TestSamplingIsPerTrace checks that with sampling a trace is sent by all processes or by none.
func TestSamplingIsPerTrace(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
	sent := 0
	for _, commit := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"} {
		root := Commit("uid", commit)
		one, seen := recorded()
		other, seenByOther := recorded()
		one.Send(Span{ID: root, Name: "commit"})
		other.Send(Span{ID: root.Child("decide"), Parent: root, Name: "decide"},
			Span{ID: root.Child("webhook"), Parent: root, Name: "webhook"})
		if n := len(seenByOther.GetSpans()); n != 2*len(seen.GetSpans()) {
			t.Errorf("commit %s: %d spans of a trace whose root is sent %d times", commit, n, len(seen.GetSpans()))
		}
		sent += len(seen.GetSpans())
	}
	if sent == 0 || sent == 16 {
		t.Errorf("%d of 16 traces were sent", sent)
	}
}

func TestTracingIsOffWithoutACollector(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"no address":     {},
		"tracing is off": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
		"the SDK is disabled": {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1",
			"OTEL_SDK_DISABLED": "true"},
		"only for metrics":  {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:1"},
		"an empty variable": {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
	} {
		t.Run(name, func(t *testing.T) {
			clearEnvironment(t)
			for k, v := range env {
				t.Setenv(k, v)
			}
			tracer, err := FromEnvironment(t.Context(), "cairn", "v1")
			if err != nil || tracer.On() {
				t.Fatalf("got %v, %v", tracer, err)
			}
			tracer.Send(Span{ID: Root("x"), Name: "x"}) // on a nil Tracer
		})
	}
}

// TestSchemeOfTheEndpointSelectsTLS checks that OTEL_EXPORTER_OTLP_INSECURE is ignored if the address has a scheme.
func TestSchemeOfTheEndpointSelectsTLS(t *testing.T) {
	for name, insecure := range map[string]string{"OTEL_EXPORTER_OTLP_INSECURE unset": "",
		"OTEL_EXPORTER_OTLP_INSECURE=false": "false"} {
		t.Run(name, func(t *testing.T) {
			got := make(chan string, 1)
			collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				got <- r.URL.Path
			}))
			defer collector.Close()
			clearEnvironment(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
			t.Setenv("OTEL_EXPORTER_OTLP_INSECURE", insecure)
			tracer, err := FromEnvironment(t.Context(), "cairn", "v1")
			if err != nil {
				t.Fatal(err)
			}
			tracer.Send(Span{ID: Root("x"), Name: "x"})
			if err := tracer.provider.ForceFlush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if path := <-got; path != "/v1/traces" {
				t.Errorf("got %s", path)
			}
		})
	}
}

func TestEndpointWithoutAHostIsRejected(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		for _, address := range []string{"collector:4318", "collector.observability", "10.0.0.1:4318",
			"grpc://collector:4317", "http://"} {
			clearEnvironment(t)
			t.Setenv(name, address)
			if _, err := FromEnvironment(t.Context(), "cairn", "v1"); err == nil ||
				!strings.Contains(err.Error(), name) {
				t.Errorf("%s=%s: got %v", name, address, err)
			}
		}
	}
}

func TestUnknownProtocolIsRejected(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	if _, err := FromEnvironment(context.Background(), "cairn", "v1"); err == nil {
		t.Fatal("the protocol is accepted")
	}
}

func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_TRACES_EXPORTER", "OTEL_SDK_DISABLED",
	} {
		t.Setenv(name, "")
	}
}
