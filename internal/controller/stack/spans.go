package stack

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/tracing"
	"cairn.dev/cairn/internal/controller/run/telemetry"
	"cairn.dev/cairn/internal/controller/stack/decision"
)

// trace records a span for a Run that was created: from the start of the reconcile until the Run existed.
func (r *Reconciler) trace(ctx context.Context, w decision.Snapshot, made *v1alpha1.Run) {
	if !r.Traces.On() {
		return
	}
	var repository types.UID
	if key, ok := w.Stack.RepositoryKey(); ok {
		repo := &v1alpha1.Repository{}
		if r.Client.Get(ctx, key, repo) == nil { // without it the Run has a trace of its own
			repository = repo.UID
		}
	}
	id, parent := telemetry.DecisionID(made, repository)
	r.Traces.Send(tracing.Span{ID: id, Parent: parent, Name: "decide", Start: w.Now, End: r.Now(),
		Attributes: telemetry.Attributes(made)})
}
