package repository

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/tracing"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// spans are about the commits that a fetch received for refs which Stacks read from: the root of the trace of each,
// and the fetch. The root begins with the request of the fetch, mostly by a webhook.
func spans(before, after *v1alpha1.Repository, last *Fetch) []tracing.Span {
	if last == nil || last.Reason != "" {
		return nil
	}
	was := map[string]string{}
	for _, ref := range before.Status.Refs {
		was[ref.Name] = runinfo.CommitOf(ref.Revision)
	}
	began := last.At.Add(-last.Took)
	asked := began
	if at, err := time.Parse(time.RFC3339Nano, last.Request); err == nil &&
		!runinfo.Settled(before.Status.LastHandledRequest, last.Request) && at.Before(began) {
		asked = at
	}
	reported := map[string]bool{}
	var all []tracing.Span
	for _, ref := range after.Status.Refs {
		commit := runinfo.CommitOf(ref.Revision)
		if was[ref.Name] == "" || commit == "" || commit == was[ref.Name] || reported[commit] {
			continue
		}
		reported[commit] = true
		about := []attribute.KeyValue{
			attribute.String("cairn.namespace", after.Namespace), attribute.String("cairn.repository", after.Name),
			attribute.String("cairn.commit", commit),
		}
		root := tracing.Commit(string(after.UID), commit)
		all = append(all,
			tracing.Span{ID: root, Name: "commit", Start: asked, End: last.At, Attributes: about},
			tracing.Span{ID: root.Child("fetch"), Parent: root, Name: "fetch", Start: began, End: last.At,
				Attributes: about})
	}
	return all
}

// IsRead reports whether Stacks read from a branch or tag, such as refs/heads/main.
func IsRead(repo *v1alpha1.Repository, ref string) bool {
	for _, r := range repo.Status.Refs {
		name, _, ok := strings.Cut(r.Revision, "@")
		if ok && (ref == "refs/heads/"+name || ref == "refs/tags/"+name) {
			return true
		}
	}
	return false
}
