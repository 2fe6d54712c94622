package dispatch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/utils/ptr"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

func steps(names ...string) runnerapi.Report {
	var r runnerapi.Report
	for _, n := range names {
		name, state, _ := strings.Cut(n, "=")
		r.Steps = append(r.Steps, runnerapi.Step{Name: name, State: state})
	}
	return r
}

func TestStepsAreReportedInOrder(t *testing.T) {
	done := func(r runnerapi.Report, d runnerapi.Done) runnerapi.Report { r.Done = &d; return r }
	transient := &runnerapi.Failure{Class: "Transient", Message: "so it is"}
	for name, tt := range map[string]struct {
		report runnerapi.Report
		want   string
	}{
		"those that wait are shown": {steps("fetch=Succeeded", "init=Running", "plan=Waiting"),
			"fetch=Succeeded init=Running plan=Waiting"},
		"at the end all are as they were reported": {
			done(steps("fetch=Succeeded", "after-plan=Failed", "outputs=Skipped"), runnerapi.Done{Plan: planOne}),
			"fetch=Succeeded after-plan=Failed outputs=Skipped",
		},
		"what runs at the end has failed, and what waits is skipped": {
			done(steps("fetch=Succeeded", "init=Running", "plan=Waiting"), runnerapi.Done{Failure: transient}),
			"fetch=Succeeded init=Failed plan=Skipped",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := snapshot(planning)
			applyReport(&w.Run.Status, tt.report, now.Add(time.Minute))
			got := ""
			for _, st := range runinfo.Current(&w.Run.Status).Steps {
				got += fmt.Sprintf("%s=%s ", st.Name, st.State)
				if st.State == v1alpha1.StepSkipped && (st.StartedAt != nil || st.FinishedAt != nil) {
					t.Errorf("step %s was skipped and has times", st.Name)
				}
			}
			if strings.TrimSpace(got) != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A pod that is gone leaves no step running or waiting.
func TestStepsOfALostAttemptAreClosed(t *testing.T) {
	w := snapshot(planning)
	w.Pod = decision.Pod{State: decision.PodGone, Message: "is gone"}
	applyReport(&w.Run.Status, steps("fetch=Succeeded", "init=Running", "plan=Waiting"), now)
	s, _ := decision.Settle(w)
	got := ""
	for _, st := range runinfo.Current(&s).Steps {
		got += string(st.State) + " "
	}
	if got != "Succeeded Failed Skipped " {
		t.Errorf("got %q", got)
	}
}

func TestOnlyAFailedApplyChangesAPart(t *testing.T) {
	seven, failure := ptr.To(int32(7)), &runnerapi.Failure{Class: "Canceled", Message: "canceled by bob"}
	for name, tt := range map[string]struct {
		snapshot decision.Snapshot
		done     runnerapi.Done
		want     *int32
	}{
		"an apply that was canceled": {snapshot(applying), runnerapi.Done{Failure: failure, Changed: seven}, seven},
		"one that went well":         {snapshot(applying), runnerapi.Done{Changed: seven}, nil},
		"a plan":                     {snapshot(planning), runnerapi.Done{Failure: failure, Changed: seven}, nil},
	} {
		applyReport(&tt.snapshot.Run.Status, runnerapi.Report{Done: &tt.done}, now)
		if got := runinfo.Current(&tt.snapshot.Run.Status).Changed; (got == nil) != (tt.want == nil) ||
			(got != nil && *got != *tt.want) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// A runner cannot cancel its own Run.
func TestCanceledIsAcceptedOnlyForACanceledRun(t *testing.T) {
	for canceled, want := range map[bool]v1alpha1.FailureClass{true: v1alpha1.FailureCanceled,
		false: v1alpha1.FailureTransient} {
		w := snapshot(applying)
		w.Run.Spec.Cancel = canceled
		applyReport(&w.Run.Status,
			runnerapi.Report{Done: &runnerapi.Done{Failure: &runnerapi.Failure{Class: "Canceled",
				Message: "canceled by bob"}}}, now)
		rejectUnrequestedCancel(w.Run)
		if got := runinfo.Current(&w.Run.Status).Failure.Class; got != want {
			t.Errorf("canceled %v: the failure is %s, want %s", canceled, got, want)
		}
	}
}

// The answer to a last report was lost, and the runner sends it again: it is accepted, unless the attempt was abandoned
// before.
func TestLastReportIsAcceptedAgain(t *testing.T) {
	last := runnerapi.Report{Done: &runnerapi.Done{}}
	for name, tt := range map[string]struct {
		attempt v1alpha1.Attempt
		report  runnerapi.Report
		there   bool
	}{
		"it is there": {v1alpha1.Attempt{Number: 1, PodUID: "pod",
			FinishedAt: &metav1.MicroTime{Time: now}}, last, true},
		"it is there, and says a failure": {v1alpha1.Attempt{Number: 1, PodUID: "pod",
			FinishedAt: &metav1.MicroTime{Time: now},
			Failure:    &v1alpha1.Failure{Class: v1alpha1.FailureConfigurationError}}, last, true},
		"the attempt was given up": {v1alpha1.Attempt{Number: 1, PodUID: "pod",
			FinishedAt: &metav1.MicroTime{Time: now}, Failure: &v1alpha1.Failure{Class: v1alpha1.FailurePodLost}},
			last, false},
		"the attempt is another's": {v1alpha1.Attempt{Number: 1, PodUID: "other",
			FinishedAt: &metav1.MicroTime{Time: now}}, last, false},
		"it is of another attempt": {v1alpha1.Attempt{Number: 2, PodUID: "pod",
			FinishedAt: &metav1.MicroTime{Time: now}}, last, false},
		"the attempt goes on": {v1alpha1.Attempt{Number: 1, PodUID: "pod"}, last, false},
		"it is not the last one": {v1alpha1.Attempt{Number: 1, PodUID: "pod", FinishedAt: &metav1.MicroTime{Time: now}},
			runnerapi.Report{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			run := &v1alpha1.Run{Status: v1alpha1.RunStatus{Attempts: []v1alpha1.Attempt{tt.attempt}}}
			if alreadyReported(run, "pod", 1, tt.report) != tt.there {
				t.Error("it is not so")
			}
		})
	}
}

func TestInvalidWrappedEngineIsNotRecorded(t *testing.T) {
	for name, w := range map[string]*runnerapi.WrappedEngine{
		"none":                  nil,
		"one without a version": {Name: "OpenTofu"},
		"another engine":        {Name: "Terragrunt", Version: "1.0.0"},
		"a long version":        {Name: "OpenTofu", Version: strings.Repeat("1", 101)},
	} {
		if got := planOf(&runnerapi.Plan{Wrapped: w}).Wrapped; got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A plan or outputs reported by the pod of a shell are ignored, because a user works in it.
func TestShellReportsNeitherPlanNorOutputs(t *testing.T) {
	w := snapshot(inShell)
	applyReport(&w.Run.Status,
		runnerapi.Report{Done: &runnerapi.Done{Plan: &runnerapi.Plan{Digest: "sha256:x", Changes: true},
			Outputs: map[string]json.RawMessage{"a": json.RawMessage("1")}}}, now)
	if s := w.Run.Status; s.Plan != nil || s.Outputs != nil || s.Attempts[0].FinishedAt == nil {
		t.Errorf("%+v", s)
	}
}

func TestBuildReportsItsImage(t *testing.T) {
	for name, tt := range map[string]struct {
		done runnerapi.Done
		want string // digest, or the failure
	}{
		"an image": {runnerapi.Done{Image: imageDigest}, imageDigest},
		"none":     {runnerapi.Done{}, "Transient: the runner reported neither an image nor a failure"},
		"no digest": {runnerapi.Done{Image: "registry.example.com/evil:1"},
			"Transient: the runner reported neither an image nor a failure"},
		"a failure": {runnerapi.Done{Failure: &runnerapi.Failure{Class: "ConfigurationError", Message: "boom"}},
			"ConfigurationError: boom"},
		"an image of old": {runnerapi.Done{Image: strings.ToUpper(imageDigest)},
			"Transient: the runner reported neither an image nor a failure"},
	} {
		w := snapshot(building)
		applyReport(&w.Run.Status, runnerapi.Report{Done: &tt.done}, now)
		got := w.Run.Status.Image.Digest
		if f := runinfo.Current(&w.Run.Status).Failure; f != nil {
			got += string(f.Class) + ": " + f.Message
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	w := snapshot(planning, func(w *decision.Snapshot) { w.Run.Status.Image = built("sha256:key") })
	applyReport(&w.Run.Status,
		runnerapi.Report{Done: &runnerapi.Done{Image: "sha256:" + strings.Repeat("0", 64), Plan: &runnerapi.Plan{}}},
		now)
	if w.Run.Status.Image.Digest != imageDigest {
		t.Error("a plan has changed the image that it runs in")
	}
}

// A Dockerfile runs arbitrary code, so outputs reported by a build are ignored.
func TestBuildHasNoOutputs(t *testing.T) {
	w := snapshot(building)
	applyReport(&w.Run.Status,
		runnerapi.Report{Done: &runnerapi.Done{Image: imageDigest,
			Outputs: map[string]json.RawMessage{"id": json.RawMessage(`"evil"`)}}}, now)
	if w.Run.Status.Outputs != nil {
		t.Errorf("the Run has outputs: %s", w.Run.Status.Outputs)
	}
}
