package run

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
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

func TestStepsAreToldFromTheFirstToTheLast(t *testing.T) {
	done := func(r runnerapi.Report, d runnerapi.Done) runnerapi.Report { r.Done = &d; return r }
	transient := &runnerapi.Failure{Class: "Transient", Message: "so it is"}
	for name, tt := range map[string]struct {
		report runnerapi.Report
		want   string
	}{
		"those that wait are shown": {steps("fetch=Succeeded", "init=Running", "plan=Waiting"), "fetch=Succeeded init=Running plan=Waiting"},
		"at the end all are as they were told": {
			done(steps("fetch=Succeeded", "after-plan=Failed", "outputs=Skipped"), runnerapi.Done{Plan: planOne}),
			"fetch=Succeeded after-plan=Failed outputs=Skipped",
		},
		"what runs at the end has failed, and what waits is skipped": {
			done(steps("fetch=Succeeded", "init=Running", "plan=Waiting"), runnerapi.Done{Failure: transient}),
			"fetch=Succeeded init=Failed plan=Skipped",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := world(planning)
			fold(&w.Run.Status, tt.report, now.Add(time.Minute))
			got := ""
			for _, st := range current(&w.Run.Status).Steps {
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

// A pod that goes away leaves no step that seems to be at work, or to come.
func TestStepsOfALostAttemptAreClosed(t *testing.T) {
	w := world(planning, pod(PodGone))
	fold(&w.Run.Status, steps("fetch=Succeeded", "init=Running", "plan=Waiting"), now)
	s, _ := Settle(w)
	got := ""
	for _, st := range current(&s).Steps {
		got += string(st.State) + " "
	}
	if got != "Succeeded Failed Skipped " {
		t.Errorf("got %q", got)
	}
}

func TestOnlyAnApplyThatFailedHasChangedAPart(t *testing.T) {
	seven, failure := ptr(int32(7)), &runnerapi.Failure{Class: "Canceled", Message: "canceled by bob"}
	for name, tt := range map[string]struct {
		world World
		done  runnerapi.Done
		want  *int32
	}{
		"an apply that was canceled": {world(applying), runnerapi.Done{Failure: failure, Changed: seven}, seven},
		"one that went well":         {world(applying), runnerapi.Done{Changed: seven}, nil},
		"a plan":                     {world(planning), runnerapi.Done{Failure: failure, Changed: seven}, nil},
	} {
		fold(&tt.world.Run.Status, runnerapi.Report{Done: &tt.done}, now)
		if got := current(&tt.world.Run.Status).Changed; (got == nil) != (tt.want == nil) || (got != nil && *got != *tt.want) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// A runner cannot cancel its own Run.
func TestCanceledIsOnlyBelievedOfARunThatWas(t *testing.T) {
	for canceled, want := range map[bool]v1alpha1.FailureClass{true: v1alpha1.FailureCanceled, false: v1alpha1.FailureTransient} {
		w := world(applying)
		w.Run.Spec.Cancel = canceled
		fold(&w.Run.Status, runnerapi.Report{Done: &runnerapi.Done{Failure: &runnerapi.Failure{Class: "Canceled", Message: "canceled by bob"}}}, now)
		doubt(w.Run)
		if got := current(&w.Run.Status).Failure.Class; got != want {
			t.Errorf("canceled %v: the failure is %s, want %s", canceled, got, want)
		}
	}
}

// The answer to a last report was lost, and it comes again: it is there, unless the attempt was given up before.
func TestALastReportThatComesAgain(t *testing.T) {
	last := runnerapi.Report{Done: &runnerapi.Done{}}
	for name, tt := range map[string]struct {
		attempt v1alpha1.Attempt
		report  runnerapi.Report
		there   bool
	}{
		"it is there":                     {v1alpha1.Attempt{Number: 1, PodUID: "pod", FinishedAt: &metav1.MicroTime{Time: now}}, last, true},
		"it is there, and says a failure": {v1alpha1.Attempt{Number: 1, PodUID: "pod", FinishedAt: &metav1.MicroTime{Time: now}, Failure: &v1alpha1.Failure{Class: v1alpha1.FailureConfigurationError}}, last, true},
		"the attempt was given up":        {v1alpha1.Attempt{Number: 1, PodUID: "pod", FinishedAt: &metav1.MicroTime{Time: now}, Failure: &v1alpha1.Failure{Class: v1alpha1.FailurePodLost}}, last, false},
		"the attempt is another's":        {v1alpha1.Attempt{Number: 1, PodUID: "other", FinishedAt: &metav1.MicroTime{Time: now}}, last, false},
		"it is of another attempt":        {v1alpha1.Attempt{Number: 2, PodUID: "pod", FinishedAt: &metav1.MicroTime{Time: now}}, last, false},
		"the attempt goes on":             {v1alpha1.Attempt{Number: 1, PodUID: "pod"}, last, false},
		"it is not the last one":          {v1alpha1.Attempt{Number: 1, PodUID: "pod", FinishedAt: &metav1.MicroTime{Time: now}}, runnerapi.Report{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			run := &v1alpha1.Run{Status: v1alpha1.RunStatus{Attempts: []v1alpha1.Attempt{tt.attempt}}}
			if told(run, "pod", 1, tt.report) != tt.there {
				t.Error("it is not so")
			}
		})
	}
}
