package tracing

import (
	"crypto/sha256"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// ID names a span, and the trace that it is in.
type ID struct {
	Trace trace.TraceID
	Span  trace.SpanID
}

// Root is the ID of the first span of a trace, derived from what the trace is about.
func Root(about ...string) ID {
	var id ID
	sum := digest(about)
	copy(id.Trace[:], sum[:16])
	copy(id.Span[:], sum[16:24])
	return id
}

// Commit is the ID of the root of all that a commit of a Repository leads to.
func Commit(repositoryUID, commit string) ID { return Root("commit", repositoryUID, commit) }

// Child is the ID of a span beneath this one, derived from what it is about.
func (id ID) Child(about ...string) ID {
	child := ID{Trace: id.Trace}
	sum := digest(append([]string{id.Trace.String(), id.Span.String()}, about...))
	copy(child.Span[:], sum[:8])
	return child
}

// digest of texts; that a text ends is part of it.
func digest(texts []string) [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.Join(texts, "\x00")))
}
