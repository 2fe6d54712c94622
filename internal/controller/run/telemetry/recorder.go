// Package telemetry records the transitions of Runs as metrics, traces and log lines.
package telemetry

import (
	"context"
	"log/slog"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/tracing"
	"cairn.dev/cairn/internal/controller/run/index"
)

// Recorder records each successful write of the status of a Run, in the process that wrote it. Writes have an
// optimistic lock, so what it counts, traces and logs is counted, traced and logged once, over restarts and changes of
// leader; a process that is killed between the write and this records nothing. A nil Recorder is a no-op.
type Recorder struct {
	// Metrics count; nil for none.
	Metrics *Metrics
	// Traces get the spans of a Run when it is finished; nil for none.
	Traces *tracing.Tracer
	// Cache has the Repository whose commit caused a Run.
	Cache client.Reader
	// Log gets a line for each change of a Run's phase.
	Log *slog.Logger
}

// Record records the status before a write, and the Run after it.
func (w *Recorder) Record(ctx context.Context, before *v1alpha1.RunStatus, run *v1alpha1.Run) {
	if w == nil {
		return
	}
	w.Metrics.count(before, run)
	if before.Phase != run.Status.Phase {
		w.log(before.Phase, run)
	}
	if w.Traces.On() && ends(before, &run.Status) {
		w.Traces.Send(spans(run, w.repositoryOf(ctx, run))...)
	}
}

// log writes what changed. Messages of conditions are left out: they quote what engines print, and events have them.
func (w *Recorder) log(from v1alpha1.RunPhase, run *v1alpha1.Run) {
	reason := ""
	if c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		reason = c.Reason
	}
	w.Log.Info("phase of a Run changed", "namespace", run.Namespace, "stack", run.Spec.Stack.Name, "run", run.Name,
		"operation", run.Spec.Operation, "cause", run.Spec.Cause.Type, "from", from, "phase", run.Status.Phase,
		"reason", reason,
		"attempt", len(run.Status.Attempts))
}

// repositoryOf is the UID of the Repository that a Run's code is from; empty when it is gone, or there is none.
func (w *Recorder) repositoryOf(ctx context.Context, run *v1alpha1.Run) types.UID {
	if run.Spec.Cause.Type != v1alpha1.CauseCommit {
		return ""
	}
	stack, err := index.StackIn(ctx, w.Cache, run)
	if err != nil || stack == nil {
		return ""
	}
	key, ok := stack.RepositoryKey()
	repo := &v1alpha1.Repository{}
	if !ok || w.Cache.Get(ctx, key, repo) != nil {
		return ""
	}
	return repo.UID
}
