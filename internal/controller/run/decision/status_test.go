package decision

import (
	"slices"
	"testing"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// However often a Run is retried, its status keeps that an apply began.
func TestTrimKeepsTheApplyThatBegan(t *testing.T) {
	w := snapshot(applying, failed(v1alpha1.FailureTransient))
	s := w.Run.Status
	applies := 0
	for range 3 * maxAttempts {
		before := slices.Clone(s.Attempts)
		s = Begin(s, Decision{Begin: v1alpha1.AttemptPlan}, 1, "pod", "uid", now)
		if !runinfo.Began(&v1alpha1.Run{Status: s}) {
			t.Fatalf("forgotten after attempt %d", runinfo.Current(&s).Number)
		}
		for i := range before[1:] {
			if before[i].Number >= before[i+1].Number {
				t.Fatal("the attempts that were there are changed")
			}
		}
	}
	for i, a := range s.Attempts {
		if runinfo.IsApply(a) {
			applies++
		}
		if i > 0 && a.Number <= s.Attempts[i-1].Number {
			t.Errorf("attempt %d comes after %d", a.Number, s.Attempts[i-1].Number)
		}
	}
	if len(s.Attempts) != maxAttempts || applies != 1 || s.Attempts[0].Number != 2 ||
		runinfo.Current(&s).Number != 2+3*maxAttempts {
		t.Errorf("%d attempts with %d applies, from %d to %d", len(s.Attempts), applies, s.Attempts[0].Number,
			runinfo.Current(&s).Number)
	}
	s = Begin(s, Decision{Begin: v1alpha1.AttemptApply}, 1, "pod", "uid", now)
	if s.Attempts[0].Number == 2 {
		t.Error("an older apply is kept beside a newer one")
	}
}

// The image of a plan is written once, while another pod may apply it.
func TestImageOfAPlanIsWrittenOnce(t *testing.T) {
	waits := func(w *Snapshot) { w.Stack.Spec.Apply = v1alpha1.ApplyManual }
	for name, tt := range map[string]struct {
		options []func(*Snapshot)
		want    string
	}{
		"a plan that waits":       {[]func(*Snapshot){planned, waits}, "a@sha256:1"},
		"a plan that is too late": {[]func(*Snapshot){planned, later(time.Hour)}, "a@sha256:1"},
		"a plan with an image": {[]func(*Snapshot){planned, waits, func(w *Snapshot) {
			w.Run.Status.Plan.Image = "before"
		}}, "before"},
		"a plan that goes on at once": {[]func(*Snapshot){planned}, ""},
		"a plan without changes": {[]func(*Snapshot){planned, waits, func(w *Snapshot) {
			w.Run.Status.Plan.Changes = false
		}}, ""},
		"a plan that failed": {[]func(*Snapshot){planned, waits, failed(v1alpha1.FailureTransient)}, ""},
		"a plan that is only read": {[]func(*Snapshot){planned, waits, func(w *Snapshot) {
			w.Run.Spec.Operation = v1alpha1.OperationPlan
		}}, ""},
	} {
		w := snapshot(append(tt.options, func(w *Snapshot) { w.Pod = Pod{State: PodRunning, Image: "a@sha256:1"} })...)
		if status, _ := Settle(w); status.Plan.Image != tt.want {
			t.Errorf("%s: %q, want %q", name, status.Plan.Image, tt.want)
		}
	}
}
