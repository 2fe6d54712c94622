package decision

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// The text of a message decides nothing.
func TestFailuresAreClassifiedByClassAndReason(t *testing.T) {
	lost := func(reason v1alpha1.FailureReason, message string) func(*Snapshot) {
		return func(w *Snapshot) {
			failed(v1alpha1.FailurePodLost)(w)
			f := runinfo.Current(&w.Run.Status).Failure
			f.Reason, f.Message = reason, message
		}
	}
	for name, tt := range map[string]struct {
		snapshot Snapshot
		waits    bool
	}{
		"an apply whose pod vanished": {
			snapshot(applying, lost(v1alpha1.FailurePodVanished, "any text")), true},
		"an apply whose pod ended, with the text of others": {
			snapshot(applying, lost("", "pod net-7-plan-1 is gone before it reported")), false},
		"a plan whose pod vanished": {snapshot(planning, lost(v1alpha1.FailurePodVanished, "any text")), false},
	} {
		if _, waits := runnerMayBeLeft(tt.snapshot); waits != tt.waits {
			t.Errorf("%s: its runner may be left: %v", name, waits)
		}
	}
	ended := func(w *Snapshot) { w.Pod = Pod{State: PodEnded, Message: "was evicted", Detail: "memory"} }
	interrupted := func(reason v1alpha1.FailureReason) func(*Snapshot) {
		return func(w *Snapshot) {
			failed(v1alpha1.FailureTransient)(w)
			runinfo.Current(&w.Run.Status).Failure.Reason = reason
		}
	}
	for name, tt := range map[string]struct {
		reason    v1alpha1.FailureReason
		explained bool
	}{
		"of which the cause is not known": {v1alpha1.FailureInterrupted, true},
		"of which the cause is known":     {v1alpha1.FailurePodTerminated, false},
		"an empty reason":                 {"", false},
	} {
		d, explained := interruptIsExplained(snapshot(planning, interrupted(tt.reason), ended))
		if explained != tt.explained || explained && d.Explain.Reason != v1alpha1.FailurePodTerminated {
			t.Errorf("an interrupt %s: %+v", name, d.Explain)
		}
	}
	for reason, want := range map[v1alpha1.FailureReason]bool{v1alpha1.FailureImagePullFailed: true, "": false} {
		w := snapshot(cannotPull)
		runinfo.Current(&w.Run.Status).Failure.Reason = reason
		if got := isLostImage(w); got != want {
			t.Errorf("a pod that cannot start for %q has lost its image: %v", reason, got)
		}
	}
}
