package decision

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// withRequest adds a request of alice that is a moment old. The Stack was reconciled before.
func withRequest(operation v1alpha1.Operation) func(*Snapshot) {
	return func(w *Snapshot) {
		w.Stack.Status.ObservedGeneration = w.Stack.Generation
		annotate(v1alpha1.RequestedAtAnnotation, "now")(w)
		annotate(v1alpha1.RequestedOperationAnnotation, string(operation))(w)
		annotate(v1alpha1.RequestedByAnnotation, "alice")(w)
	}
}

func annotate(key, value string) func(*Snapshot) {
	return func(w *Snapshot) {
		if w.Stack.Annotations == nil {
			w.Stack.Annotations = map[string]string{}
		}
		w.Stack.Annotations[key] = value
	}
}

func requestRejected(w *Snapshot) { w.Stack.Status.LastHandledRequest.Rejected = true }

// handled formats the last handled request of a status.
func handled(r *v1alpha1.HandledRequest) string {
	switch {
	case r == nil:
		return ""
	case r.Rejected:
		return r.Value + " rejected"
	default:
		return r.Value
	}
}

func withHandledRequest(w *Snapshot) {
	w.Stack.Status.LastHandledRequest = &v1alpha1.HandledRequest{Value: "now"}
}
func neverReconciled(w *Snapshot) { w.Stack.Status.ObservedGeneration = -1 }
func requestedByAlice(r *v1alpha1.Run) {
	r.Spec.Cause = v1alpha1.Cause{Type: v1alpha1.CauseManual, By: "alice"}
}
func rejected(r *v1alpha1.Run) { withReason("Rejected")(r) }
func destroyedBefore(w *Snapshot) {
	w.Stack.Status.DestroyedByRun = "net-2"
	withRun("net-2", "Succeeded", "sha256:last", destroyOperation, requestedByAlice)(w)
}
func requestedPlan(r *v1alpha1.Run) { planOperation(r); requestedByAlice(r) }
func notBegun(r *v1alpha1.Run) {
	r.Status.Attempts = []v1alpha1.Attempt{{
		Phase: v1alpha1.AttemptApply, FinishedAt: &metav1.MicroTime{Time: now},
		Failure: &v1alpha1.Failure{Class: v1alpha1.FailureCanceled},
		Steps: []v1alpha1.Step{{Name: "before-apply", State: v1alpha1.StepFailed},
			{Name: "apply", State: v1alpha1.StepSkipped}},
	}}
}
func ofDeletion(r *v1alpha1.Run) { r.Spec.Cause.Type = v1alpha1.CauseDeletion }

// createdAfter sets the creation time of a Run, relative to the deletion of the Stack.
func createdAfter(after time.Duration) func(*v1alpha1.Run) {
	return func(r *v1alpha1.Run) { r.CreationTimestamp = metav1.NewTime(now.Add(after)) }
}
func noPlan(r *v1alpha1.Run) { r.Status.Plan = nil }
func withDependent(d Dependent) func(*Snapshot) {
	return func(w *Snapshot) { w.Dependents = append(w.Dependents, d) }
}
func dependencyWaits(w *Snapshot) {
	w.Dependencies = append(w.Dependencies, Dependency{Name: "vpc", Waits: "it is not Ready (Running)"})
}

// reservedFor reserves a Run that does not exist.
func reservedFor(name string, operation v1alpha1.Operation, cause v1alpha1.CauseType) func(*Snapshot) {
	return func(w *Snapshot) {
		withCurrentRun(name)(w)
		w.Stack.Status.ReservedRun = &v1alpha1.ReservedRun{Name: name, Operation: operation, Cause: cause}
	}
}

// TestRetryNamesWhatChanged checks that reviewers of a Run that a user requested still see what it changes.
func TestRetryNamesWhatChanged(t *testing.T) {
	ofCommit := func(r *v1alpha1.Run) {
		r.Spec.Cause = v1alpha1.Cause{Type: v1alpha1.CauseCommit, Message: "1f3c Widen the subnet", By: "carol"}
	}
	const retried = "requested by alice; Commit by carol: 1f3c Widen the subnet"
	request := withRequest(v1alpha1.OperationApply)
	for name, c := range map[string]struct {
		snapshot Snapshot
		want     string
	}{
		"after a rejection": {newSnapshot(applied("sha256:old"), withRun("net-1", "Canceled", "sha256:now", rejected,
			ofCommit), request), retried},
		"after a retry that failed": {
			newSnapshot(applied("sha256:old"), withRun("net-1", "Failed", "sha256:now", ofCommit),
				withRun("net-2", "Failed", "sha256:now", requestedByAlice), request), retried,
		},
		"after a drift check": {
			newSnapshot(applied("sha256:old"), withRun("net-1", "Failed", "sha256:now", ofCommit),
				withRun("net-2", "Succeeded", "sha256:old", requestedPlan), request), retried,
		},
		"where nothing is applied": {
			newSnapshot(never, withRun("net-1", "Failed", "sha256:now", planOperation, ofCommit), request), retried},
		"before the Run of a change": {
			newSnapshot(applied("sha256:old"), withRun("net-1", "Succeeded", "sha256:old"), request),
			"requested by alice; Spec: the code changed",
		},
		"after a rejected version of the state": {
			newSnapshot(manual, isApplied, pushed(5), planned(5, "net-2"),
				withRun("net-2", "Canceled", "sha256:now", rejected, byUser), request),
			"requested by alice; version 5 of the state was written by alice",
		},
		"after a drift correction that failed": {
			newSnapshot(isApplied, withRun("net-2", "Failed", "sha256:now", func(r *v1alpha1.Run) {
				r.Spec.Cause = v1alpha1.Cause{Type: v1alpha1.CauseDrift, Message: "Run net-1 found drift"}
			}), request), "requested by alice; Drift: Run net-1 found drift",
		},
		"of a deletion": {
			newSnapshot(deleted, state(3), withRun("net-2", "Failed", "sha256:last", destroyOperation, ofDeletion),
				withRequest("Destroy")),
			"requested by alice; Deletion: the Stack was deleted",
		},
		"not once it is applied": {newSnapshot(isApplied, withRun("net-1", "Succeeded", "sha256:now", ofCommit),
			request), "requested by alice"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(c.snapshot)
			expectSameWithHistory(t, c.snapshot)
			if d.Start == nil {
				t.Fatalf("no Run starts: %+v", d)
			}
			if got := d.Start.Cause; got.Message != c.want || got.Type != v1alpha1.CauseManual || got.By != "alice" {
				t.Errorf("the cause is %+v, not %q", got, c.want)
			}
		})
	}
}

func TestRequests(t *testing.T) {
	decide(t, map[string]decision{
		"a Stack that is up to date runs on request": {
			snapshot: newSnapshot(isApplied, withRequest("Apply")), start: "Apply net-2", ready: "Unknown",
			reason: "Running", message: "net-2 is under way: requested by alice",
		},
		"a requested Run waits for the pod of a deleted one": {
			snapshot: newSnapshot(isApplied, podTerminating, withRequest("Apply")), ready: "False",
			reason: "PodTerminating", requeue: leftoverRequeue,
		},
		"a requested destroy waits for the pod of a deleted Run": {
			snapshot: newSnapshot(isApplied, podTerminating, withRequest("Destroy")), ready: "False",
			reason: "PodTerminating", requeue: leftoverRequeue,
		},
		"once": {
			snapshot: newSnapshot(isApplied, withRequest("Apply"), withHandledRequest), ready: "True",
			reason: "Applied",
		},
		"a failed Run is retried on request": {
			snapshot: newSnapshot(withRun("net-1", "Failed", "sha256:now"), withRequest("Apply")), start: "Apply net-2",
			ready: "Unknown", reason: "Running",
		},
		"a rejected Run is planned again on request": {
			snapshot: newSnapshot(withRun("net-1", "Canceled", "sha256:now", rejected), withRequest("Apply")),
			start:    "Apply net-2", ready: "Unknown", reason: "Running",
		},
		"the Run that is due is the requested one": {
			snapshot: newSnapshot(applied("sha256:old"), withRun("net-1", "Succeeded", "sha256:old"),
				withRequest("Apply")), start: "Apply net-2", ready: "Unknown", reason: "Running",
			message: "requested by alice",
		},
		"a request plans if spec.apply is Never": {
			snapshot: newSnapshot(never, isApplied, withRequest("Apply")), start: "Plan net-2", ready: "Unknown",
			reason: "Running",
		},
		"a request at the creation of the Stack is the first Run": {
			snapshot: newSnapshot(withRequest("Apply"), neverReconciled), start: "Apply net-1", ready: "Unknown",
			reason: "Running", message: "the Stack is new",
		},
		"a Stack that is restored from a backup is not destroyed for its old request": {
			snapshot: newSnapshot(withRequest("Destroy"), neverReconciled, state(3)), start: "Apply net-1",
			ready: "Unknown", reason: "Running",
		},
		"a queued Run is superseded by the request": {
			snapshot: newSnapshot(withRun("net-1", "Queued", "sha256:now"), withRequest("Apply")), ready: "Unknown",
			reason: "Running", message: "net-1",
		},
		"a request waits while a Run plans": {
			snapshot: newSnapshot(withRun("net-1", "Planning", "sha256:now"), withRequest("Apply")), ready: "Unknown",
			reason: "Running", message: "net-1",
		},
		"a Run that waits for approval is superseded by the request": {
			snapshot: newSnapshot(withRun("net-1", "AwaitingApproval", "sha256:now", withReason("AwaitingApproval")),
				withRequest("Apply")), ready: "False", reason: "AwaitingApproval",
		},
		"a request waits while a Run applies": {
			snapshot: newSnapshot(withRun("net-1", "Applying", "sha256:now"), withRequest("Apply")), ready: "Unknown",
			reason: "Running", message: "net-1",
		},
		"the requested Run starts when the other is superseded": {
			snapshot: newSnapshot(withRun("net-1", "Superseded", "sha256:now"), withRequest("Apply")),
			start:    "Apply net-2", ready: "Unknown", reason: "Running", message: "requested by alice",
		},
		"a drift check is superseded, and the Stack reports the request": {
			snapshot: newSnapshot(checks("Report"), isApplied, withRun("net-2", "Planning", "sha256:now", driftCheck),
				lastRun("net-2"), withRequest("Apply")), ready: "True", reason: "Applied",
		},
		"a canceled Run is reported": {
			snapshot: newSnapshot(withRun("net-1", "Applying", "sha256:now", withReason("Canceling"))), ready: "False",
			reason: "Canceling", message: "message of the Run",
		},
		"a request waits while the Stack is suspended": {
			snapshot: newSnapshot(suspended, isApplied, withRequest("Apply")), ready: "True", reason: "Suspended",
			message: "cairn resume net; the Run that was requested by alice waits for that",
		},
		"a request waits while an input is missing": {
			snapshot: newSnapshot(withMissingSecret, isApplied, withMissingSecret, withRequest("Apply")),
			ready:    "False", reason: "SecretNotFound", stalled: true,
		},
		"a request waits for dependencies": {
			snapshot: newSnapshot(isApplied, dependencyWaits, withRequest("Apply")), ready: "Unknown",
			reason: "DependencyNotReady",
		},
		"a request waits while a state is only in a log": {
			snapshot: newSnapshot(withRun("net-1", "Failed", "sha256:now", withReason("StateNotSaved")),
				withRequest("Apply")), ready: "False", reason: "StateNotSaved", message: "cairn state recover net",
			stalled: true,
		},
		"a requested Run that was reserved and not created is created": {
			snapshot: newSnapshot(isApplied, withRequest("Apply"), withHandledRequest,
				reservedFor("net-2", "Apply", "Manual")), start: "Apply net-3", ready: "Unknown", reason: "Running",
			message: "requested by alice",
		},
		"a reserved drift check is not a request that was handled long ago": {
			snapshot: newSnapshot(checks("Report"), isApplied, withRequest("Apply"), withHandledRequest,
				reservedFor("net-2", "Plan", "Drift")), start: "Plan net-3", ready: "True", reason: "Applied",
		},
		"a reserved Run for a change is not the request": {
			snapshot: newSnapshot(applied("sha256:old"), withRun("net-1", "Succeeded", "sha256:old"),
				withRequest("Plan"), withHandledRequest, reservedFor("net-2", "Apply", "Commit")), start: "Apply net-3",
			ready: "Unknown", reason: "Running", message: "the code changed",
		},
		"a rejected request is not created for the name of an earlier one": {
			snapshot: newSnapshot(withRun("net-1", "Failed", "sha256:now"), withRequest("Plan"), withHandledRequest,
				requestRejected, reservedFor("net-2", "Plan", "Manual")), ready: "False", reason: "RunFailed",
			stalled: true,
		},
		"a reserved plan request does not apply what failed": {
			snapshot: newSnapshot(withRun("net-1", "Failed", "sha256:now"), withRequest("Plan"), withHandledRequest,
				reservedFor("net-2", "Plan", "Manual")), start: "Plan net-3", ready: "False", reason: "RunFailed",
			stalled: true,
		},
		"a reserved plan request does not apply what a user canceled": {
			snapshot: newSnapshot(withRun("net-1", "Canceled", "sha256:now", withReason("Canceled")),
				withRequest("Plan"), withHandledRequest, reservedFor("net-2", "Plan", "Manual")), start: "Plan net-3",
			ready: "False", reason: "RunCanceled", stalled: true,
		},
		"a reserved shell request does not apply what a user rejected": {
			snapshot: newSnapshot(allowed, withRun("net-1", "Canceled", "sha256:now", rejected), withRequest("Shell"),
				withHandledRequest, reservedFor("net-2", "Shell", "Manual")), start: "Shell net-3", ready: "False",
			reason: "RunRejected", stalled: true,
		},
		"a requested Run that was created and has ended is not created again": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Canceled", "sha256:now", requestedPlan),
				withRequest("Plan"), withHandledRequest, reservedFor("net-2", "Plan", "Manual")), ready: "True",
			reason: "Applied",
		},
		"an unknown operation is ignored": {
			snapshot: newSnapshot(isApplied, withRequest("Explode")), ready: "True", reason: "Applied",
		},

		"a requested plan keeps the status of the Stack": {
			snapshot: newSnapshot(isApplied, withRequest("Plan")), start: "Plan net-2", ready: "True",
			reason: "Applied",
		},
		"a requested plan keeps the status of a failed Stack": {
			snapshot: newSnapshot(withRun("net-1", "Failed", "sha256:now"), withRequest("Plan")), start: "Plan net-2",
			ready: "False", reason: "RunFailed", stalled: true,
		},
		"a requested plan keeps the status of a destroyed Stack": {
			snapshot: newSnapshot(state(0), destroyedBefore, withRequest("Plan")), start: "Plan net-3", ready: "False",
			reason: "Destroyed", stalled: true,
		},
		"a requested plan of a change is reported": {
			snapshot: newSnapshot(applied("sha256:old"), withRun("net-1", "Succeeded", "sha256:old"),
				withRequest("Plan")), start: "Plan net-2", ready: "Unknown", reason: "Running",
			message: "requested by alice",
		},
		"the change is applied after the requested plan": {
			snapshot: newSnapshot(applied("sha256:old"), withRun("net-1", "Succeeded", "sha256:old"),
				withRun("net-2", "Succeeded", "sha256:now", requestedPlan)), start: "Apply net-3", ready: "Unknown",
			reason: "Running",
		},
		"the status is kept during a requested plan": {
			snapshot: newSnapshot(withRun("net-1", "Failed", "sha256:now"),
				withRun("net-2", "Planning", "sha256:now", requestedPlan), lastRun("net-2")), ready: "False",
			reason: "RunFailed", message: "Run net-1 failed: ; correct the cause, or repeat the Run unchanged: " +
				"cairn retry net", stalled: true,
		},
		"the status is kept after a requested plan": {
			snapshot: newSnapshot(withRun("net-1", "Failed", "sha256:now"),
				withRun("net-2", "Succeeded", "sha256:now", requestedPlan), lastRun("net-2")), ready: "False",
			reason: "RunFailed", stalled: true,
		},
		"a requested plan that failed does not change the status": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Failed", "sha256:now", requestedPlan), lastRun("net-2")),
			ready:    "True", reason: "Applied",
		},
		"a requested plan that was canceled does not change the status": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Canceled", "sha256:now", requestedPlan),
				lastRun("net-2")), ready: "True", reason: "Applied",
		},
		"a requested plan detects drift, also without drift.interval": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Succeeded", "sha256:now", requestedPlan),
				lastRun("net-2")), ready: "False", reason: "Drifted", stalled: true,
			message: "1 to add since 2026-11-20T12:00:00Z, found by Run net-2; nothing that is declared changed; " +
				"cairn apply net overwrites the drift with what is declared; to keep it, change the code, or accept " +
				"it in the state: cairn apply net --refresh-only",
		},
		"drift of a requested plan is corrected if drift.onDrift is Apply": {
			snapshot: newSnapshot(checks("Apply"), isApplied,
				withRun("net-2", "Succeeded", "sha256:now", requestedPlan), lastRun("net-2")), start: "Apply net-3",
			ready: "Unknown", reason: "Running", message: "put back what drifted",
		},
		"drift is dropped when drift checks are disabled": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Succeeded", "sha256:now", driftCheck), lastRun("net-2"),
				knownDrift("net-2")), ready: "True", reason: "Applied",
		},
		"changes with spec.apply Never are no drift": {
			snapshot: newSnapshot(checks("Report"), isApplied,
				withRun("net-2", "Succeeded", "sha256:now", planOperation), checkedAgo(time.Minute)), ready: "False",
			reason: "ChangesPending", stalled: true,
		},
		"changes of a requested plan of inputs that are not applied are no drift": {
			snapshot: newSnapshot(applied("sha256:old"), withRun("net-1", "Failed", "sha256:now"),
				withRun("net-2", "Succeeded", "sha256:now", requestedPlan), lastRun("net-2")), ready: "False",
			reason: "RunFailed", stalled: true,
		},
		"a requested plan counts if spec.apply is Never": {
			snapshot: newSnapshot(never, withRun("net-1", "Failed", "sha256:now", planOperation),
				withRun("net-2", "Succeeded", "sha256:now", requestedPlan)), ready: "False", reason: "ChangesPending",
			stalled: true, message: "cairn diff net",
		},

		"a requested destroy uses the inputs of the last apply": {
			snapshot: newSnapshot(isApplied, withRequest("Destroy")), start: "Destroy net-2", ready: "Unknown",
			reason: "Destroying", message: "net-2 destroys: requested by alice",
		},
		"a requested destroy starts although an input is missing": {
			snapshot: newSnapshot(isApplied, withMissingSecret, withRequest("Destroy")), start: "Destroy net-2",
			ready: "Unknown", reason: "Destroying",
		},
		"a protected Stack is not destroyed on request": {
			snapshot: newSnapshot(protect, isApplied, withRequest("Destroy")), ready: "True", reason: "Applied",
		},
		"a Stack with spec.apply Never is not destroyed on request": {
			snapshot: newSnapshot(never, isApplied, withRequest("Destroy")), ready: "True", reason: "Applied",
		},
		"a Stack that created nothing is not destroyed on request": {
			snapshot: newSnapshot(withRequest("Destroy")), start: "Apply net-1", ready: "Unknown", reason: "Running",
		},
		"a requested destroy waits for dependents": {
			snapshot: newSnapshot(isApplied, withDependent(Dependent{Name: "web"}), withRequest("Destroy")),
			ready:    "False", reason: "DependentsExist",
			message: "Stack web depends on this one: delete or destroy it too", requeue: time.Minute,
		},
		"a requested destroy names all dependents that wait for a user": {
			snapshot: newSnapshot(isApplied, withDependent(Dependent{Name: "app", Deleting: true}),
				withDependent(Dependent{Name: "dns"}), withDependent(Dependent{Name: "web"}), withRequest("Destroy")),
			ready: "False", reason: "DependentsExist", message: "Stacks dns, web depend on this one: delete or " +
				"destroy them too", requeue: time.Minute,
		},
		"dependents that are destroyed do not prevent a destroy": {
			snapshot: newSnapshot(isApplied, withDependent(Dependent{Name: "web", Destroyed: true}),
				withRequest("Destroy")), start: "Destroy net-2", ready: "Unknown", reason: "Destroying",
		},
		"a requested destroy of a suspended Stack is rejected, so it does not start on resume": {
			snapshot: newSnapshot(suspended, isApplied, withRequest("Destroy")), ready: "True", reason: "Suspended",
			message: "cairn resume net",
		},
		"a Run that waits for approval is superseded by a destroy": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "AwaitingApproval", "sha256:now",
				withReason("AwaitingApproval")), withRequest("Destroy")), ready: "Unknown", reason: "DestroyPending",
			message: "Run net-2 is superseded, or ends first: the destroy that was requested by alice is next",
		},
		"a requested destroy waits for a Run that applies": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Applying", "sha256:now", applyStarted),
				withRequest("Destroy")), ready: "Unknown", reason: "DestroyPending",
		},
		"a Run is not superseded by a destroy that waits for dependents": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "AwaitingApproval", "sha256:now",
				withReason("AwaitingApproval")), withDependent(Dependent{Name: "web"}), withRequest("Destroy")),
			ready: "False", reason: "AwaitingApproval", message: "the destroy that was requested by alice waits: " +
				"Stack web depends on this one", requeue: time.Minute,
		},
		"a Run is not superseded by a destroy of nothing": {
			snapshot: newSnapshot(withRun("net-1", "AwaitingApproval", "sha256:now", withReason("AwaitingApproval")),
				withRequest("Destroy")), ready: "False", reason: "AwaitingApproval",
		},
		"a requested destroy that was reserved and not created is created": {
			snapshot: newSnapshot(isApplied, withRequest("Destroy"), withHandledRequest,
				reservedFor("net-2", "Destroy", "Manual")), start: "Destroy net-3", ready: "Unknown",
			reason: "Destroying",
		},
		"a reserved apply is not a destroy that was requested long ago": {
			snapshot: newSnapshot(applied("sha256:old"), state(3), withRun("net-1", "Succeeded", "sha256:old"),
				withRequest("Destroy"), withHandledRequest, reservedFor("net-2", "Apply", "Commit")),
			start: "Apply net-3", ready: "Unknown", reason: "Running",
		},

		"a destroyed Stack stays destroyed": {
			snapshot: newSnapshot(state(0), withRun("net-1", "Succeeded", "sha256:now"), destroyedBefore),
			ready:    "False", reason: "Destroyed", stalled: true,
			message: "destroyed by Run net-2, requested by alice; cairn apply net creates it again",
		},
		"a destroyed Stack stays destroyed although the spec changes": {
			snapshot: newSnapshot(applied("sha256:old"), state(0), withRun("net-1", "Succeeded", "sha256:old"),
				destroyedBefore), ready: "False", reason: "Destroyed", stalled: true,
		},
		"a destroyed Stack stays destroyed although the Run is deleted": {
			snapshot: newSnapshot(state(0), func(w *Snapshot) {
				w.Stack.Status.DestroyedByRun = "net-2"
			}), ready: "False", reason: "Destroyed", stalled: true, message: "destroyed by Run net-2; cairn apply",
		},
		"a destroyed Stack stays destroyed although the status does not record it yet": {
			snapshot: newSnapshot(state(0), withRun("net-2", "Succeeded", "sha256:last", destroyOperation,
				requestedByAlice)), ready: "False", reason: "Destroyed", stalled: true,
		},
		"a destroyed Stack stays destroyed although an input is missing": {
			snapshot: newSnapshot(state(0), destroyedBefore, withMissingSecret), ready: "False", reason: "Destroyed",
			stalled: true,
		},
		"a destroyed Stack is not checked for drift": {
			snapshot: newSnapshot(checks("Apply"), state(0), destroyedBefore, func(w *Snapshot) {
				w.Now = now.Add(24 * time.Hour)
			}), ready: "False", reason: "Destroyed", stalled: true,
		},
		"a destroyed Stack reports the resources that remain": {
			snapshot: newSnapshot(state(2), destroyedBefore), ready: "False", reason: "Destroyed", stalled: true,
			message: "but the state holds 2 resources still: cairn destroy net tries again",
		},
		"a destroyed Stack is created again on request": {
			snapshot: newSnapshot(state(0), destroyedBefore, withRequest("Apply")), start: "Apply net-3",
			ready: "Unknown", reason: "Running", message: "requested by alice",
		},
		"the requested apply of a destroyed Stack waits for approval": {
			snapshot: newSnapshot(state(0), destroyedBefore, withRun("net-3", "AwaitingApproval", "sha256:now",
				withReason("AwaitingApproval"))), ready: "False", reason: "AwaitingApproval",
		},
		"a rejected apply keeps the Stack destroyed": {
			snapshot: newSnapshot(state(0), destroyedBefore,
				withRun("net-3", "Canceled", "sha256:now", requestedByAlice, rejected), func(w *Snapshot) {
					w.Digest = "sha256:new"
				}), ready: "False", reason: "Destroyed", stalled: true, message: "since then Run net-3 was Canceled: " +
				"message of the Run; cairn apply net creates it again",
		},
		"an apply that failed before its start keeps the Stack destroyed": {
			snapshot: newSnapshot(state(0), destroyedBefore, withRun("net-3", "Failed", "sha256:now", requestedByAlice,
				withReason("ConfigurationError")), func(w *Snapshot) {
				w.Digest = "sha256:new"
			}), ready: "False", reason: "Destroyed", stalled: true, message: "since then Run net-3 was Failed",
		},
		"a superseded request is repeated with the current inputs": {
			snapshot: newSnapshot(state(0), destroyedBefore, withRun("net-3", "Superseded", "sha256:now",
				requestedByAlice), func(w *Snapshot) {
				w.Digest = "sha256:new"
			}), start: "Apply net-4", ready: "Unknown", reason: "Running",
		},
		"an apply that started ends the destroyed status": {
			snapshot: newSnapshot(state(2), destroyedBefore, withRun("net-3", "Failed", "sha256:now", requestedByAlice,
				applyStarted, withReason("ConfigurationError"))), ready: "False", reason: "RunFailed", stalled: true,
		},
		"a destroyed Stack that was applied again stays applied": {
			snapshot: newSnapshot(state(2), destroyedBefore,
				withRun("net-3", "Succeeded", "sha256:now", requestedByAlice, applyStarted)), ready: "True",
			reason: "Applied",
		},
		"a requested apply of a destroyed Stack that was reserved and not created is created": {
			snapshot: newSnapshot(state(0), withRun("net-1", "Succeeded", "sha256:old"), destroyedBefore,
				withRequest("Apply"), withHandledRequest, reservedFor("net-3", "Apply", "Manual")),
			start: "Apply net-4", ready: "Unknown", reason: "Running", message: "requested by alice",
		},
		"a requested apply of a destroyed Stack waits for its inputs": {
			snapshot: newSnapshot(state(0), destroyedBefore, withRequest("Apply"), withMissingSecret), ready: "False",
			reason: "SecretNotFound", stalled: true,
		},
		"a destroyed Stack is removed when it is deleted": {
			snapshot: newSnapshot(deleted, state(0), destroyedBefore), finish: "with state",
		},

		"a destroy that failed before its start keeps all resources": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Failed", "sha256:last", destroyOperation,
				requestedByAlice, withReason("ConfigurationError"))), ready: "False", reason: "RunFailed",
			message: "cairn retry net tries again, cairn apply net keeps what there is", stalled: true,
		},
		"a change is applied after a destroy that failed before its start": {
			snapshot: newSnapshot(isApplied, applied("sha256:old"),
				withRun("net-2", "Failed", "sha256:last", destroyOperation, requestedByAlice), func(w *Snapshot) {
					w.Digest = "sha256:new"
				}), start: "Apply net-3", ready: "Unknown", reason: "Running",
		},
		"a destroy that failed in the middle is not followed by an apply": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Failed", "sha256:last", destroyOperation,
				requestedByAlice, applyStarted, withReason("ConfigurationError"))), ready: "False", reason: "RunFailed",
			message: "cairn retry net continues the destroy, cairn apply net recreates what is gone", stalled: true,
		},
		"a destroy that failed in the middle is not followed by an apply of a change": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Failed", "sha256:last", destroyOperation,
				requestedByAlice, applyStarted), func(w *Snapshot) {
				w.Digest = "sha256:new"
			}), ready: "False", reason: "RunFailed", stalled: true,
		},
		"a destroy that was canceled in the middle is not followed by an apply": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Canceled", "sha256:last", destroyOperation,
				requestedByAlice, applyStarted, withReason("Canceled")), func(w *Snapshot) {
				w.Digest = "sha256:new"
			}), ready: "False", reason: "RunCanceled", message: "message of the Run, cairn apply net recreates " +
				"what is gone", stalled: true,
		},
		"a user continues a partial destroy": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Canceled", "sha256:last", destroyOperation,
				requestedByAlice, applyStarted), withRequest("Destroy")), start: "Destroy net-3", ready: "Unknown",
			reason: "Destroying",
		},
		"a user applies again after a partial destroy": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Canceled", "sha256:last", destroyOperation,
				requestedByAlice, applyStarted), withRequest("Apply")), start: "Apply net-3", ready: "Unknown",
			reason: "Running",
		},
		"a rejected destroy keeps all resources": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Canceled", "sha256:last", destroyOperation,
				requestedByAlice, rejected)), ready: "False", reason: "RunRejected",
			message: "cairn destroy net asks for it again, cairn apply net keeps what there is", stalled: true,
		},
		"a rejected destroy starts no Run that was rejected before": {
			snapshot: newSnapshot(state(3), withRun("net-1", "Canceled", "sha256:now", rejected),
				withRun("net-2", "Canceled", "sha256:last", destroyOperation, requestedByAlice, rejected)),
			ready: "False", reason: "RunRejected", stalled: true,
		},
		"a destroy that was canceled before its plan is ignored": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Canceled", "sha256:last", destroyOperation,
				requestedByAlice, noPlan)), ready: "True", reason: "Applied",
		},
		"a superseded destroy is ignored": {
			snapshot: newSnapshot(withRun("net-1", "Failed", "sha256:now"),
				withRun("net-2", "Superseded", "sha256:last", destroyOperation, requestedByAlice)), ready: "False",
			reason: "RunFailed", stalled: true,
		},

		"a rejected Run is not repeated with the same inputs": {
			snapshot: newSnapshot(withRun("net-1", "Canceled", "sha256:now", rejected)), ready: "False",
			reason: "RunRejected", message: "Run net-1: message of the Run; change the Stack or its inputs, or " +
				"request the same again: cairn apply net", stalled: true,
		},
		"a canceled Run is not repeated with the same inputs": {
			snapshot: newSnapshot(withRun("net-1", "Canceled", "sha256:now", withReason("Canceled"), noPlan)),
			ready:    "False", reason: "RunCanceled", stalled: true,
		},
		"a Run that was canceled during its apply reports the next step": {
			snapshot: newSnapshot(applied("sha256:now"),
				withRun("net-1", "Canceled", "sha256:now", withReason("Canceled"), applyStarted)), ready: "False",
			reason: "RunCanceled", message: "Run net-1: message of the Run", stalled: true,
		},
		"other inputs start a Run after a rejected one": {
			snapshot: newSnapshot(withRun("net-1", "Canceled", "sha256:old", rejected)), start: "Apply net-2",
			ready: "Unknown", reason: "Running",
		},
		"a Stack is Ready again when the rejected change is reverted": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Canceled", "sha256:bad", rejected)), ready: "True",
			reason: "Applied",
		},
		"a plan without changes counts once spec.apply allows an apply": {
			snapshot: newSnapshot(state(3), withRun("net-1", "Succeeded", "sha256:now", planOperation, noChanges)),
			ready:    "True", reason: "Applied",
		},
		"other inputs start a Run after one that was canceled during its apply": {
			snapshot: newSnapshot(withRun("net-1", "Canceled", "sha256:old", withReason("Canceled"), applyStarted)),
			start:    "Apply net-2", ready: "Unknown", reason: "Running",
		},
		"a Run of applied inputs that was canceled before its plan is ignored": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Canceled", "sha256:now", requestedByAlice,
				withReason("Canceled"), noPlan)), ready: "True", reason: "Applied",
		},
		"a Run of applied inputs whose changes were rejected is reported": {
			snapshot: newSnapshot(isApplied, withRun("net-2", "Canceled", "sha256:now", requestedByAlice, rejected)),
			ready:    "False", reason: "RunRejected", stalled: true,
		},
		"a canceled drift check keeps the status": {
			snapshot: newSnapshot(checks("Report"), isApplied, checkedAgo(time.Minute),
				withRun("net-2", "Canceled", "sha256:now", driftCheck, ago(time.Minute))), ready: "True",
			reason: "Applied", requeue: restOfTheHour(),
		},
		"a canceled drift check keeps the drift": {
			snapshot: newSnapshot(checks("Report"), isApplied, knownDrift("net-0"),
				withRun("net-2", "Canceled", "sha256:now", driftCheck, ago(time.Minute))), ready: "False",
			reason: "Drifted", stalled: true, requeue: restOfTheHour(),
		},

		"a deleted Stack whose destroy was canceled waits for a user": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Canceled", "sha256:last", destroyOperation,
				withReason("Canceled"))), ready: "False", reason: "RunCanceled",
			message: "cairn retry net destroys; to leave what is left as it is, set spec.deletionPolicy to Orphan",
			stalled: true,
		},
		"a deleted Stack whose destroy was rejected waits for a user": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Canceled", "sha256:last", destroyOperation,
				rejected)), ready: "False", reason: "RunRejected", stalled: true,
		},
		"the clock of the end of a rejected destroy does not matter": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Canceled", "sha256:last", destroyOperation,
				rejected, ofDeletion, ago(5*time.Second))), ready: "False", reason: "RunRejected", stalled: true,
		},
		"a rejected destroy that was requested after the deletion counts, whatever the clock of its end": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Canceled", "sha256:last", destroyOperation,
				rejected, requestedByAlice, createdAfter(time.Second), ago(5*time.Second))), ready: "False",
			reason: "RunRejected", stalled: true,
		},
		"a destroy that was rejected before the deletion is ignored": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Canceled", "sha256:last", destroyOperation,
				rejected, requestedByAlice, createdAfter(-time.Minute), ago(5*time.Second))), start: "Destroy net-3",
			ready: "Unknown", reason: "Destroying",
		},
		"a failed destroy is retried after the wait, by the clock of its end": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Failed", "sha256:last", destroyOperation,
				ofDeletion, ago(5*time.Second))), ready: "False", reason: "DestroyFailed",
			requeue: 10*time.Minute - 5*time.Second,
		},
		"a failed destroy whose end is a year ahead is retried at once": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Failed", "sha256:last", destroyOperation,
				ofDeletion, ago(-365*24*time.Hour))), start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"a user continues a canceled destroy of a deleted Stack": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Canceled", "sha256:last", destroyOperation,
				withReason("Canceled")), withRequest("Destroy")), start: "Destroy net-3", ready: "Unknown",
			reason: "Destroying", message: "requested by alice",
		},
		"any requested operation continues the destroy of a deleted Stack": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Canceled", "sha256:last", destroyOperation,
				withReason("Canceled")), withRequest("Apply")), start: "Destroy net-3", ready: "Unknown",
			reason: "Destroying",
		},
		"a destroy that was canceled before the deletion is ignored": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Canceled", "sha256:last", destroyOperation,
				withReason("Canceled"), ago(time.Hour))), start: "Destroy net-3", ready: "Unknown",
			reason: "Destroying",
		},
		"a destroy that failed before the deletion is ignored": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Failed", "sha256:last", destroyOperation,
				ago(time.Minute))), start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"a failed destroy is retried at once on request": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Failed", "sha256:last", destroyOperation),
				withRequest("Destroy")), start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"a destroy that left resources is repeated on request": {
			snapshot: newSnapshot(deleted, state(2), withRun("net-2", "Succeeded", "sha256:last", destroyOperation),
				withRequest("Destroy")), start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"a protected Stack is not destroyed on request after its deletion": {
			snapshot: newSnapshot(deleted, protect, state(2), withRequest("Destroy")), ready: "False",
			reason: "DeletionProtected", stalled: true,
		},
		"a requested destroy of a deleted Stack that was reserved and not created is created": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Canceled", "sha256:last", destroyOperation,
				withReason("Canceled")), withRequest("Destroy"), withHandledRequest, reservedFor("net-3", "Destroy",
				"Manual")), start: "Destroy net-4", ready: "Unknown", reason: "Destroying",
		},
	})
}

// TestPlansThatReportNoDrift checks that only a plan of the applied inputs reports drift.
func TestPlansThatReportNoDrift(t *testing.T) {
	for name, w := range map[string]Snapshot{
		"changes with spec.apply Never": newSnapshot(checks("Report"), isApplied,
			withRun("net-2", "Succeeded", "sha256:now", planOperation), checkedAgo(time.Minute)),
		"a check after drift checks were disabled": newSnapshot(isApplied,
			withRun("net-2", "Succeeded", "sha256:now", driftCheck)),
		"a requested plan of inputs that are not applied": newSnapshot(isApplied,
			withRun("net-2", "Succeeded", "sha256:new", requestedPlan)),
	} {
		t.Run(name, func(t *testing.T) {
			if drift := Status(w, Decide(w)).Drift; drift != nil && drift.Since != nil {
				t.Errorf("%+v", drift)
			}
		})
	}
}

func restOfTheHour() time.Duration {
	return 57*time.Minute + (slotOffset(string(uidAt(57*time.Minute)), time.Hour) % time.Minute).Truncate(time.Second)
}

// TestRequestsInTheStatus checks the fields of a request that are written together with the reservation of its Run.
func TestRequestsInTheStatus(t *testing.T) {
	tests := map[string]struct {
		snapshot       Snapshot
		last, run      string
		destroyed      string
		by             string
		appliedOrEmpty string
	}{
		"an apply that is started": {
			snapshot: newSnapshot(isApplied, withRequest("Apply")), last: "now", run: "net-2", by: "alice",
			appliedOrEmpty: "sha256:now"},
		"a plan that is started": {
			snapshot: newSnapshot(isApplied, withRequest("Plan")), last: "now", run: "net-2", by: "alice",
			appliedOrEmpty: "sha256:now"},
		"a destroy that is started": {
			snapshot: newSnapshot(isApplied, withRequest("Destroy")), last: "now", run: "net-2", by: "alice",
			appliedOrEmpty: "sha256:now"},
		"a request while the Stack is suspended": {snapshot: newSnapshot(suspended, isApplied,
			withRequest("Apply")), appliedOrEmpty: "sha256:now"},
		"a request while a Run is under way": {
			snapshot: newSnapshot(withRun("net-1", "Applying", "sha256:now"), withRequest("Apply")), run: "net-1"},
		"a request at the creation of the Stack": {snapshot: newSnapshot(withRequest("Apply"),
			neverReconciled), last: "now", run: "net-1"},
		"a request at the creation of a suspended Stack": {
			snapshot: newSnapshot(suspended, withRequest("Apply"), neverReconciled), last: "now"},
		"a request that is rejected": {snapshot: newSnapshot(protect, isApplied,
			withRequest("Destroy")), last: "now rejected", appliedOrEmpty: "sha256:now"},
		"a request with a time in the future": {
			snapshot: newSnapshot(isApplied, withRequest("Apply"),
				annotate(v1alpha1.RequestedAtAnnotation, "2126-11-20T12:00:00Z")),
			last: "2126-11-20T12:00:00Z rejected", appliedOrEmpty: "sha256:now"},
		"a request with a time in the future at the creation of the Stack": {snapshot: newSnapshot(withRequest("Apply"),
			annotate(v1alpha1.RequestedAtAnnotation, "2126-11-20T12:00:00Z"), neverReconciled),
			last: "2126-11-20T12:00:00Z rejected", run: "net-1"},
		"a request that is rejected while a Run is under way": {
			snapshot: newSnapshot(protect, withRun("net-1", "Applying", "sha256:now"), withRequest("Destroy")),
			last:     "now rejected", run: "net-1",
		},
		"a destroy that succeeded": {snapshot: newSnapshot(state(0), applied("sha256:now"),
			withRun("net-2", "Succeeded", "sha256:last", destroyOperation, requestedByAlice)), destroyed: "net-2"},
		"a deletion's": {
			snapshot: newSnapshot(deleted, state(1), withRun("net-2", "Succeeded", "sha256:last", destroyOperation))},
		"a plan of a destroyed Stack": {snapshot: newSnapshot(state(0), destroyedBefore,
			withRequest("Plan")), last: "now", run: "net-3", by: "alice", destroyed: "net-2"},
		"an apply of a destroyed Stack": {snapshot: newSnapshot(state(0), destroyedBefore,
			withRequest("Apply")), last: "now", run: "net-3", by: "alice", destroyed: "net-2"},
		"an apply of a destroyed Stack that started": {snapshot: newSnapshot(state(0), destroyedBefore,
			withRun("net-3", "Applying", "sha256:now", applyStarted), withRequest("Apply"), withHandledRequest),
			last: "now", run: "net-3"},
		"an apply of a destroyed Stack that was rejected": {snapshot: newSnapshot(state(0), destroyedBefore,
			withRun("net-3", "Canceled", "sha256:now", rejected), withRequest("Apply"), withHandledRequest),
			last: "now", destroyed: "net-2"},
		"a plan of a destroyed Stack that ended": {snapshot: newSnapshot(state(0), destroyedBefore,
			withRun("net-3", "Succeeded", "sha256:now", requestedPlan), withRequest("Plan"), withHandledRequest),
			last: "now", destroyed: "net-2"},
		"a destroy of a suspended Stack": {snapshot: newSnapshot(suspended, isApplied,
			withRequest("Destroy")), last: "now rejected", appliedOrEmpty: "sha256:now"},
		"a destroyed Stack that was applied again": {snapshot: newSnapshot(isApplied), appliedOrEmpty: "sha256:now"},
		"an apply that ended before the engine started": {
			snapshot:       newSnapshot(applied("sha256:old"), withRun("net-2", "Canceled", "sha256:now", notBegun)),
			appliedOrEmpty: "sha256:old",
		},
		"a plan without changes of inputs that are not applied": {
			snapshot: newSnapshot(applied("sha256:old"), withRun("net-1", "Failed", "sha256:now"),
				withRun("net-2", "Succeeded", "sha256:now", requestedPlan, noChanges)), appliedOrEmpty: "sha256:old",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.snapshot)
			expectSameWithHistory(t, tt.snapshot)
			s := Status(tt.snapshot, d)
			by := ""
			if d.Start != nil {
				by = d.Start.Cause.By
			}
			got := []string{handled(s.LastHandledRequest), s.CurrentRun, s.DestroyedByRun, by, s.AppliedInputsDigest}
			if diff := cmp.Diff([]string{tt.last, tt.run, tt.destroyed, tt.by, tt.appliedOrEmpty}, got); diff != "" {
				t.Errorf("last request, run, destroyed, by, applied inputs; -want +got:\n%s", diff)
			}
			again := tt.snapshot
			again.Stack = tt.snapshot.Stack.DeepCopy()
			again.Stack.Status = s
			if _, ok := runinfo.Requested(again.Stack, again.Now); ok && tt.last != "" {
				t.Error("the request is handled and still pending")
			}
		})
	}
}

func TestRejectedRequests(t *testing.T) {
	for name, tt := range map[string]struct {
		snapshot Snapshot
		want     string
	}{
		"none":                          {newSnapshot(isApplied), ""},
		"a destroy of an applied Stack": {newSnapshot(isApplied, withRequest("Destroy")), ""},
		"a time in the future": {newSnapshot(isApplied, withRequest("Apply"),
			annotate(v1alpha1.RequestedAtAnnotation, "2126-11-20T12:00:00Z")), "check the clock of the client"},
		"a destroy of a protected Stack": {newSnapshot(protect, isApplied, withRequest("Destroy")),
			"spec.deletionPolicy is Protect"},
		"a destroy of a Stack that created nothing": {newSnapshot(withRequest("Destroy")),
			"no apply of Cairn has created anything"},
		"a destroy during the first apply": {
			newSnapshot(withRun("net-1", "Applying", "sha256:now", applyStarted), withRequest("Destroy")), ""},
		"a destroy while the first apply waits for approval": {
			newSnapshot(withRun("net-1", "AwaitingApproval", "sha256:now"), withRequest("Destroy")),
			"no apply of Cairn has created anything"},
		"a destroy of a suspended Stack": {newSnapshot(suspended, isApplied, withRequest("Destroy")),
			"spec.suspend is true"},
		"an unknown operation": {newSnapshot(withRequest("Explode")), `"Explode"`},
		"a request that is marked as handled": {newSnapshot(protect, isApplied, withRequest("Destroy"),
			withHandledRequest), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if _, why := RejectedRequest(tt.snapshot); !strings.Contains(why, tt.want) ||
				(why == "") != (tt.want == "") {
				t.Errorf("got %q, want %q", why, tt.want)
			}
		})
	}
}

// TestUserWhoCausedARun checks the user that a Run records as its cause, and whether it prevents self-approval.
func TestUserWhoCausedARun(t *testing.T) {
	changedBy := annotate(v1alpha1.ChangedByAnnotation, "bob")
	observed := func(w *Snapshot) { w.Stack.Status.ObservedGeneration = w.Stack.Generation }
	by := func(who string) func(*v1alpha1.Run) { return func(r *v1alpha1.Run) { r.Spec.Cause.By = who } }
	variables := func(w *Snapshot) {
		w.LastInputs = &inputs.Document{Source: "sha256:code"}
		w.Inputs.Versions = map[string]string{"Secret/db": "2"}
	}
	fromConfigMap := func(w *Snapshot) { w.CodeInObject = true }
	applied1 := withRun("net-1", "Succeeded", "sha256:old", by("carol"))
	for name, tt := range map[string]struct {
		snapshot Snapshot
		want     string
	}{
		"the user who created the Stack": {newSnapshot(changedBy), "bob"},
		"the user who changed the Stack": {
			newSnapshot(changedBy, observed, applied("sha256:old"), applied1), "bob"},
		"a Stack without a recorded user": {
			newSnapshot(observed, applied("sha256:old"), applied1), ""},
		"a Secret changed: not the user who changed the Stack last": {
			newSnapshot(changedBy, observed, applied("sha256:old"), applied1, variables), ""},
		"the ConfigMap of the code changed: not the user who changed the Stack last": {
			newSnapshot(changedBy, observed, fromConfigMap, applied("sha256:old"), applied1), ""},
		"the ConfigMap and the Stack changed": {
			newSnapshot(changedBy, fromConfigMap, applied("sha256:old"), applied1), "bob"},
		"the user who requests the Run": {
			newSnapshot(changedBy, isApplied, withRequest("Apply")), "alice"},
		"not the user of an earlier request that is finished": {
			newSnapshot(observed, applied("sha256:old"), withRun("net-1", "Succeeded", "sha256:old", requestedByAlice),
				variables), ""},
		"a Secret changed: not the user whose change is not applied yet": {
			newSnapshot(observed, applied("sha256:old"), withRun("net-1", "Superseded", "sha256:x", by("carol")),
				variables), ""},
		"a request without a user: not the user whose change was rejected": {
			newSnapshot(withRun("net-1", "Canceled", "sha256:now", rejected, by("carol")), withRequest("Apply"),
				annotate(v1alpha1.RequestedByAnnotation, "")), ""},
		"not the user of an earlier request without changes": {
			newSnapshot(isApplied, withRun("net-2", "Canceled", "sha256:now", requestedByAlice, noPlan),
				withRequest("Apply"), annotate(v1alpha1.RequestedByAnnotation, "")), ""},
		"not the user of a change without effect": {newSnapshot(isApplied, withRequest("Apply"),
			annotate(v1alpha1.RequestedByAnnotation, "")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, four := range []bool{false, true} {
				tt.snapshot.Stack.Spec.PreventSelfApproval = four
				d := Decide(tt.snapshot)
				expectSameWithHistory(t, tt.snapshot)
				if d.Start == nil {
					t.Fatalf("no Run starts: %+v", d)
				}
				if d.Start.Cause.By != tt.want || d.Start.PreventSelfApproval != four {
					t.Errorf("%+v, preventSelfApproval %v; want %q and %v", d.Start.Cause, d.Start.PreventSelfApproval,
						tt.want, four)
				}
			}
		})
	}
	long := newSnapshot(annotate(v1alpha1.ChangedByAnnotation, strings.Repeat("b", 300)))
	if d := Decide(long); len(d.Start.Cause.By) != 253 {
		t.Errorf("the name of the user has %d characters, too many for a Run", len(d.Start.Cause.By))
	}
}

// TestUserOfTheNewestChangeIsTheCause checks that the user of the newest change is in spec.cause, and that combined
// changes are recorded. Those of earlier changes are in spec.causedBy (TestContributors).
func TestUserOfTheNewestChangeIsTheCause(t *testing.T) {
	changedBy := annotate(v1alpha1.ChangedByAnnotation, "bob")
	observed := func(w *Snapshot) { w.Stack.Status.ObservedGeneration = w.Stack.Generation }
	preventSelfApproval := func(w *Snapshot) { w.Stack.Spec.PreventSelfApproval = true }
	by := func(who string) func(*v1alpha1.Run) {
		return func(r *v1alpha1.Run) { r.Spec.Cause.By, r.Spec.Revision = who, "main@sha1:0" }
	}
	commitType := func(r *v1alpha1.Run) { r.Spec.Cause.Type = v1alpha1.CauseCommit }
	commit := func(w *Snapshot) {
		w.Inputs.Source, w.Revision = "sha256:next", "main@sha1:1"
		w.Commit.ID, w.Commit.Subject, w.Commit.Author = "1f3c2ab000", "Fix it", "Dan"
	}
	last := func(change func(*inputs.Document)) func(*Snapshot) {
		return func(w *Snapshot) {
			w.LastInputs = &inputs.Document{Source: w.Inputs.Source}
			if w.Commit.ID != "" {
				w.LastInputs.Source = "sha256:before"
			}
			change(w.LastInputs)
		}
	}
	same := last(func(*inputs.Document) {})
	otherVariables := last(func(d *inputs.Document) { d.VariableFiles = []v1alpha1.VariableFile{{Path: "a.tfvars"}} })
	secretChanged := func(w *Snapshot) {
		w.LastInputs = &inputs.Document{Source: w.Inputs.Source}
		w.Inputs.Versions = map[string]string{"Secret/db": "2"}
	}
	foreign := func(w *Snapshot) { // alice changes the URL of the Repository
		w.Stack.Status.Source = &v1alpha1.GitOrigin{Repository: "shop/infra", URL: "https://good.example.com"}
		w.Source = &v1alpha1.GitOrigin{Repository: "shop/infra", URL: "https://evil.example.com"}
		w.RepositoryChangedBy = "alice"
	}
	waits, done := withRun("net-1", "Superseded", "sha256:x", by("carol")), withRun("net-1", "Succeeded", "sha256:old",
		by("carol"))
	hooks := func(spec v1alpha1.Hook, was, is string) func(*Snapshot) {
		return func(w *Snapshot) {
			w.Stack.Spec.Hooks = []v1alpha1.Hook{spec}
			w.Inputs.Hooks = []inputs.Hook{{Script: is}}
			last(func(d *inputs.Document) { d.Hooks = []inputs.Hook{{Script: was}} })(w)
		}
	}
	inConfigMap := v1alpha1.Hook{ConfigMap: &v1alpha1.KeyRef{Name: "scripts", Key: "a"}}
	policies := func(was, is inputs.Policy) func(*Snapshot) {
		return func(w *Snapshot) {
			w.Inputs.Policies = []inputs.Policy{is}
			last(func(d *inputs.Document) { d.Policies = []inputs.Policy{was} })(w)
		}
	}
	for name, tt := range map[string]struct {
		snapshot      Snapshot
		want, message string
	}{
		"a commit: its author": {
			newSnapshot(preventSelfApproval, changedBy, observed, applied("sha256:old"), done, commit, same), "Dan",
			"1f3c2ab Fix it"},
		"a commit while a change is pending: its author": {
			newSnapshot(preventSelfApproval, changedBy, observed, applied("sha256:old"), waits, commit, same), "Dan",
			"1f3c2ab Fix it"},
		"a commit while a change is pending, without preventSelfApproval: its author": {
			newSnapshot(changedBy, observed, applied("sha256:old"), waits, commit, same), "Dan", "1f3c2ab Fix it"},
		"a commit together with a change of the spec: the user of the spec": {
			newSnapshot(changedBy, observed, applied("sha256:old"), done, commit, otherVariables), "bob",
			"1f3c2ab Fix it; spec.variableFiles changed"},
		"a commit of a ref that a user chose: the user of the spec": {newSnapshot(changedBy, observed,
			applied("sha256:old"), done, commit, same, func(w *Snapshot) {
				w.Revision = "evil@sha1:1"
			}), "bob", "1f3c2ab Fix it; spec.source.git changed"},
		"a hook in the spec, after an input was missing: the user of the spec": {
			newSnapshot(changedBy, observed, applied("sha256:old"), done, hooks(v1alpha1.Hook{}, "a", "b")), "bob",
			"spec.hooks changed"},
		"a hook in a ConfigMap: no user": {
			newSnapshot(changedBy, observed, applied("sha256:old"), done, hooks(inConfigMap, "a", "b")), "",
			"spec.hooks changed"},
		"a new hook in a ConfigMap: the user of the spec": {
			newSnapshot(changedBy, observed, applied("sha256:old"), done, hooks(inConfigMap, "", ""),
				last(func(*inputs.Document) {})), "bob", "spec.hooks changed"},
		"the text of a policy: no user": {
			newSnapshot(changedBy, observed, applied("sha256:old"), done,
				policies(inputs.Policy{Name: "a", Files: map[string]string{"a": ""}}, inputs.Policy{Name: "a"})), "",
			"spec.policies changed"},
		"another policy: the user of the spec": {
			newSnapshot(changedBy, observed, applied("sha256:old"), done,
				policies(inputs.Policy{Name: "a"}, inputs.Policy{Name: "b"})), "bob", "spec.policies changed"},
		"a change of the spec together with a ConfigMap: the user of the spec": {newSnapshot(changedBy, observed,
			applied("sha256:old"), done, hooks(inConfigMap, "a", "b"), func(w *Snapshot) {
				w.LastInputs.Image = "x"
			}), "bob", "spec.hooks changed"},
		"a commit of another URL: the user who changed the Repository": {
			newSnapshot(preventSelfApproval, changedBy, observed, applied("sha256:old"), done, commit, same, foreign),
			"alice", "1f3c2ab Fix it; the Repository changed",
		},
		"a commit of another URL while a change is pending: the user who changed the Repository": {
			newSnapshot(preventSelfApproval, changedBy, observed, applied("sha256:old"), waits, commit, same, foreign),
			"alice", "1f3c2ab Fix it; the Repository changed"},
		"another URL and no Run: the user who changed the Repository": {newSnapshot(preventSelfApproval, changedBy,
			observed, applied("sha256:old"), commit, foreign), "alice", "the Stack is new"},
		"another URL and a Secret: the user who changed the Repository": {newSnapshot(preventSelfApproval, changedBy,
			observed, applied("sha256:old"), done, secretChanged, foreign), "alice", "Secret db changed"},
		"another URL and a change of the spec: the user of the spec": {newSnapshot(preventSelfApproval, changedBy,
			observed, applied("sha256:old"), done, otherVariables, foreign), "bob", "spec.variableFiles changed"},
		"another URL of a Repository without a recorded user: no user": {
			newSnapshot(preventSelfApproval, changedBy, observed, applied("sha256:old"), done, commit, same, foreign,
				func(w *Snapshot) {
					w.RepositoryChangedBy = ""
				}), "", "1f3c2ab Fix it; the Repository changed",
		},
		"another Repository: the user who changed the Stack": {
			newSnapshot(preventSelfApproval, changedBy, observed, applied("sha256:old"), done, commit, same, foreign,
				func(w *Snapshot) {
					w.Source.Repository = "shop/other"
				}), "bob", "1f3c2ab Fix it; spec.source.git changed",
		},
		"another ref while a change is pending: the user who changed the Stack": {
			newSnapshot(preventSelfApproval, changedBy, observed, applied("sha256:old"), waits, commit, same, foreign,
				func(w *Snapshot) {
					w.Source.Ref = "evil"
				}), "bob", "1f3c2ab Fix it; spec.source.git changed",
		},
		"a request for a commit of another URL: the user of the request": {newSnapshot(preventSelfApproval, changedBy,
			observed, applied("sha256:old"), done, commit, same, foreign, withRequest("Apply"),
			annotate(v1alpha1.RequestedByAnnotation, "carol")), "carol",
			"requested by carol; Commit by alice: 1f3c2ab Fix it; the Repository changed"},
		"a retry of another user's change: the user of the request": {
			newSnapshot(preventSelfApproval, withRun("net-1", "Failed", "sha256:now", by("carol"), commitType),
				withRequest("Apply")), "alice", "requested by alice; Commit by carol: for a reason"},
		"a request after a change of the spec: the user of the request": {newSnapshot(preventSelfApproval, changedBy,
			applied("sha256:old"), done, otherVariables, withRequest("Apply")), "alice",
			"requested by alice; Spec by bob: spec.variableFiles changed"},
		"a request for a commit: the user of the request": {
			newSnapshot(preventSelfApproval, applied("sha256:old"), done, commit, same, withRequest("Apply")), "alice",
			"requested by alice; Commit by Dan: 1f3c2ab Fix it"},
		"a request without changes: the user of the request": {newSnapshot(preventSelfApproval, changedBy,
			isApplied, withRequest("Apply")), "alice", "requested by alice"},
		"a request for a destroy: the user of the request": {newSnapshot(preventSelfApproval, state(3),
			withRun("net-1", "Failed", "sha256:now", by("carol")), withRequest("Destroy")), "alice",
			"requested by alice"},
		"a retry without preventSelfApproval: the user of the request": {
			newSnapshot(withRun("net-1", "Failed", "sha256:now", by("carol"), commitType), withRequest("Apply")),
			"alice", "requested by alice; Commit by carol: for a reason"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.snapshot)
			expectSameWithHistory(t, tt.snapshot)
			if d.Start == nil {
				t.Fatalf("no Run starts: %+v", d)
			}
			if c := d.Start.Cause; c.By != tt.want || c.Message != tt.message {
				t.Errorf("%q by %q, want %q by %q", c.Message, c.By, tt.message, tt.want)
			}
		})
	}
}

// TestRestoredState checks that the Stack continues after a user restored the state that was only in a log.
func TestRestoredState(t *testing.T) {
	lost := func(r *v1alpha1.Run) {
		withReason("StateNotSaved")(r)
		applyStarted(r)
		r.Status.Attempts[0].FinishedAt = &metav1.MicroTime{Time: now.Add(500 * time.Millisecond)}
	}
	version := func(at time.Duration) func(*Snapshot) {
		return func(w *Snapshot) {
			w.State.Status.Versions = append(w.State.Status.Versions,
				v1alpha1.StateVersion{At: metav1.NewTime(now.Add(at))})
		}
	}
	decide(t, map[string]decision{
		"an older version does not count as restored": {
			snapshot: newSnapshot(state(3), version(0), withRun("net-1", "Failed", "sha256:now", lost)), ready: "False",
			reason: "StateNotSaved", stalled: true,
		},
		"a newer version counts as restored, and the inputs are applied again": {
			snapshot: newSnapshot(state(3), version(0), version(time.Second),
				withRun("net-1", "Failed", "sha256:now", lost)), start: "Apply net-2", ready: "Unknown",
			reason: "Running", message: "the state was put back",
		},
		"once": {
			snapshot: newSnapshot(state(3), version(time.Second), withRun("net-1", "Failed", "sha256:now", lost),
				withRun("net-2", "Failed", "sha256:now")), ready: "False", reason: "RunFailed", stalled: true,
		},
		"a destroy continues at once with a restored state": {
			snapshot: newSnapshot(deleted, state(3), version(time.Second),
				withRun("net-1", "Failed", "sha256:last", destroyOperation, lost)), start: "Destroy net-2",
			ready: "Unknown", reason: "Destroying",
		},
		"a destroy does not continue without a restored state": {
			snapshot: newSnapshot(deleted, state(3), version(0),
				withRun("net-1", "Failed", "sha256:last", destroyOperation, lost)), ready: "False",
			reason: "StateNotSaved", stalled: true,
		},
		"a requested destroy is not continued without a request": {
			snapshot: newSnapshot(state(3), version(time.Second),
				withRun("net-1", "Failed", "sha256:last", destroyOperation, requestedByAlice, lost)), ready: "False",
			reason: "RunFailed", message: "cairn retry net continues the destroy", stalled: true,
		},
	})
}

// TestRunsInTheStatusAreNotPruned checks that Runs which the status names are kept whatever the history limit.
func TestRunsInTheStatusAreNotPruned(t *testing.T) {
	w := newSnapshot(func(w *Snapshot) { w.Stack.Spec.RunHistoryLimit = ptr(int32(0)) },
		withRun("net-1", "Succeeded", "sha256:x", destroyOperation, requestedByAlice),
		withRun("net-2", "Succeeded", "sha256:x", requestedPlan),
		withRun("net-3", "Succeeded", "sha256:x", requestedPlan), withRun("net-4", "Failed", "sha256:x", requestedPlan))
	w.Stack.Status.DestroyedByRun, w.Stack.Status.Drift = "net-1", &v1alpha1.DriftStatus{Run: "net-2"}
	var got []string
	for _, r := range RunsToPrune(w) {
		got = append(got, r.Name)
	}
	if diff := cmp.Diff([]string{"net-3"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestReservedRunWaits checks a requested Run that is reserved but not created when it has to wait: it waits as it
// would have before the reservation. A reservation that is dropped does not count as a Run that a user deleted, so
// nothing is retried.
func TestReservedRunWaits(t *testing.T) {
	failed, noShells := withRun("net-1", "Failed", "sha256:now"), func(w *Snapshot) { w.AllowShell = false }
	withdrawn := annotate(v1alpha1.RequestedAtAnnotation, "")
	vanished := func(w *Snapshot) { withMissingSecret(w); w.Digest = "" }
	for name, tt := range map[string]struct {
		snapshot Snapshot
		then     func(*Snapshot)
		start    string
	}{
		"plan, and the Stack is suspended": {newSnapshot(failed, withRequest("Plan")), suspended,
			"Plan net-3"},
		"plan, and a dependency is not Ready": {newSnapshot(failed, withRequest("Plan")), dependencyWaits,
			"Plan net-3"},
		"plan, and an input is deleted": {newSnapshot(failed, withRequest("Plan")), vanished,
			"Plan net-3"},
		"plan, and a new operator has no mirror yet": {newSnapshot(failed, withRequest("Plan")), func(w *Snapshot) {
			repositoryNotReady(w)
			w.Digest = ""
		}, "Plan net-3"},
		"plan after a rejected Run": {newSnapshot(withRun("net-1", "Canceled", "sha256:now", rejected),
			withRequest("Plan")), suspended, "Plan net-3"},
		"plan before a change": {
			newSnapshot(applied("sha256:old"), withRun("net-1", "Succeeded", "sha256:old"), withRequest("Plan")),
			suspended, "Plan net-3"},
		"shell": {newSnapshot(allowed, failed, withRequest("Shell")), suspended,
			"Shell net-3"},
		"apply": {newSnapshot(isApplied, withRequest("Apply")), suspended,
			"Apply net-3"},
		"plan if spec.apply is Never": {newSnapshot(never, isApplied, withRequest("Apply")), suspended,
			"Plan net-3"},
		"destroy": {newSnapshot(isApplied, withRequest("Destroy")),
			withDependent(Dependent{Name: "web"}), "Destroy net-3"},
		"shell that is no longer allowed": {newSnapshot(allowed, failed, withRequest("Shell")), noShells, ""},
		"plan whose request is withdrawn": {newSnapshot(failed, withRequest("Plan")), withdrawn, ""},
		"destroy that a suspended Stack rejects": {newSnapshot(state(3), failed, withRequest("Destroy")),
			suspended, ""},
		"plan that was created and failed": {newSnapshot(failed, withRequest("Plan")), func(w *Snapshot) {
			repositoryNotReady(w)
			withRun("net-2", "Failed", "sha256:now", requestedPlan)(w)
		}, ""},
		"drift check, which has another slot": {newSnapshot(checks("Report"), isApplied, withRequest("Apply"),
			withHandledRequest), suspended, ""},
	} {
		w := tt.snapshot
		w.Stack.Status = Status(w, Decide(w))
		then := w
		then.Stack = w.Stack.DeepCopy()
		tt.then(&then)
		w.Stack.Status = Status(then, Decide(then))
		w.Stack.Annotations, w.AllowShell, w.Runs = then.Stack.Annotations, then.AllowShell, then.Runs
		got := ""
		if d := Decide(w); d.Start != nil {
			got = string(d.Start.Operation) + " " + d.Name
		}
		if got != tt.start {
			t.Errorf("%s: %q is started, want %q", name, got, tt.start)
		}
	}
}

// TestDeletingAPlanRunRetriesNothing checks that a user who deletes a requested plan or shell starts no apply.
func TestDeletingAPlanRunRetriesNothing(t *testing.T) {
	for _, what := range []v1alpha1.Operation{v1alpha1.OperationPlan, v1alpha1.OperationShell} {
		w := newSnapshot(allowed, withRun("net-1", "Canceled", "sha256:now", rejected), withRequest(what))
		w.Stack.Status = Status(w, Decide(w))
		checked := w
		checked.Runs = slices.Clone(w.Runs)
		withRun("net-2", "Canceled", "sha256:now", requestedByAlice, func(r *v1alpha1.Run) {
			r.Spec.Operation = what
		})(&checked)
		w.Stack.Status = Status(checked, Decide(checked))
		if d := Decide(w); d.Start != nil {
			t.Errorf("%s: %+v is started", what, d.Start)
		}
	}
}
