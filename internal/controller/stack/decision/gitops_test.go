package decision

import (
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/gitops"
)

// TestStatusForGitOpsTools checks what Flux (by kstatus) and Argo CD (by its health check) show in each situation of
// docs/contributing/decisions/0043-status-for-gitops-tools.md.
func TestStatusForGitOpsTools(t *testing.T) {
	waiting := withRun("net-1", "AwaitingApproval", "sha256:now", withReason("AwaitingApproval"))
	for name, tt := range map[string]struct {
		snapshot Snapshot
		status   string
		health   string
		// message is a part of the message that Argo CD shows.
		message string
	}{
		"a new Stack": {
			newSnapshot(), "InProgress", "Progressing", "Running",
		},
		"a Run plans or applies": {
			newSnapshot(withRun("net-1", "Applying", "sha256:now", withReason("Applying"))), "InProgress",
			"Progressing", "Running",
		},
		"a Run is retried": {
			newSnapshot(withRun("net-1", "Planning", "sha256:now", withReason("Retrying"))), "InProgress",
			"Progressing", "Retrying",
		},
		"a plan waits for an approval": {
			newSnapshot(waiting), "InProgress", "Suspended", "AwaitingApproval",
		},
		"the Stack is applied": {
			newSnapshot(state(2), withRun("net-1", "Succeeded", "sha256:now")), "Current", "Healthy",
			"Applied: Up to date (2 resources)",
		},
		"a drift check runs": {
			newSnapshot(checks("Report"), isApplied, withRun("net-2", "Planning", "sha256:now", driftCheck),
				lastRun("net-2")), "Current", "Healthy", "Applied",
		},
		"a Run failed": {
			newSnapshot(withRun("net-1", "Failed", "sha256:now")), "Failed", "Degraded", "RunFailed",
		},
		"a user rejected the plan": {
			newSnapshot(withRun("net-1", "Canceled", "sha256:now", rejected)), "Failed", "Degraded", "RunRejected",
		},
		"a Secret is missing": {
			newSnapshot(withMissingSecret), "Failed", "Degraded", "SecretNotFound",
		},
		"a dependency is not Ready": {
			newSnapshot(dependsOn("vpc", "it is not Ready")), "InProgress", "Progressing", "DependencyNotReady",
		},
		"the Stack drifted, and drift is only reported": {
			newSnapshot(checks("Report"), isApplied, knownDrift("net-0")), "Failed", "Degraded", "Drifted",
		},
		"the Stack drifted, and drift is corrected": {
			newSnapshot(checks("Apply"), isApplied, knownDrift("net-0")), "InProgress", "Progressing", "Running",
		},
		"spec.apply is Never and there are changes": {
			newSnapshot(never, withRun("net-1", "Succeeded", "sha256:now", planOperation)), "Failed", "Suspended",
			"ChangesPending",
		},
		"spec.apply is Never and there are no changes": {
			newSnapshot(never, withRun("net-1", "Succeeded", "sha256:now", planOperation, noChanges)), "Current",
			"Healthy", "Applied",
		},
		"the Stack was destroyed on request": {
			newSnapshot(state(0), destroyedBefore), "Failed", "Suspended", "Destroyed",
		},
		"suspended and up to date": {
			newSnapshot(suspended, isApplied), "Current", "Suspended",
			"Suspended: Up to date (3 resources); nothing is planned",
		},
		"suspended with changes": {
			newSnapshot(suspended, isApplied, func(w *Snapshot) { w.Digest = "sha256:new" }), "Failed", "Suspended",
			"cairn resume net",
		},
		"suspended and never applied": {
			newSnapshot(suspended), "Failed", "Suspended", "cairn resume net",
		},
		"suspended with drift": {
			newSnapshot(suspended, checks("Report"), isApplied, knownDrift("net-0")), "Failed", "Suspended",
			"cairn resume net",
		},
		"suspended and the last Run failed": {
			newSnapshot(suspended, withRun("net-1", "Failed", "sha256:now")), "Failed", "Suspended", "cairn resume net",
		},
		"suspended while a Run ends": {
			newSnapshot(suspended, waiting), "InProgress", "Suspended", "AwaitingApproval",
		},
		"deleted with a destroy under way": {
			newSnapshot(deleted, state(2), withRun("net-1", "Applying", "sha256:last", destroyOperation)),
			"Terminating", "Progressing", "Destroying",
		},
		"deleted and spec.deletionPolicy is Protect": {
			newSnapshot(deleted, protect, state(2)), "Terminating", "Degraded", "DeletionProtected",
		},
	} {
		t.Run(name, func(t *testing.T) {
			stack := tt.snapshot.Stack
			stack.Status = Status(tt.snapshot, Decide(tt.snapshot))
			if got := gitops.KStatus(t, stack); got != tt.status {
				t.Errorf("kstatus: %s, want %s: %+v", got, tt.status, stack.Status.Conditions)
			}
			health, message := gitops.ArgoHealth(t, "Stack", stack)
			if health != tt.health || !strings.Contains(message, tt.message) {
				t.Errorf("Argo CD: %s (%s), want %s (%s)", health, message, tt.health, tt.message)
			}
			stack.Generation++
			if stack.DeletionTimestamp == nil && gitops.KStatus(t, stack) != "InProgress" {
				t.Error("kstatus accepts the status as that of the new generation")
			}
			if health, _ := gitops.ArgoHealth(t, "Stack", stack); health != "Progressing" {
				t.Error("Argo CD accepts the status as that of the new generation")
			}
		})
	}
}

// TestSuspendedStackIsNotWrittenWithoutAChange checks that a suspended Stack follows its Runs, and that its status is
// only written when it changes.
func TestSuspendedStackIsNotWrittenWithoutAChange(t *testing.T) {
	w := newSnapshot(suspended, isApplied)
	w.Stack.Status = Status(w, Decide(w))
	arrives := func(w *Snapshot) {
		w.Problem, w.Digest = &Problem{Reason: "Fetching", Message: "it is read", Transient: true}, ""
	}
	arrives(&w)
	w.Now = w.Now.Add(time.Minute)
	if again := Status(w, Decide(w)); gitops.KStatus(t, &v1alpha1.Stack{ObjectMeta: w.Stack.ObjectMeta,
		Status: again}) != "Current" {
		t.Errorf("%+v", again.Conditions)
	}
}
