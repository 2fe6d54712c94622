package telemetry

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/approval"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// Metrics count what becomes of Runs, in the process that writes it. A nil one counts nothing.
type Metrics struct {
	finished *prometheus.CounterVec
	lasted   *prometheus.HistogramVec
	queued   *prometheus.HistogramVec
	approved prometheus.Histogram
	attempts *prometheus.HistogramVec
	steps    *prometheus.HistogramVec
}

// longWaits are buckets for what takes from seconds to hours.
var longWaits = []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200}

// NewMetrics creates Metrics that a registry has.
func NewMetrics(r prometheus.Registerer) *Metrics {
	in := promauto.With(r)
	return &Metrics{
		finished: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_runs_finished_total",
			Help: "Runs that ended. class is that of the last failure, empty without a failure.",
		}, []string{"operation", "result", "class", "cause"}),
		lasted: in.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cairn_run_duration_seconds", Buckets: longWaits,
			Help: "Time from the creation of a Run to its end, including waits.",
		}, []string{"operation", "result"}),
		queued: in.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cairn_run_queue_seconds", Buckets: append([]float64{0.25, 0.5}, longWaits...),
			Help: "Time from the creation of a Run to its first attempt. Kubernetes stores the time of the " +
				"creation in whole seconds, so the value is half a second too long on average.",
		}, []string{"operation"}),
		approved: in.NewHistogram(prometheus.HistogramOpts{
			Name: "cairn_run_approval_seconds", Buckets: []float64{10, 30, 60, 300, 900, 1800, 3600, 4 * 3600,
				12 * 3600, 24 * 3600, 72 * 3600, 168 * 3600},
			Help: "Time from the plan to the start of the approved apply.",
		}),
		attempts: in.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cairn_attempt_duration_seconds", Buckets: longWaits,
			Help: "Duration of attempts. result is Succeeded, or the class of the failure.",
		}, []string{"phase", "result"}),
		steps: in.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cairn_step_duration_seconds", Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120,
				300, 600, 1800, 3600},
			Help: "Duration of the steps of attempts, as runners report it. step is fetch, build, engine, init, " +
				"plan, policy, apply, outputs, rescue, shell, state (of a backend of the engine), or hook for " +
				"all hooks.",
		}, []string{"step", "result"}),
	}
}

// count takes in what a write has changed.
func (m *Metrics) count(before *v1alpha1.RunStatus, run *v1alpha1.Run) {
	if m == nil {
		return
	}
	after, operation := &run.Status, string(run.Spec.Operation)
	for _, a := range ended(before, after) {
		m.attempts.WithLabelValues(string(a.Phase), resultOf(&a)).Observe(a.FinishedAt.Sub(a.StartedAt.Time).Seconds())
		for _, s := range a.Steps {
			if from, to, ok := within(&a, s); ok {
				m.steps.WithLabelValues(stepName(s.Name), string(s.State)).Observe(to.Sub(from).Seconds())
			}
		}
	}
	if len(before.Attempts) == 0 && len(after.Attempts) > 0 {
		m.queued.WithLabelValues(operation).Observe(after.Attempts[0].StartedAt.Sub(run.CreationTimestamp.Time).
			Seconds())
	}
	if from, to, ok := approvalWait(before, run); ok {
		m.approved.Observe(to.Sub(from).Seconds())
	}
	if ends(before, after) {
		result := string(after.Phase)
		m.finished.WithLabelValues(operation, result, lastFailure(after), string(run.Spec.Cause.Type)).Inc()
		m.lasted.WithLabelValues(operation, result).Observe(after.FinishedAt.Sub(run.CreationTimestamp.Time).Seconds())
	}
}

// ends reports whether a write is the one that finishes a Run.
func ends(before, after *v1alpha1.RunStatus) bool {
	return !before.Phase.Finished() && after.Phase.Finished() && after.FinishedAt != nil
}

// ended are the attempts that a write has ended.
func ended(before, after *v1alpha1.RunStatus) []v1alpha1.Attempt {
	var all []v1alpha1.Attempt
	for _, a := range after.Attempts {
		was := slices.ContainsFunc(before.Attempts, func(b v1alpha1.Attempt) bool {
			return b.Number == a.Number && b.FinishedAt != nil
		})
		if a.FinishedAt != nil && !was {
			all = append(all, a)
		}
	}
	return all
}

// approvalWait is how long a plan has waited for the approval that a write begins to act on.
func approvalWait(before *v1alpha1.RunStatus, run *v1alpha1.Run) (from, to time.Time, ok bool) {
	n := len(run.Status.Attempts)
	if before.Phase != v1alpha1.PhaseAwaitingApproval || run.Status.Phase != v1alpha1.PhaseApplying ||
		approval.Given(run) == nil || n < 2 {
		return from, to, false
	}
	plan, apply := run.Status.Attempts[n-2], run.Status.Attempts[n-1]
	if plan.FinishedAt == nil || !runinfo.IsApply(apply) {
		return from, to, false
	}
	return plan.FinishedAt.Time, apply.StartedAt.Time, true
}

func resultOf(a *v1alpha1.Attempt) string {
	if a.Failure == nil {
		return string(v1alpha1.PhaseSucceeded)
	}
	return string(a.Failure.Class)
}

// lastFailure is the class of the last attempt's failure.
func lastFailure(s *v1alpha1.RunStatus) string {
	if a := runinfo.Current(s); a != nil && a.Failure != nil {
		return string(a.Failure.Class)
	}
	return ""
}

// stepName is the name of a step, all hooks being one. Runners report it, so an unknown name is other.
func stepName(name string) string {
	switch name {
	case "fetch", "build", "engine", "init", "plan", "policy", "apply", "outputs", "rescue", "shell", "state":
		return name
	}
	if strings.HasPrefix(name, "before-") || strings.HasPrefix(name, "after-") {
		return "hook"
	}
	return "other"
}

// within is when a step that is over began and ended. A runner reports it: times that are not within its attempt are
// ignored.
func within(a *v1alpha1.Attempt, s v1alpha1.Step) (from, to time.Time, ok bool) {
	if s.StartedAt == nil || s.FinishedAt == nil ||
		(s.State != v1alpha1.StepSucceeded && s.State != v1alpha1.StepFailed) {
		return from, to, false
	}
	const clocks = time.Minute // of two nodes are not this far apart
	from, to = s.StartedAt.Time, s.FinishedAt.Time
	return from, to, !to.Before(from) && from.After(a.StartedAt.Add(-clocks)) && to.Before(a.FinishedAt.Add(clocks))
}
