package decision

import (
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/gitops"
)

// What Flux (by kstatus) and Argo CD (by its health check) take a Stack for, in each situation of
// docs/decisions/0043-status-for-gitops-tools.md.
func TestStacksAreToldToGitOpsTools(t *testing.T) {
	waiting := had("net-1", "AwaitingApproval", "sha256:now", says("AwaitingApproval"))
	for name, tt := range map[string]struct {
		world  Snapshot
		status string
		health string
		// message is a part of what Argo CD shows.
		message string
	}{
		"a new Stack": {
			world(), "InProgress", "Progressing", "Running",
		},
		"a Run plans or applies": {
			world(had("net-1", "Applying", "sha256:now", says("Applying"))), "InProgress", "Progressing", "Running",
		},
		"a Run tries again": {
			world(had("net-1", "Planning", "sha256:now", says("Retrying"))), "InProgress", "Progressing", "Retrying",
		},
		"a plan waits for an approval": {
			world(waiting), "InProgress", "Suspended", "AwaitingApproval",
		},
		"it is applied": {
			world(state(2), had("net-1", "Succeeded", "sha256:now")), "Current", "Healthy", "Applied: 2 resources",
		},
		"a drift check runs": {
			world(checks("Report"), isApplied, had("net-2", "Planning", "sha256:now", looks), lastRun("net-2")), "Current", "Healthy", "Applied",
		},
		"a Run failed": {
			world(had("net-1", "Failed", "sha256:now")), "Failed", "Degraded", "RunFailed",
		},
		"somebody rejected the plan": {
			world(had("net-1", "Canceled", "sha256:now", rejected)), "Failed", "Degraded", "RunRejected",
		},
		"a Secret is missing": {
			world(missing), "Failed", "Degraded", "SecretNotFound",
		},
		"a dependency is not Ready": {
			world(dependsOn("vpc", "it is not Ready")), "InProgress", "Progressing", "DependencyNotReady",
		},
		"it drifted, and that is only reported": {
			world(checks("Report"), isApplied, knownDrift("net-0")), "Failed", "Degraded", "Drifted",
		},
		"it drifted, and that is corrected": {
			world(checks("Apply"), isApplied, knownDrift("net-0")), "InProgress", "Progressing", "Running",
		},
		"changes are only shown": {
			world(never, had("net-1", "Succeeded", "sha256:now", plans)), "Failed", "Suspended", "ChangesPending",
		},
		"there are no changes to show": {
			world(never, had("net-1", "Succeeded", "sha256:now", plans, noChanges)), "Current", "Healthy", "Applied",
		},
		"it was destroyed on request": {
			world(state(0), destroyedBefore), "Failed", "Suspended", "Destroyed",
		},
		"it is suspended and as declared": {
			world(suspended, isApplied), "Current", "Suspended", "Suspended: 3 resources are as declared; nothing is planned",
		},
		"it is suspended and has changes": {
			world(suspended, isApplied, func(w *Snapshot) { w.Digest = "sha256:new" }), "Failed", "Suspended", "cairn resume net",
		},
		"it is suspended and was never applied": {
			world(suspended), "Failed", "Suspended", "cairn resume net",
		},
		"it is suspended and drifted": {
			world(suspended, checks("Report"), isApplied, knownDrift("net-0")), "Failed", "Suspended", "cairn resume net",
		},
		"it is suspended and its last Run failed": {
			world(suspended, had("net-1", "Failed", "sha256:now")), "Failed", "Suspended", "cairn resume net",
		},
		"it is suspended while a Run ends": {
			world(suspended, waiting), "InProgress", "Suspended", "AwaitingApproval",
		},
		"it is deleted and destroys": {
			world(deleted, state(2), had("net-1", "Applying", "sha256:kept", destroys)), "Terminating", "Progressing", "Destroying",
		},
		"it is deleted and spec.deletionPolicy is Protect": {
			world(deleted, protect, state(2)), "Terminating", "Degraded", "DeletionProtected",
		},
	} {
		t.Run(name, func(t *testing.T) {
			stack := tt.world.Stack
			stack.Status = Status(tt.world, Decide(tt.world))
			if got := gitops.KStatus(t, stack); got != tt.status {
				t.Errorf("kstatus: %s, want %s: %+v", got, tt.status, stack.Status.Conditions)
			}
			health, message := gitops.ArgoHealth(t, "Stack", stack)
			if health != tt.health || !strings.Contains(message, tt.message) {
				t.Errorf("Argo CD: %s (%s), want %s (%s)", health, message, tt.health, tt.message)
			}
			stack.Generation++
			if stack.DeletionTimestamp == nil && gitops.KStatus(t, stack) != "InProgress" {
				t.Error("kstatus takes the status for one of the new generation")
			}
			if health, _ := gitops.ArgoHealth(t, "Stack", stack); health != "Progressing" {
				t.Error("Argo CD takes the status for one of the new generation")
			}
		})
	}
}

// A suspended Stack follows what happens, and is not written while nothing does.
func TestASuspendedStackStaysAsItIs(t *testing.T) {
	w := world(suspended, isApplied)
	w.Stack.Status = Status(w, Decide(w))
	arrives := func(w *Snapshot) {
		w.Problem, w.Digest = &Problem{Reason: "Fetching", Message: "it is read", Transient: true}, ""
	}
	arrives(&w)
	w.Now = w.Now.Add(time.Minute)
	if again := Status(w, Decide(w)); gitops.KStatus(t, &v1alpha1.Stack{ObjectMeta: w.Stack.ObjectMeta, Status: again}) != "Current" {
		t.Errorf("%+v", again.Conditions)
	}
}
