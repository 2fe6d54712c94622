package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/tracing"
)

// witnessed is a Run from its first attempt to its end, as it is after each write.
func witnessed() []*v1alpha1.Run {
	at := func(seconds float64) *metav1.MicroTime {
		return &metav1.MicroTime{Time: time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC).
			Add(time.Duration(seconds * float64(time.Second)))}
	}
	step := func(name string, from, to float64) v1alpha1.Step {
		return v1alpha1.Step{Name: name, State: v1alpha1.StepSucceeded, StartedAt: at(from), FinishedAt: at(to)}
	}
	exit := int32(1)
	failed := v1alpha1.Step{Name: "plan", State: v1alpha1.StepFailed, StartedAt: at(3.5), FinishedAt: at(4),
		ExitCode: &exit, Message: "canary"}
	hostile := step("canary-from-a-runner", 3, 3)
	eternal := step("apply", -1e9, 4)
	waiting := v1alpha1.Step{Name: "outputs", State: v1alpha1.StepSkipped}

	made := &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "net-7", UID: "run-uid",
			CreationTimestamp: metav1.Time{Time: at(0).Time}},
		Spec: v1alpha1.RunSpec{
			Stack: v1alpha1.ObjectRef{Name: "net"}, Operation: v1alpha1.OperationApply, Revision: "main@sha1:1f3c",
			Cause: v1alpha1.Cause{Type: v1alpha1.CauseCommit, Message: "canary", By: "canary"},
		},
	}
	var all []*v1alpha1.Run
	write := func(change func(*v1alpha1.Run)) {
		next := made
		if len(all) > 0 {
			next = all[len(all)-1]
		}
		next = next.DeepCopy()
		change(next)
		all = append(all, next)
	}
	write(func(*v1alpha1.Run) {})
	write(func(r *v1alpha1.Run) {
		r.Status.Phase = v1alpha1.PhasePlanning
		r.Status.Attempts = []v1alpha1.Attempt{{Number: 1, Phase: v1alpha1.AttemptPlan, Pod: "net-7-plan-1",
			StartedAt: *at(2)}}
	})
	write(func(r *v1alpha1.Run) { // a report on the way
		r.Status.Attempts[0].Steps = []v1alpha1.Step{step("fetch", 2.5, 3)}
	})
	write(func(r *v1alpha1.Run) {
		r.Status.Attempts[0].Steps = []v1alpha1.Step{step("fetch", 2.5, 3), hostile, failed, eternal, waiting}
		r.Status.Attempts[0].FinishedAt = at(4)
		r.Status.Attempts[0].Failure = &v1alpha1.Failure{Class: v1alpha1.FailureTransient, Message: "canary"}
	})
	write(func(r *v1alpha1.Run) {
		r.Status.Attempts = append(r.Status.Attempts, v1alpha1.Attempt{
			Number: 2, Phase: v1alpha1.AttemptPlan, Pod: "net-7-plan-2", StartedAt: *at(10), FinishedAt: at(12),
			Steps: []v1alpha1.Step{step("after-plan", 11, 12)},
		})
		r.Status.Plan = &v1alpha1.Plan{Digest: "canary", Changes: true, Add: 3}
		r.Status.Phase = v1alpha1.PhaseAwaitingApproval
		r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Reason: "AwaitingApproval",
			Message: "canary"}}
	})
	write(func(r *v1alpha1.Run) {
		r.Spec.Approval = &v1alpha1.Approval{By: "canary", PlanDigest: "canary"}
		r.Status.Phase = v1alpha1.PhaseApplying
		r.Status.Attempts = append(r.Status.Attempts, v1alpha1.Attempt{Number: 3, Phase: v1alpha1.AttemptApply,
			Pod: "net-7-plan-2", StartedAt: *at(60)})
	})
	write(func(r *v1alpha1.Run) {
		r.Status.Attempts[2].FinishedAt = at(61.5)
		r.Status.Attempts[2].Steps = []v1alpha1.Step{step("apply", 60.5, 61)}
		r.Status.Phase = v1alpha1.PhaseSucceeded
		r.Status.FinishedAt = &metav1.Time{Time: at(61).Time}
	})
	return all
}

func witness() (*Recorder, *prometheus.Registry, *tracetest.InMemoryExporter, *bytes.Buffer) {
	registry, seen, text := prometheus.NewRegistry(), tracetest.NewInMemoryExporter(), &bytes.Buffer{}
	return &Recorder{
		Metrics: NewMetrics(registry), Traces: tracing.New(sdktrace.WithSyncer(seen)),
		Log: slog.New(slog.NewJSONHandler(text, nil)),
	}, registry, seen, text
}

// recordAll records each write except for the Repository, which is not in a cache here.
func recordAll(w *Recorder, all []*v1alpha1.Run) {
	for i := 1; i < len(all); i++ {
		run := all[i].DeepCopy()
		run.Spec.Cause.Type = v1alpha1.CauseSpec
		w.Record(context.Background(), &all[i-1].Status, run)
	}
}

// samples are the counts of what was counted or observed, and the sums of the latter.
func samples(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			if f.GetType() == dto.MetricType_HISTOGRAM {
				all[name+" sum"] = m.Histogram.GetSampleSum()
				all[name+" count"] = float64(m.Histogram.GetSampleCount())
				continue
			}
			all[name] = m.Counter.GetValue()
		}
	}
	return all
}

func TestAttemptsStepsAndEndsAreCountedOnce(t *testing.T) {
	w, registry, _, _ := witness()
	recordAll(w, witnessed())
	want := map[string]float64{
		"cairn_runs_finished_total{cause=Spec,class=,operation=Apply,result=Succeeded}": 1,
		"cairn_run_duration_seconds{operation=Apply,result=Succeeded} sum":              61,
		"cairn_run_duration_seconds{operation=Apply,result=Succeeded} count":            1,
		"cairn_run_queue_seconds{operation=Apply} sum":                                  2,
		"cairn_run_queue_seconds{operation=Apply} count":                                1,
		"cairn_run_approval_seconds{} sum":                                              48,
		"cairn_run_approval_seconds{} count":                                            1,
		"cairn_attempt_duration_seconds{phase=Plan,result=Transient} sum":               2,
		"cairn_attempt_duration_seconds{phase=Plan,result=Transient} count":             1,
		"cairn_attempt_duration_seconds{phase=Plan,result=Succeeded} sum":               2,
		"cairn_attempt_duration_seconds{phase=Plan,result=Succeeded} count":             1,
		"cairn_attempt_duration_seconds{phase=Apply,result=Succeeded} sum":              1.5,
		"cairn_attempt_duration_seconds{phase=Apply,result=Succeeded} count":            1,
		"cairn_step_duration_seconds{result=Succeeded,step=fetch} sum":                  0.5,
		"cairn_step_duration_seconds{result=Succeeded,step=fetch} count":                1,
		"cairn_step_duration_seconds{result=Succeeded,step=other} sum":                  0,
		"cairn_step_duration_seconds{result=Succeeded,step=other} count":                1,
		"cairn_step_duration_seconds{result=Failed,step=plan} sum":                      0.5,
		"cairn_step_duration_seconds{result=Failed,step=plan} count":                    1,
		"cairn_step_duration_seconds{result=Succeeded,step=hook} sum":                   1,
		"cairn_step_duration_seconds{result=Succeeded,step=hook} count":                 1,
		"cairn_step_duration_seconds{result=Succeeded,step=apply} sum":                  0.5,
		"cairn_step_duration_seconds{result=Succeeded,step=apply} count":                1,
	}
	if diff := cmp.Diff(want, samples(t, registry)); diff != "" {
		t.Error(diff)
	}
}

func TestFinishedRunIsRecordedAsOneTrace(t *testing.T) {
	w, _, seen, _ := witness()
	recordAll(w, witnessed())
	got := seen.GetSpans()
	names, parents := map[string]string{}, map[string]int{}
	for _, s := range got {
		names[s.SpanContext.SpanID().String()] = s.Name
	}
	for _, s := range got {
		parents[names[s.Parent.SpanID().String()]+" > "+s.Name]++
		if s.EndTime.Before(s.StartTime) {
			t.Errorf("%s ends %s before it begins", s.Name, s.StartTime.Sub(s.EndTime))
		}
		if s.SpanContext.TraceID() != got[0].SpanContext.TraceID() {
			t.Errorf("%s is in a trace of its own", s.Name)
		}
	}
	want := map[string]int{
		" > run": 1, "run > queue": 1, "run > attempt": 3, "run > wait": 1,
		"attempt > fetch": 1, "attempt > other": 1, "attempt > plan": 1, "attempt > hook": 1, "attempt > apply": 1,
	}
	if diff := cmp.Diff(want, parents); diff != "" {
		t.Error(diff)
	}
	if run := got[0]; run.EndTime.Sub(run.StartTime) != 61500*time.Millisecond {
		t.Errorf("the Run took %s", run.EndTime.Sub(run.StartTime))
	}
}

func TestRunOfACommitIsInTheTraceOfTheCommit(t *testing.T) {
	r := witnessed()[0]
	for name, tt := range map[string]struct {
		change     func(*v1alpha1.Run)
		repository types.UID
		want       tracing.ID
	}{
		"a branch": {func(*v1alpha1.Run) {}, "repo-uid", tracing.Commit("repo-uid", "1f3c")},
		"no ref": {func(r *v1alpha1.Run) { r.Spec.Revision = "sha1:1f3c" }, "repo-uid",
			tracing.Commit("repo-uid", "1f3c")},
		"no commit": {func(r *v1alpha1.Run) { r.Spec.Revision = "sha256:1f3c" }, "repo-uid",
			tracing.ID{}},
		"a Repository that is gone": {func(*v1alpha1.Run) {}, "", tracing.ID{}},
		"another cause": {func(r *v1alpha1.Run) {
			r.Spec.Cause.Type = v1alpha1.CauseManual
		}, "repo-uid", tracing.ID{}},
	} {
		run := r.DeepCopy()
		tt.change(run)
		id, parent := DecisionID(run, tt.repository)
		if parent != tt.want {
			t.Errorf("%s: beneath %v, want %v", name, parent, tt.want)
		}
		if alone := tracing.Root("run", "run-uid"); (parent == tracing.ID{}) != (id == alone) ||
			(parent != tracing.ID{} && id.Trace != parent.Trace) {
			t.Errorf("%s: %v beneath %v", name, id, parent)
		}
	}
}

func TestPhaseChangeIsLoggedAsOneLine(t *testing.T) {
	w, _, _, text := witness()
	recordAll(w, witnessed())
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines:\n%s", len(lines), text)
	}
	for _, want := range []string{
		`"namespace":"prod"`, `"stack":"net"`, `"run":"net-7"`, `"operation":"Apply"`, `"from":"Planning"`,
		`"phase":"AwaitingApproval"`, `"reason":"AwaitingApproval"`,
	} {
		if !strings.Contains(lines[1], want) {
			t.Errorf("no %s in %s", want, lines[1])
		}
	}
}

// Text from users or engines is in none of them: messages, approvers, digests of plans, names that a runner invented.
func TestTextOfUsersIsNotInMetricsTracesOrLogs(t *testing.T) {
	w, registry, seen, text := witness()
	recordAll(w, witnessed())
	for name := range samples(t, registry) {
		if strings.Contains(name, "canary") {
			t.Error(name)
		}
	}
	for _, s := range seen.GetSpans() {
		attributes := []string{s.Name, s.Status.Description}
		for _, a := range s.Attributes {
			attributes = append(attributes, a.Value.String())
		}
		if strings.Contains(strings.Join(attributes, " "), "canary") {
			t.Errorf("%q", attributes)
		}
	}
	if strings.Contains(text.String(), "canary") {
		t.Error(text)
	}
}

// What was counted stays counted when another process, or this one after a restart, reads the same Run.
func TestFinishedRunIsNotCountedAgain(t *testing.T) {
	w, registry, seen, text := witness()
	all := witnessed()
	last := all[len(all)-1]
	w.Record(t.Context(), &last.Status, last)
	for name, value := range samples(t, registry) {
		if value != 0 {
			t.Errorf("%s is %v", name, value)
		}
	}
	if len(seen.GetSpans()) > 0 || text.Len() > 0 {
		t.Errorf("%d spans, %s", len(seen.GetSpans()), text)
	}
	(*Recorder)(nil).Record(t.Context(), &all[0].Status, last)
}
