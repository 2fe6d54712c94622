package decision

import (
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

func shellOperation(r *v1alpha1.Run) {
	r.Spec.Operation, r.Status.Plan = v1alpha1.OperationShell, nil
	requestedByAlice(r)
	r.Spec.Cause.Message = "requested by alice"
	r.Status.Attempts = []v1alpha1.Attempt{{Number: 1, Phase: v1alpha1.AttemptShell}}
}

func allowed(w *Snapshot) { w.AllowShell = true }

func TestShellRequests(t *testing.T) {
	decide(t, map[string]decision{
		"a shell starts, and the status is kept": {
			snapshot: newSnapshot(allowed, isApplied, withRequest("Shell")), start: "Shell net-2", ready: "True",
			reason: "Applied",
		},
		"a reserved drift check is not a shell that was requested long ago": {
			snapshot: newSnapshot(allowed, checks("Report"), isApplied, withRequest("Shell"), withHandledRequest,
				reservedFor("net-2", "Plan", "Drift")), start: "Plan net-3", ready: "True", reason: "Applied",
		},
		"a shell is rejected without --allow-shell": {
			snapshot: newSnapshot(isApplied, withRequest("Shell")), ready: "True", reason: "Applied",
		},
		"a shell waits for the Run under way": {
			snapshot: newSnapshot(allowed, withRun("net-1", "AwaitingApproval", "sha256:now",
				withReason("AwaitingApproval")), withRequest("Shell")), ready: "False", reason: "AwaitingApproval",
		},
		"the status is kept during a shell": {
			snapshot: newSnapshot(allowed, isApplied, withRun("net-2", "Shell", "sha256:now", shellOperation),
				lastRun("net-2")), ready: "True", reason: "Applied",
		},
		"a request that waits for the shell is reported": {
			snapshot: newSnapshot(allowed, isApplied, withRun("net-2", "Shell", "sha256:now", shellOperation),
				lastRun("net-2"), withRequest("Apply")), ready: "Unknown", reason: "Running",
			message: "Run net-2 holds a shell: requested by alice",
		},
		"a change that waits for the shell is reported": {
			snapshot: newSnapshot(allowed, isApplied, withRun("net-2", "Shell", "sha256:old", shellOperation),
				lastRun("net-2")), ready: "Unknown", reason: "Running", message: "Run net-2 holds a shell",
		},
		"a shell that ended does not change the status": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Succeeded", "sha256:now", shellOperation)),
			ready:    "True", reason: "Applied",
		},
		"a shell that failed does not change the status": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Failed", "sha256:now", shellOperation,
				withReason("PodLost"))), ready: "True", reason: "Applied",
		},
		"a canceled shell keeps the earlier failure": {
			snapshot: newSnapshot(withRun("net-1", "Failed", "sha256:now"),
				withRun("net-2", "Canceled", "sha256:now", shellOperation, withReason("Canceled"))), ready: "False",
			reason: "RunFailed", message: "Run net-1 failed", stalled: true,
		},
		"the apply that was due is started after a shell": {
			snapshot: newSnapshot(withRun("net-1", "Superseded", "sha256:now"),
				withRun("net-2", "Succeeded", "sha256:now", shellOperation)), start: "Apply net-3", ready: "Unknown",
			reason: "Running",
		},
		"a state that a shell lost has to be restored": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Failed", "sha256:now", shellOperation,
				withReason("StateNotSaved"))), ready: "False", reason: "StateNotSaved",
			message: "cairn state recover net", stalled: true,
		},
	})
}

func TestShellIsNotADriftCheck(t *testing.T) {
	before := lastCheckedAt(newSnapshot(isApplied))
	if after := lastCheckedAt(newSnapshot(isApplied, withRun("net-2", "Succeeded", "sha256:now", shellOperation,
		ago(time.Minute)))); !after.Equal(before) {
		t.Errorf("last checked at %s, and after a shell at %s", before, after)
	}
}

func TestShellKeepsOutputsAndAppliedInputs(t *testing.T) {
	w := newSnapshot(isApplied, withRun("net-2", "Succeeded", "sha256:other", shellOperation))
	s := Status(w, Decide(w))
	if s.AppliedInputsDigest != "sha256:now" || len(s.Outputs) != len(w.Stack.Status.Outputs) {
		t.Errorf("%+v", s)
	}
}

func TestRejectedShellIsReportedOnce(t *testing.T) {
	w := newSnapshot(isApplied, withRequest("Shell"))
	if q, why := RejectedRequest(w); !strings.Contains(why, "--allow-shell") || q.At != "now" {
		t.Errorf("%+v, %q", q, why)
	}
	if s := Status(w, Decide(w)); handled(s.LastHandledRequest) != "now rejected" {
		t.Errorf("the request is not marked as rejected: %+v", s.LastHandledRequest)
	}
	if _, why := RejectedRequest(newSnapshot(allowed, isApplied, withRequest("Shell"))); why != "" {
		t.Errorf("rejected where shells are allowed: %q", why)
	}
}
