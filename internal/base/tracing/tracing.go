// Package tracing sends spans to an OpenTelemetry collector, once what they are about is over.
//
// Processes pass nothing to each other for it, in an annotation or a header. The IDs of a trace and its spans are
// derived from what they are about, such as a commit or a Run's UID, so that the server, which receives a webhook,
// and the operator, which fetches and creates Runs, send parts of one trace without communication:
//
//	commit ─┬─ webhook             a push, as the server saw it
//	        ├─ fetch               of the Repository
//	        └─ decide ── run ─┬─ queue
//	                          ├─ attempt ─┬─ fetch
//	                          │           ├─ init
//	                          │           └─ plan ...
//	                          ├─ wait      for an approval, a window, or the queue
//	                          └─ attempt ── apply ...
//
// A Run that no commit caused has a trace of its own, which begins with its decide. The process that wrote a Run's
// end sends its spans, with the times that its status has.
package tracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
)

// Span is something that is over.
type Span struct {
	// ID of the span, and that of its Parent; the zero one is for the root of its trace.
	ID, Parent ID
	// Name is one of few.
	Name       string
	Start, End time.Time
	// Failed: it did not do what it was for. The cause is in no trace: it may quote what users wrote.
	Failed     bool
	Attributes []attribute.KeyValue
}

// Tracer sends spans. A nil one sends none.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// FromEnvironment returns a Tracer according to OpenTelemetry's standard variables, whose names begin with OTEL_.
// It is nil unless one of OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set. The name is
// the service's, unless they name it.
func FromEnvironment(ctx context.Context, service, version string) (*Tracer, error) {
	endpoint, err := collector()
	if err != nil || endpoint == "" {
		return nil, err
	}
	protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"),
		"http/protobuf")
	if protocol != "http/protobuf" {
		return nil, fmt.Errorf("traces: the protocol %q of OTEL_EXPORTER_OTLP_PROTOCOL is not spoken: "+
			"http/protobuf is, at port 4318 of most collectors", protocol)
	}
	// The address is given, since OTEL_EXPORTER_OTLP_INSECURE would win over its scheme: with false, an http://
	// would be spoken TLS to.
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName(service), semconv.ServiceVersion(version)),
		resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithFromEnv(), // last, so that it wins
	)
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, errors.Join(fmt.Errorf("traces: %w", err), exporter.Shutdown(ctx))
	}
	return New(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about)), nil
}

// collector is where traces are sent; empty for nowhere. What names no host would be tried for ever, with a line in
// the log each time.
func collector() (string, error) {
	name := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	if os.Getenv(name) == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
	}
	address := os.Getenv(name)
	if address == "" || os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return "", nil
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return "", fmt.Errorf("traces: %s: an address with http:// or https:// is needed, as in "+
			"http://collector:4318", name) // it may have a password
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" { // that of all signals; the other one is used as it is
		u = u.JoinPath("v1", "traces")
	}
	return u.String(), nil
}

// New returns a Tracer. OTEL_TRACES_SAMPLER selects which traces are sent, unless an option does; default: all of
// them.
func New(options ...sdktrace.TracerProviderOption) *Tracer {
	provider := sdktrace.NewTracerProvider(append(slices.Clip(options), sdktrace.WithIDGenerator(given{}))...)
	return &Tracer{provider, provider.Tracer("cairn.dev/cairn")}
}

// Send sends spans, soon.
func (t *Tracer) Send(spans ...Span) {
	if t == nil {
		return
	}
	for _, s := range spans {
		t.tell(s)
	}
}

func (t *Tracer) tell(s Span) {
	ctx := context.WithValue(context.Background(), givenKey{}, s.ID)
	if s.Parent != (ID{}) {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: s.Parent.Trace, SpanID: s.Parent.Span, TraceFlags: t.sampled(s.ID), Remote: true,
		}))
	}
	_, span := t.tracer.Start(ctx, s.Name, trace.WithTimestamp(s.Start), trace.WithAttributes(s.Attributes...))
	if s.Failed {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(s.End))
}

// sampled is the decision for the root of a trace, whichever process sends that: the sampler is asked about such a
// root, which is never ended and so never sent. Its answer depends on nothing but the trace's ID.
func (t *Tracer) sampled(id ID) trace.TraceFlags {
	_, root := t.tracer.Start(context.WithValue(context.Background(), givenKey{}, id), "root")
	return root.SpanContext().TraceFlags()
}

// On reports whether spans are sent, for those that are costly to collect.
func (t *Tracer) On() bool { return t != nil }

// last is how long the last spans of a process may take.
const last = 5 * time.Second

// Start waits for the end of the process, and sends what is left.
func (t *Tracer) Start(ctx context.Context) error {
	<-ctx.Done()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), last)
	defer cancel()
	_ = t.provider.Shutdown(ending) // OpenTelemetry's own handler of errors received what could not be sent
	return nil
}

// NeedLeaderElection is false: every process sends what it saw.
func (t *Tracer) NeedLeaderElection() bool { return false }

// given is where OpenTelemetry gets the IDs of spans from: each is given with the span.
type given struct{}

type givenKey struct{}

// NewIDs are those of a root.
func (given) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, _ := ctx.Value(givenKey{}).(ID)
	return id.Trace, id.Span
}

// NewSpanID is that of a span with a parent.
func (given) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	id, _ := ctx.Value(givenKey{}).(ID)
	return id.Span
}
