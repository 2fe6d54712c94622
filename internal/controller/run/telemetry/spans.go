package telemetry

import (
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/tracing"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// DecisionID is the span of the decision to create a Run: beneath the commit that caused it, or else as the root of the
// Run's own trace. parent is zero then.
func DecisionID(run *v1alpha1.Run, repository types.UID) (id, parent tracing.ID) {
	commit := runinfo.CommitOf(run.Spec.Revision)
	if run.Spec.Cause.Type != v1alpha1.CauseCommit || repository == "" || commit == "" {
		return tracing.Root("run", string(run.UID)), tracing.ID{}
	}
	parent = tracing.Commit(string(repository), commit)
	return parent.Child("decide", string(run.UID)), parent
}

// Attributes identify the Run of a span.
func Attributes(run *v1alpha1.Run) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("cairn.namespace", run.Namespace),
		attribute.String("cairn.stack", run.Spec.Stack.Name),
		attribute.String("cairn.run", run.Name),
		attribute.String("cairn.operation", string(run.Spec.Operation)),
		attribute.String("cairn.cause", string(run.Spec.Cause.Type)),
	}
}

// spans are those of a finished Run, with the times of its status.
func spans(run *v1alpha1.Run, repository types.UID) []tracing.Span {
	decision, _ := DecisionID(run, repository)
	about := Attributes(run)
	whole := tracing.Span{
		ID: decision.Child("run"), Parent: decision, Name: "run",
		Start: run.CreationTimestamp.Time, End: run.Status.FinishedAt.Time,
		Failed:     run.Status.Phase == v1alpha1.PhaseFailed,
		Attributes: append(Attributes(run), attribute.String("cairn.phase", string(run.Status.Phase))),
	}
	if class := lastFailure(&run.Status); class != "" {
		whole.Attributes = append(whole.Attributes, attribute.String("cairn.failure", class))
	}
	whole.Attributes = append(whole.Attributes, planCounts(run.Status.Plan)...)
	all, attempts := []tracing.Span{whole}, run.Status.Attempts
	wait := func(name string, from, to time.Time) {
		all = append(all, tracing.Span{ID: whole.ID.Child(name, strconv.Itoa(len(all))), Parent: whole.ID, Name: name,
			Start: from, End: to, Attributes: about})
	}
	for i := range attempts {
		a := &attempts[i]
		switch {
		case a.FinishedAt == nil:
			continue
		case a.Number == 1:
			wait("queue", whole.Start, a.StartedAt.Time)
		case i > 0 && runinfo.IsApply(*a) && attempts[i-1].FinishedAt != nil:
			wait("wait", attempts[i-1].FinishedAt.Time, a.StartedAt.Time)
		}
		all = append(all, spansOf(whole.ID, a, about)...)
	}
	// A time of Kubernetes is cut to whole seconds, so the end would be before that of the last attempt.
	if a := runinfo.Current(&run.Status); a != nil && a.FinishedAt != nil && a.FinishedAt.After(whole.End) {
		all[0].End = a.FinishedAt.Time
	}
	return all
}

// spansOf are those of an attempt and its steps.
func spansOf(run tracing.ID, a *v1alpha1.Attempt, about []attribute.KeyValue) []tracing.Span {
	attempt := tracing.Span{
		ID: run.Child("attempt", strconv.Itoa(int(a.Number))), Parent: run, Name: "attempt",
		Start: a.StartedAt.Time, End: a.FinishedAt.Time, Failed: a.Failure != nil,
		Attributes: append(about[:len(about):len(about)],
			attribute.Int("cairn.attempt", int(a.Number)), attribute.String("cairn.attempt.phase", string(a.Phase)),
			attribute.String("k8s.pod.name", a.Pod)),
	}
	if a.Failure != nil {
		attempt.Attributes = append(attempt.Attributes, attribute.String("cairn.failure", string(a.Failure.Class)))
	}
	all := []tracing.Span{attempt}
	for i, s := range a.Steps {
		from, to, ok := within(a, s)
		if !ok {
			continue
		}
		step := tracing.Span{
			ID: attempt.ID.Child("step", strconv.Itoa(i)), Parent: attempt.ID, Name: stepName(s.Name),
			Start: from, End: to, Failed: s.State == v1alpha1.StepFailed, Attributes: about,
		}
		if s.ExitCode != nil {
			step.Attributes = slices.Concat(about,
				[]attribute.KeyValue{attribute.Int("process.exit.code", int(*s.ExitCode))})
		}
		all = append(all, step)
	}
	return all
}

// planCounts are the counts of a plan.
func planCounts(p *v1alpha1.Plan) []attribute.KeyValue {
	if p == nil {
		return nil
	}
	return []attribute.KeyValue{
		attribute.Int("cairn.plan.add", int(p.Add)), attribute.Int("cairn.plan.change", int(p.Change)),
		attribute.Int("cairn.plan.destroy", int(p.Destroy)), attribute.Int("cairn.plan.replace", int(p.Replace)),
	}
}
