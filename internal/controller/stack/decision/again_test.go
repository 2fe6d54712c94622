package decision

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

func causedByUser(r *v1alpha1.Run)  { r.Spec.Cause.Type = v1alpha1.CauseManual }
func causedByDrift(r *v1alpha1.Run) { r.Spec.Cause.Type = v1alpha1.CauseDrift }

func TestRetryIsInTheStatus(t *testing.T) {
	failed := withRun("net-1", "Failed", "sha256:now", applyStarted)
	failedDestroy := withRun("net-1", "Failed", "sha256:last", destroyOperation, applyStarted)
	done := withRun("net-1", "Succeeded", "sha256:now", applyStarted)
	for name, tt := range map[string]struct {
		of   Snapshot
		want string
	}{
		"nothing for a new Stack whose inputs have a problem": {of: newSnapshot(withMissingSecret)},
		"an apply that begins":                                {of: newSnapshot(), want: "Apply net-1"},
		"an apply that is under way": {
			of: newSnapshot(withRun("net-1", "Planning", "sha256:now")), want: "Apply net-1"},
		"an apply that failed": {of: newSnapshot(failed), want: "Apply net-1"},
		"an apply that was canceled": {of: newSnapshot(withRun("net-1", "Canceled", "sha256:now")),
			want: "Apply net-1"},
		"nothing after an apply that succeeded": {of: newSnapshot(isApplied, done)},
		"nothing after an apply that was replaced": {
			of: newSnapshot(isApplied, withRun("net-1", "Superseded", "sha256:old"))},
		"not a drift check after it": {
			of:   newSnapshot(failed, withRun("net-2", "Succeeded", "sha256:now", planOperation, causedByDrift)),
			want: "Apply net-1",
		},
		"not a requested plan after it": {
			of:   newSnapshot(failed, withRun("net-2", "Failed", "sha256:now", planOperation, causedByUser)),
			want: "Apply net-1",
		},
		"but the requested plan with spec.apply Never": {
			of:   newSnapshot(never, failed, withRun("net-2", "Failed", "sha256:now", planOperation, causedByUser)),
			want: "Apply net-2",
		},
		"not a destroy that is no longer requested": {
			of:   newSnapshot(failed, withRun("net-2", "Superseded", "sha256:last", destroyOperation)),
			want: "Apply net-1",
		},
		"a destroy that failed": {of: newSnapshot(state(3), failedDestroy), want: "Destroy net-1"},
		"a destroy that failed, after a shell that was canceled": {
			of:   newSnapshot(state(3), failedDestroy, withRun("net-2", "Canceled", "sha256:now", shellOperation)),
			want: "Destroy net-1",
		},
		"a destroy that failed, after a shell": {
			of:   newSnapshot(state(3), failedDestroy, withRun("net-2", "Succeeded", "sha256:now", shellOperation)),
			want: "Destroy net-1",
		},
		"a destroy that failed, after a shell that lost its state": {
			of: newSnapshot(state(3), failedDestroy, withRun("net-2", "Failed", "sha256:now", shellOperation,
				withReason("StateNotSaved"))), want: "Destroy net-1",
		},
		"a destroy that failed, while a shell begins": {
			of: newSnapshot(allowed, state(3), failedDestroy, withRequest("Shell")), want: "Destroy net-1",
		},
		"a destroy after an apply that failed, when the Stack is deleted": {of: newSnapshot(deleted, state(3), failed),
			want: "Destroy net-2"},
		"a destroy of a deleted Stack that no Run changed": {of: newSnapshot(deleted, protect, state(3)),
			want: "Destroy"},
		"nothing for a deleted Stack that is protected": {of: newSnapshot(deleted, protect, state(3), done)},
		"a destroy that succeeded and left resources": {
			of: newSnapshot(deleted, state(3), withRun("net-1", "Succeeded", "sha256:last", destroyOperation,
				applyStarted)), want: "Destroy net-1",
		},
	} {
		got := ""
		if again := Status(tt.of, Decide(tt.of)).Retry; again != nil {
			got = string(again.Operation)
			if again.Run != "" {
				got += " " + again.Run
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestDestroyThatStoppedStaysStoppedAfterAShell checks that nothing is created again after a user restored the state
// that a shell lost.
func TestDestroyThatStoppedStaysStoppedAfterAShell(t *testing.T) {
	lost := withRun("net-2", "Failed", "sha256:now", shellOperation, withReason("StateNotSaved"),
		func(r *v1alpha1.Run) {
			r.Status.Attempts[0].FinishedAt = &metav1.MicroTime{Time: now.Add(-time.Hour)}
		})
	restored := func(w *Snapshot) { w.State.Status.Versions = []v1alpha1.StateVersion{{At: metav1.Time{Time: now}}} }
	decide(t, map[string]decision{
		"a destroy that failed": {
			snapshot: newSnapshot(state(3), withRun("net-1", "Failed", "sha256:last", destroyOperation, applyStarted),
				lost, restored),
			ready: "False", reason: "RunFailed", message: "Run net-1 failed", stalled: true,
		},
	})
}
