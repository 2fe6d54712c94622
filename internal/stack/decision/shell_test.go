package decision

import (
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

func shells(r *v1alpha1.Run) {
	r.Spec.Operation, r.Status.Plan = v1alpha1.OperationShell, nil
	byHand(r)
	r.Spec.Cause.Message = "asked for by alice"
	r.Status.Attempts = []v1alpha1.Attempt{{Number: 1, Phase: v1alpha1.AttemptShell}}
}

func allowed(w *Snapshot) { w.AllowShell = true }

func TestShells(t *testing.T) {
	decide(t, map[string]decision{
		"a shell is opened, and the Stack says what it said": {
			world: world(allowed, isApplied, asks("Shell")), start: "Shell net-2", ready: "True", reason: "Applied",
		},
		"a drift check that was named but not made is not taken for one that was asked for long ago": {
			world: world(allowed, checks("Report"), isApplied, asks("Shell"), taken, namedFor("net-2", "Plan", "Drift")), start: "Plan net-3", ready: "True", reason: "Applied",
		},
		"not where the install allows none": {
			world: world(isApplied, asks("Shell")), ready: "True", reason: "Applied",
		},
		"it waits for the Run under way": {
			world: world(allowed, had("net-1", "AwaitingApproval", "sha256:now", says("AwaitingApproval")), asks("Shell")), ready: "False", reason: "AwaitingApproval",
		},
		"while one is open the Stack says what it said": {
			world: world(allowed, isApplied, had("net-2", "Shell", "sha256:now", shells), lastRun("net-2")), ready: "True", reason: "Applied",
		},
		"unless somebody waits for its end": {
			world: world(allowed, isApplied, had("net-2", "Shell", "sha256:now", shells), lastRun("net-2"), asks("Apply")), ready: "Unknown", reason: "Running", message: "Run net-2 holds a shell: asked for by alice",
		},
		"or a change does": {
			world: world(allowed, isApplied, had("net-2", "Shell", "sha256:old", shells), lastRun("net-2")), ready: "Unknown", reason: "Running", message: "Run net-2 holds a shell",
		},
		"one that ended decides nothing": {
			world: world(isApplied, had("net-2", "Succeeded", "sha256:now", shells)), ready: "True", reason: "Applied",
		},
		"nor does one that failed": {
			world: world(isApplied, had("net-2", "Failed", "sha256:now", shells, says("PodLost"))), ready: "True", reason: "Applied",
		},
		"nor one that was canceled, and what failed before it still has": {
			world: world(had("net-1", "Failed", "sha256:now"), had("net-2", "Canceled", "sha256:now", shells, says("Canceled"))), ready: "False", reason: "RunFailed", message: "Run net-1 failed", stalled: true,
		},
		"what was to be applied is due after it": {
			world: world(had("net-1", "Superseded", "sha256:now"), had("net-2", "Succeeded", "sha256:now", shells)), start: "Apply net-3", ready: "Unknown", reason: "Running",
		},
		"a state that it lost has to be put back": {
			world: world(isApplied, had("net-2", "Failed", "sha256:now", shells, says("StateNotSaved"))), ready: "False", reason: "StateNotSaved", message: "cairn state recover net", stalled: true,
		},
	})
}

func TestAShellIsNoLookForDrift(t *testing.T) {
	before := lastCheckedAt(world(isApplied))
	if after := lastCheckedAt(world(isApplied, had("net-2", "Succeeded", "sha256:now", shells, ago(time.Minute)))); !after.Equal(before) {
		t.Errorf("looked at %s, and with a shell after it at %s", before, after)
	}
}

func TestAShellLeavesOutputsAndAppliedInputs(t *testing.T) {
	w := world(isApplied, had("net-2", "Succeeded", "sha256:other", shells))
	s := Status(w, Decide(w))
	if s.AppliedInputsDigest != "sha256:now" || len(s.Outputs) != len(w.Stack.Status.Outputs) {
		t.Errorf("%+v", s)
	}
}

func TestARefusedShellSaysWhyOnce(t *testing.T) {
	w := world(isApplied, asks("Shell"))
	if q, why := RejectedRequest(w); !strings.Contains(why, "--allow-shell") || q.At != "now" {
		t.Errorf("%+v, %q", q, why)
	}
	if s := Status(w, Decide(w)); handled(s.LastHandledRequest) != "now rejected" {
		t.Errorf("it is kept: %+v", s.LastHandledRequest)
	}
	if _, why := RejectedRequest(world(allowed, isApplied, asks("Shell"))); why != "" {
		t.Errorf("where shells are allowed: %q", why)
	}
}
