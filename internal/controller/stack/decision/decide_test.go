package decision

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// newSnapshot returns a snapshot of a Stack without Runs, with changes.
func newSnapshot(options ...func(*Snapshot)) Snapshot {
	w := Snapshot{
		Now: now,
		Stack: &v1alpha1.Stack{
			ObjectMeta: metav1.ObjectMeta{Name: "net", UID: "now", Generation: 3,
				Finalizers: []string{v1alpha1.Finalizer}},
			Spec: v1alpha1.StackSpec{
				Apply: v1alpha1.ApplyAutomatic, DeletionPolicy: v1alpha1.DeletionDestroy,
				RunHistoryLimit: ptr(int32(10)),
				Retry:           v1alpha1.Retry{MaxBackoff: &metav1.Duration{Duration: 10 * time.Minute}},
			},
		},
		Inputs: inputs.Document{Source: "sha256:code"},
		Digest: "sha256:now", Code: Code{Revision: "sha256:code"},
	}
	for _, o := range options {
		o(&w)
	}
	return w
}

func deleted(w *Snapshot)   { w.Stack.DeletionTimestamp = &metav1.Time{Time: now} }
func suspended(w *Snapshot) { w.Stack.Spec.Suspend = true }
func notGenerated(w *Snapshot) {
	w.Stack.Labels = map[string]string{v1alpha1.StackSetLabel: "platform"}
	w.Stack.Annotations = map[string]string{v1alpha1.ItemGoneAnnotation: "its directory is gone"}
}
func never(w *Snapshot)       { w.Stack.Spec.Apply = v1alpha1.ApplyNever }
func orphan(w *Snapshot)      { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }
func protect(w *Snapshot)     { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionProtect }
func noFinalizer(w *Snapshot) { w.Stack.Finalizers = nil }
func applied(inputs string) func(*Snapshot) {
	return func(w *Snapshot) { w.Stack.Status.AppliedInputsDigest = inputs }
}
func withMissingSecret(w *Snapshot) {
	w.Problem, w.Digest = &Problem{Reason: "SecretNotFound", Message: "Secret db is not found"}, ""
}
func withCurrentRun(run string) func(*Snapshot) {
	return func(w *Snapshot) { w.Stack.Status.CurrentRun, w.Stack.Status.LastRun = run, run }
}

func state(resources v1alpha1.ResourceCount) func(*Snapshot) {
	return func(w *Snapshot) {
		w.State = &v1alpha1.State{Status: v1alpha1.StateStatus{
			Version: 1, UpdatedBy: "net-0", Resources: resources, InputsDigest: "sha256:last", StackUID: w.Stack.UID,
		}}
	}
}

func unclaimed(w *Snapshot) { w.UnclaimedState = "Secrets have version 3" }
func rescued(w *Snapshot)   { w.State.Status.Rescued = &v1alpha1.RescuedState{} }

// withRun adds a Run of an inputs digest in a phase.
func withRun(name string, phase v1alpha1.RunPhase, inputs string, more ...func(*v1alpha1.Run)) func(*Snapshot) {
	return func(w *Snapshot) {
		r := v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: name}}
		r.Spec = v1alpha1.RunSpec{Operation: v1alpha1.OperationApply, InputsDigest: inputs,
			Cause: v1alpha1.Cause{Message: "for a reason"}}
		r.Status = v1alpha1.RunStatus{Phase: phase, Plan: &v1alpha1.Plan{Changes: true, Add: 1},
			FinishedAt: &metav1.Time{Time: now}}
		for _, m := range more {
			m(&r)
		}
		w.Runs = append(w.Runs, r)
		w.LastInputs = &inputsOfLast
	}
}

var inputsOfLast = inputs.Document{Source: "sha256:old code"}

func reserved(name string) func(*Snapshot) {
	return func(w *Snapshot) {
		w.Stack.Status.CurrentRun, w.Stack.Status.LastRun, w.Reserved.Run = name, name, name
	}
}
func notCached(w *Snapshot)            { w.CurrentRunUncached = true }
func podTerminating(w *Snapshot)       { w.Leftover = Leftover{Run: "net-4", Pod: "net-4-plan-1"} }
func destroyOperation(r *v1alpha1.Run) { r.Spec.Operation = v1alpha1.OperationDestroy }
func planOperation(r *v1alpha1.Run)    { r.Spec.Operation = v1alpha1.OperationPlan }
func noChanges(r *v1alpha1.Run)        { r.Status.Plan = &v1alpha1.Plan{} }
func applyStarted(r *v1alpha1.Run) {
	r.Status.Attempts = append(r.Status.Attempts, v1alpha1.Attempt{Phase: v1alpha1.AttemptApply})
}
func outputsStepIs(state v1alpha1.StepState) func(*v1alpha1.Run) {
	return func(r *v1alpha1.Run) {
		r.Status.Attempts = append(r.Status.Attempts, v1alpha1.Attempt{Phase: v1alpha1.AttemptApply,
			Steps: []v1alpha1.Step{{Name: "outputs", State: state, Message: "too large"}}})
	}
}
func missingOutputs(w *Snapshot) { w.Outputs.Missing = "Secret out" }
func because(message string) func(*v1alpha1.Run) {
	return func(r *v1alpha1.Run) { r.Spec.Cause = v1alpha1.Cause{Type: v1alpha1.CauseSpec, Message: message} }
}
func locked(w *Snapshot) { w.State.Status.Lock = &v1alpha1.Lock{ID: "id", Run: "net-1", Attempt: 2} }
func lockedByUser(w *Snapshot) {
	w.State.Status.Lock = &v1alpha1.Lock{ID: "id", By: "alice", Who: "dev@laptop"}
}
func lastRun(name string) func(*Snapshot) {
	return func(w *Snapshot) { w.Stack.Status.LastRun = name }
}

// prevented is a Run whose plan would destroy a resource with prevent_destroy.
func prevented(r *v1alpha1.Run) {
	withReason("ConfigurationError")(r)
	r.Status.Attempts = []v1alpha1.Attempt{{Number: 1, Phase: v1alpha1.AttemptPlan, Failure: &v1alpha1.Failure{
		Class: v1alpha1.FailureConfigurationError, Reason: v1alpha1.FailurePreventDestroy,
		Message: "message of the Run",
	}}}
}

func withReason(reason string) func(*v1alpha1.Run) {
	return func(r *v1alpha1.Run) {
		r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Reason: reason,
			Message: "message of the Run"}}
	}
}

// decision is the expected decision for a snapshot.
type decision struct {
	snapshot Snapshot
	// start is the operation and name of the Run that is created.
	start   string
	ready   metav1.ConditionStatus
	reason  string
	message string
	stalled bool
	requeue time.Duration
	finish  string // "with state" or "without"
	// finalizer is added.
	finalizer bool
}

func TestDecide(t *testing.T) {
	decide(t, map[string]decision{
		"a Stack without a finalizer gets it first": {
			snapshot: newSnapshot(noFinalizer), finalizer: true,
		},
		"a new Stack starts an apply": {
			snapshot: newSnapshot(), start: "Apply net-1", ready: "Unknown", reason: "Running",
			message: "the Stack is new",
		},
		"a new Stack with spec.apply Never starts a plan": {
			snapshot: newSnapshot(never), start: "Plan net-1", ready: "Unknown", reason: "Running",
		},
		"a suspended Stack starts nothing": {
			snapshot: newSnapshot(suspended), ready: "False", reason: "Suspended", stalled: true,
		},
		"a Stack that its StackSet suspended names the cause": {
			snapshot: newSnapshot(suspended, notGenerated), ready: "False", reason: "Suspended", stalled: true,
			message: "StackSet platform does not generate it any more; nothing is planned",
		},
		"a missing input is reported": {
			snapshot: newSnapshot(withMissingSecret), ready: "False", reason: "SecretNotFound", message: "Secret db",
			stalled: true,
		},
		"a Run under way is not changed": {
			snapshot: newSnapshot(withRun("net-1", "Planning", "sha256:now")), ready: "Unknown", reason: "Running",
			message: "net-1 is under way: for a reason",
		},
		"a second attempt has why the first one failed": {
			snapshot: newSnapshot(withRun("net-1", "Planning", "sha256:now", func(r *v1alpha1.Run) {
				r.Status.Attempts = []v1alpha1.Attempt{{Number: 1, Failure: &v1alpha1.Failure{Message: "no\nroute"}},
					{Number: 2}}
			})), ready: "Unknown", reason: "Running", message: "net-1 is under way: for a reason; attempt 2, " +
				"after: no route",
		},
		"a Run under way that is not in the cache is checked again, since no event may report its end": {
			snapshot: newSnapshot(withRun("net-1", "Planning", "sha256:now"), notCached), ready: "Unknown",
			reason: "Running", requeue: time.Minute,
		},
		"a Run under way that is not in the cache, and the Stack is deleted": {
			snapshot: newSnapshot(deleted, withRun("net-1", "Planning", "sha256:now"), notCached), ready: "Unknown",
			reason: "Deleting", requeue: time.Minute,
		},
		"a Run under way is not changed when the inputs change, which it detects itself": {
			snapshot: newSnapshot(withRun("net-1", "Applying", "sha256:old")), ready: "Unknown", reason: "Running",
		},
		"a Run that waits for approval is reported on the Stack": {
			snapshot: newSnapshot(withRun("net-1", "AwaitingApproval", "sha256:now", withReason("AwaitingApproval"))),
			ready:    "False", reason: "AwaitingApproval", message: "message of the Run",
		},
		"a problem of the inputs is shown while a plan of earlier inputs waits for an approval": {
			snapshot: newSnapshot(withMissingSecret, withRun("net-1", "AwaitingApproval", "sha256:old",
				withReason("AwaitingApproval"))),
			ready: "False", reason: "AwaitingApproval", message: "since the inputs have changed: SecretNotFound: " +
				"Secret db is not found",
		},
		"a Run that this process reserved and could not create is created under that name": {
			snapshot: newSnapshot(reserved("net-4"), withRun("net-3", "Succeeded", "sha256:old")), start: "Apply net-4",
			ready: "Unknown", reason: "Running",
		},
		"the name of a Run that is not found is not used again, since it may have been created and deleted": {
			snapshot: newSnapshot(withCurrentRun("net-4"), withRun("net-3", "Succeeded", "sha256:old")),
			start:    "Apply net-5", ready: "Unknown", reason: "Running",
		},
		"a reserved name older than the last Run is not used": {
			snapshot: newSnapshot(reserved("net-4"), lastRun("net-5")), start: "Apply net-6", ready: "Unknown",
			reason: "Running",
		},
		"a reserved name that another Run has is not used": {
			snapshot: newSnapshot(reserved("net-4"), func(w *Snapshot) { w.HighestTaken = 4 }), start: "Apply net-5",
			ready: "Unknown", reason: "Running",
		},
		"a Run waits for the pod of a deleted one": {
			snapshot: newSnapshot(withRun("net-3", "Succeeded", "sha256:old"), lastRun("net-4"), podTerminating),
			ready:    "False", reason: "PodTerminating", message: "Run net-4 was deleted, and its pod net-4-plan-1 " +
				"has not ended", requeue: leftoverRequeue,
		},
		"a deleted Stack waits for the pod of a deleted Run": {
			snapshot: newSnapshot(deleted, lastRun("net-4"), podTerminating), ready: "False", reason: "PodTerminating",
			requeue: leftoverRequeue,
		},
		"a destroy waits for the pod of a deleted Run": {
			snapshot: newSnapshot(deleted, state(3), lastRun("net-4"), podTerminating), ready: "False",
			reason: "PodTerminating", requeue: leftoverRequeue,
		},
		"a number is never used twice, although the Runs are deleted": {
			snapshot: newSnapshot(func(w *Snapshot) { w.Stack.Status.LastRun = "net-9" }), start: "Apply net-10",
			ready: "Unknown", reason: "Running",
		},
		"a number that an earlier Stack of that name used is skipped": {
			snapshot: newSnapshot(withCurrentRun("net-1"), func(w *Snapshot) { w.HighestTaken = 4 }),
			start:    "Apply net-5", ready: "Unknown", reason: "Running",
		},
		"changed inputs start an apply with their cause": {
			snapshot: newSnapshot(applied("sha256:old"), withRun("net-1", "Succeeded", "sha256:old")),
			start:    "Apply net-2", ready: "Unknown", reason: "Running", message: "the code changed",
		},
		"inputs that were just applied start nothing": {
			snapshot: newSnapshot(state(3), withRun("net-1", "Succeeded", "sha256:now")), ready: "True",
			reason: "Applied", message: "3 resources",
		},
		"applied inputs start nothing, although the Runs are deleted": {
			snapshot: newSnapshot(applied("sha256:now")), ready: "True", reason: "Applied",
		},
		"a failed Run is not repeated with the same inputs": {
			snapshot: newSnapshot(withRun("net-1", "Failed", "sha256:now", withReason("ConfigurationError"))),
			ready:    "False", reason: "RunFailed", message: "net-1 failed: message of the Run", stalled: true,
		},
		"the reason of a failure becomes the reason of the Stack": {
			snapshot: newSnapshot(withRun("net-1", "Failed", "sha256:now", withReason("ConfigurationError"),
				func(r *v1alpha1.Run) {
					r.Status.Attempts = []v1alpha1.Attempt{
						{Failure: &v1alpha1.Failure{Class: "ConfigurationError", Reason: "BackendInCode"}}}
				})),
			ready: "False", reason: "BackendInCode", message: "net-1 failed: message of the Run", stalled: true,
		},
		"nothing is planned while a state is only in a log": {
			snapshot: newSnapshot(withRun("net-1", "Failed", "sha256:old", withReason("StateNotSaved"))),
			ready:    "False", reason: "StateNotSaved", message: "delete Run net-1 to continue without it: resources " +
				"that it created may then be created twice", stalled: true,
		},
		"nothing is destroyed while a state is only in a log": {
			snapshot: newSnapshot(deleted, state(3),
				withRun("net-1", "Failed", "sha256:old", withReason("StateNotSaved"))), ready: "False",
			reason: "StateNotSaved", stalled: true,
		},
		"a Run that a user deleted is run again": {
			snapshot: newSnapshot(lastRun("net-3"), withRun("net-1", "Succeeded", "sha256:now")), start: "Apply net-4",
			ready: "Unknown", reason: "Running",
		},
		"the State of an earlier Stack has the last number that was used": {
			snapshot: newSnapshot(state(1), func(w *Snapshot) { w.State.Status.UpdatedBy = "net-6" }),
			start:    "Apply net-7", ready: "Unknown", reason: "Running",
		},
		"the number of a Run that left a rescued state is used": {
			snapshot: newSnapshot(state(1), rescued, func(w *Snapshot) {
				w.State.Status.Rescued.Run = "net-8"
			}), start: "Apply net-9", ready: "Unknown", reason: "Running",
		},
		"a superseded Run of the same inputs is repeated": {
			snapshot: newSnapshot(withRun("net-1", "Superseded", "sha256:now")), start: "Apply net-2", ready: "Unknown",
			reason: "Running",
		},
		"after a failed apply of other inputs, the earlier inputs are applied again": {
			snapshot: newSnapshot(applied("sha256:now"), withRun("net-2", "Failed", "sha256:bad", applyStarted)),
			start:    "Apply net-3", ready: "Unknown", reason: "Running",
		},
		"after a failed plan of other inputs, the earlier inputs start nothing": {
			snapshot: newSnapshot(applied("sha256:now"), withRun("net-2", "Failed", "sha256:bad")), ready: "True",
			reason: "Applied",
		},
		"changes are reported if spec.apply is Never": {
			snapshot: newSnapshot(never, withRun("net-1", "Succeeded", "sha256:now", planOperation)), ready: "False",
			reason: "ChangesPending", stalled: true, message: "1 to add",
		},
		"a plan without changes makes a Stack with spec.apply Never Ready": {
			snapshot: newSnapshot(never, withRun("net-1", "Succeeded", "sha256:now", planOperation, noChanges)),
			ready:    "True", reason: "Applied",
		},
		"planned changes are applied once spec.apply allows it": {
			snapshot: newSnapshot(withRun("net-1", "Succeeded", "sha256:now", planOperation)), start: "Apply net-2",
			ready: "Unknown", reason: "Running",
		},
		"a Run that failed is reported before an object that is not the Stack's": {
			snapshot: newSnapshot(state(3), withRun("net-1", "Failed", "sha256:now"), func(w *Snapshot) {
				w.Outputs.Foreign = "Secret out"
			}), ready: "False", reason: "RunFailed", message: "Run net-1 failed", stalled: true,
		},
		"an outputs Secret of another owner is not changed": {
			snapshot: newSnapshot(withRun("net-1", "Succeeded", "sha256:now"), func(w *Snapshot) {
				w.Outputs.Foreign = "Secret out"
			}), ready: "False", reason: "OutputsConflict", message: "Secret out", stalled: true,
		},
		"deleted outputs are written again": {
			snapshot: newSnapshot(withRun("net-1", "Succeeded", "sha256:now", outputsStepIs("Succeeded")),
				missingOutputs), start: "Apply net-2", ready: "Unknown", reason: "Running",
			message: "Secret out is missing",
		},
		"outputs that could not be written are retried": {
			snapshot: newSnapshot(withRun("net-1", "Succeeded", "sha256:now", outputsStepIs("Failed")), missingOutputs),
			start:    "Apply net-2", ready: "Unknown", reason: "Running",
		},
		"failing outputs are not retried without end": {
			snapshot: newSnapshot(withRun("net-2", "Succeeded", "sha256:now", outputsStepIs("Failed"),
				because("Secret out is missing")), missingOutputs), ready: "False", reason: "OutputsFailed",
			message: "too large", stalled: true,
		},
		"deleted outputs are reported if spec.apply is Never": {
			snapshot: newSnapshot(never, state(3), applied("sha256:now"),
				withRun("net-1", "Succeeded", "sha256:now", outputsStepIs("Succeeded")),
				withRun("net-2", "Succeeded", "sha256:now", planOperation, noChanges), missingOutputs),
			ready: "False", reason: "OutputsFailed", message: "Secret out is missing, and an apply writes it, which " +
				"spec.apply Never prevents", stalled: true,
		},
		"outputs that were never written are not reported if spec.apply is Never": {
			snapshot: newSnapshot(never, withRun("net-1", "Succeeded", "sha256:now", planOperation, noChanges),
				missingOutputs), ready: "True", reason: "Applied",
		},
		"outputs that no Run wrote start nothing": {
			snapshot: newSnapshot(withRun("net-1", "Succeeded", "sha256:now"), func(w *Snapshot) {
				w.Outputs.Missing = "Secret out"
			}), ready: "True", reason: "Applied",
		},

		"a deleted Stack without a finalizer is ignored": {
			snapshot: newSnapshot(deleted, noFinalizer),
		},
		"a deleted Stack that created nothing is removed": {
			snapshot: newSnapshot(deleted), finish: "with state",
		},
		"a deleted Stack with an empty state is removed": {
			snapshot: newSnapshot(deleted, state(0), withRun("net-2", "Succeeded", "sha256:last", destroyOperation)),
			finish:   "with state",
		},
		"a deleted Stack with resources is destroyed with the inputs of the last apply": {
			snapshot: newSnapshot(deleted, withMissingSecret, state(3)), start: "Destroy net-1", ready: "Unknown",
			reason: "Destroying",
		},
		"a deleted Stack with a rescued state is not removed": {
			snapshot: newSnapshot(deleted, state(0), rescued), start: "Destroy net-1", ready: "Unknown",
			reason: "Destroying",
		},
		"a deleted Stack waits for the Run under way": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-1", "Applying", "sha256:now")), ready: "Unknown",
			reason: "Deleting", message: "net-1 ends first",
		},
		"a deleted Stack with the Orphan policy waits for the Run under way": {
			snapshot: newSnapshot(deleted, orphan, state(3), withRun("net-1", "Applying", "sha256:now")),
			ready:    "Unknown", reason: "Deleting",
		},
		"a deleted Stack with the Orphan policy keeps its state": {
			snapshot: newSnapshot(deleted, orphan, state(3)), finish: "without",
		},
		"a deleted Stack whose first state is only in a log is not removed": {
			snapshot: newSnapshot(deleted, withRun("net-1", "Failed", "sha256:now", withReason("StateNotSaved"))),
			ready:    "False", reason: "StateNotSaved", stalled: true,
		},
		"a deleted Stack with the Orphan policy whose first state is only in a log is not removed": {
			snapshot: newSnapshot(deleted, orphan,
				withRun("net-1", "Failed", "sha256:now", withReason("StateNotSaved"))), ready: "False",
			reason: "StateNotSaved", stalled: true,
		},
		"a deleted Stack whose first apply lost its pod is destroyed first": {
			snapshot: newSnapshot(deleted, state(0), locked, withRun("net-1", "Failed", "sha256:now")),
			start:    "Destroy net-2", ready: "Unknown", reason: "Destroying",
		},
		"a destroy without resources after a lost apply asks for a check by a user": {
			snapshot: newSnapshot(deleted, state(0), locked, withRun("net-2", "Succeeded", "sha256:last",
				destroyOperation)), ready: "False", reason: "DestroyIncomplete",
			message: "there may be resources that no state knows", stalled: true,
		},
		"a deleted Stack is not removed while a user holds the lock of the state": {
			snapshot: newSnapshot(deleted, state(0), lockedByUser, withRun("net-1", "Failed", "sha256:now")),
			start:    "Destroy net-2", ready: "Unknown", reason: "Destroying",
		},
		"the holder of the lock is reported after a destroy": {
			snapshot: newSnapshot(deleted, state(0), lockedByUser, withRun("net-2", "Succeeded", "sha256:last",
				destroyOperation)), ready: "False", reason: "DestroyIncomplete",
			message: "user alice holds the lock of the state", stalled: true,
		},
		"a destroy that left resources is not repeated without end": {
			snapshot: newSnapshot(deleted, state(2), withRun("net-2", "Succeeded", "sha256:last", destroyOperation)),
			ready:    "False", reason: "DestroyIncomplete", message: "2 resources", stalled: true,
		},
		"a destroy script that succeeds but leaves resources is not repeated": {
			snapshot: newSnapshot(deleted, state(2), withRun("net-2", "Succeeded", "sha256:last", destroyOperation,
				func(r *v1alpha1.Run) {
					r.Status.Plan = &v1alpha1.Plan{Script: true}
				})), ready: "False", reason: "DestroyIncomplete",
			message: "the script of Run net-2 (spec.commands.destroy, as it was last applied) succeeded, but the " +
				"state holds 2 resources still: cairn retry net runs it once more", stalled: true,
		},
		"a Stack with a state that the engine encrypts is destroyed once and removed": {
			snapshot: newSnapshot(deleted, state(-1), withRun("net-2", "Succeeded", "sha256:last", destroyOperation)),
			finish:   "with state",
		},
		"a destroy under way is not changed although the Stack became protected": {
			snapshot: newSnapshot(deleted, protect, state(3),
				withRun("net-2", "Applying", "sha256:last", destroyOperation)), ready: "Unknown", reason: "Destroying",
		},
		"a destroy under way is not changed": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Planning", "sha256:last", destroyOperation)),
			ready:    "Unknown", reason: "Destroying",
		},
		"a destroy that waits for approval is reported": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "AwaitingApproval", "sha256:last",
				destroyOperation, withReason("AwaitingApproval"))), ready: "False", reason: "AwaitingApproval",
		},
		"a failed destroy is retried later, and the alternative is reported": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Failed", "sha256:last", destroyOperation,
				withReason("Transient"))), ready: "False", reason: "DestroyFailed", message: "Orphan",
			requeue: 10 * time.Minute,
		},
		"a failed destroy is retried after the wait": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Failed", "sha256:last", destroyOperation),
				func(w *Snapshot) {
					w.Now = now.Add(10 * time.Minute)
				}), start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"a destroy whose plan needs a user to merge two states is not retried": {
			snapshot: newSnapshot(deleted, state(3), rescued,
				withRun("net-2", "Failed", "sha256:last", destroyOperation, withReason("ConfigurationError")),
				func(w *Snapshot) {
					w.Now = now.Add(10 * time.Minute)
				}),
			ready: "False", reason: "DestroyFailed", stalled: true, message: "message of the Run",
		},
		"a destroy that prevent_destroy prevents is not retried, and the way out is reported": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Failed", "sha256:last", destroyOperation,
				prevented), func(w *Snapshot) {
				w.Now = now.Add(10 * time.Minute)
			}),
			ready: "False", reason: "DestroyFailed", stalled: true,
			message: "create the Stack again from code without prevent_destroy, and run cairn destroy net",
		},
		"a deletion with an encrypted state and unknown inputs names no number of resources": {
			snapshot: newSnapshot(deleted, state(-1), func(w *Snapshot) {
				w.State.Status.InputsDigest = ""
			}), ready: "False", reason: "AppliedInputsUnknown", stalled: true,
			message: "the state holds resources, but",
		},
		"the destroy is retried once the states are merged": {
			snapshot: newSnapshot(deleted, state(3), withRun("net-2", "Failed", "sha256:last", destroyOperation,
				withReason("ConfigurationError")), func(w *Snapshot) {
				w.Now = now.Add(10 * time.Minute)
			}),
			start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"a destroy that failed for another reason while a rescued state waits is retried": {
			snapshot: newSnapshot(deleted, state(3), rescued,
				withRun("net-2", "Failed", "sha256:last", destroyOperation, withReason("Transient")),
				func(w *Snapshot) {
					w.Now = now.Add(10 * time.Minute)
				}),
			start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"a deleted Stack leaves a state that its State does not name": {
			snapshot: newSnapshot(deleted, unclaimed, state(0)), finish: "without", reason: "StateOrphaned",
			message: "Secrets have version 3",
		},
		"a deleted Stack without a State leaves a state in the bucket": {
			snapshot: newSnapshot(deleted, unclaimed, func(w *Snapshot) { w.State = nil }), finish: "without",
			reason: "StateOrphaned", message: "Secrets have version 3",
		},
		"a deleted Stack that is protected remains beside a state that its State does not name": {
			snapshot: newSnapshot(deleted, unclaimed, protect, state(0)), ready: "False", reason: "DeletionProtected",
			stalled: true,
		},
		"a deleted Stack that is protected remains": {
			snapshot: newSnapshot(deleted, protect, state(3)), ready: "False", reason: "DeletionProtected",
			stalled: true,
		},
		"a deleted Stack that is suspended remains": {
			snapshot: newSnapshot(deleted, suspended, state(3)), ready: "False", reason: "Suspended", stalled: true,
		},
		"a deleted Stack with spec.apply Never remains": {
			snapshot: newSnapshot(deleted, never, state(3)), ready: "False", reason: "ApplyNever", stalled: true,
		},
		"a deleted Stack in a terminating namespace reports that it cannot be destroyed": {
			snapshot: newSnapshot(deleted, state(3), func(w *Snapshot) {
				w.NamespaceTerminating = true
			}), ready: "False", reason: "NamespaceTerminating", message: "3 resources", stalled: true,
		},
		"a deleted Stack whose resources Cairn did not create remains": {
			snapshot: newSnapshot(deleted, state(3), func(w *Snapshot) {
				w.State.Status.InputsDigest = ""
			}), ready: "False", reason: "AppliedInputsUnknown", stalled: true,
		},
	})
}

// decide compares decisions with the expected ones.
func decide(t *testing.T, tests map[string]decision) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.snapshot)
			expectSameWithHistory(t, tt.snapshot)
			expectSameWithRequests(t, tt.snapshot)
			type outcome struct {
				Finalizer      bool
				Start          string
				Ready          metav1.ConditionStatus
				Reason, Finish string
				Stalled        bool
				Requeue        time.Duration
			}
			got := outcome{Finalizer: d.Needs == NeedsFinalizer, Ready: d.Ready, Reason: d.Reason, Stalled: d.Stalled,
				Requeue: d.RequeueAfter}
			want := outcome{Finalizer: tt.finalizer, Start: tt.start, Ready: tt.ready, Reason: tt.reason,
				Finish: tt.finish, Stalled: tt.stalled, Requeue: tt.requeue}
			if d.Start != nil {
				got.Start = string(d.Start.Operation) + " " + Status(tt.snapshot, d).LastRun
			}
			if d.Finish {
				got.Finish = map[bool]string{true: "with state", false: "without"}[d.RemoveState]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !strings.Contains(d.Message, tt.message) {
				t.Errorf("message %q does not contain %q", d.Message, tt.message)
			}
			if d.Start != nil && d.Start.Operation == v1alpha1.OperationDestroy &&
				d.Start.InputsDigest != "sha256:last" {
				t.Errorf("a destroy uses the inputs %q, not those of the last apply", d.Start.InputsDigest)
			}
		})
	}
}

// expectSameWithRequests checks that how a Stack stands does not depend on the requests of users, nor on what was met
// for an earlier decision.
func expectSameWithRequests(t *testing.T, w Snapshot) {
	t.Helper()
	if w.Stack.DeletionTimestamp != nil {
		return
	}
	want := standing(w)
	w.Stack, w.AllowShell, w.Met = w.Stack.DeepCopy(), true, []Need{NeedsFinalizer, NeedsLeftover, NeedsCommits}
	for _, operation := range []v1alpha1.Operation{"", v1alpha1.OperationPlan, v1alpha1.OperationDestroy,
		v1alpha1.OperationShell} {
		metav1.SetMetaDataAnnotation(&w.Stack.ObjectMeta, v1alpha1.RequestedAtAnnotation, now.Format(time.RFC3339))
		metav1.SetMetaDataAnnotation(&w.Stack.ObjectMeta, v1alpha1.RequestedOperationAnnotation, string(operation))
		if diff := cmp.Diff(want, standing(w)); diff != "" {
			t.Errorf("a request of %q changes how the Stack stands:\n%s", operation, diff)
		}
	}
}

// TestNeedsAreMetOnce checks that what a decision needs comes before it, and that the same need does not come back.
func TestNeedsAreMetOnce(t *testing.T) {
	w := newSnapshot(noFinalizer, func(w *Snapshot) {
		w.Commit.ID, w.Stack.Spec.PreventSelfApproval = strings.Repeat("1", 40), true
	})
	var got []Need
	for d := Decide(w); d.Needs != ""; d = Decide(w) {
		if d.Needs == NeedsFinalizer {
			w.Stack.Finalizers = []string{v1alpha1.Finalizer}
		}
		w.Met, got = append(w.Met, d.Needs), append(got, d.Needs)
	}
	if diff := cmp.Diff([]Need{NeedsFinalizer, NeedsLeftover, NeedsCommits}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if d := Decide(w); d.Start == nil {
		t.Errorf("no Run starts: %+v", d)
	}
}

// TestStatusSettles checks that the status of a decision leads to the same decision, so that nothing is written twice.
func TestStatusSettles(t *testing.T) {
	w := newSnapshot(state(3), withRun("net-1", "Succeeded", "sha256:now"))
	first := Status(w, Decide(w))
	w.Stack.Status = first
	w.Now = now.Add(time.Hour)
	if diff := cmp.Diff(first, Status(w, Decide(w))); diff != "" {
		t.Errorf("the second reconcile changes the status:\n%s", diff)
	}
}

func TestRunsToPrune(t *testing.T) {
	many := func(w *Snapshot) {
		for _, name := range []string{"net-1", "net-2", "net-3", "net-4"} {
			withRun(name, "Succeeded", "sha256:x")(w)
		}
	}
	history := func(n int32) func(*Snapshot) { return func(w *Snapshot) { w.Stack.Spec.RunHistoryLimit = &n } }
	tests := map[string]struct {
		snapshot Snapshot
		want     []string
	}{
		"the history limit is kept":  {newSnapshot(history(2), many), []string{"net-1", "net-2"}},
		"zero keeps only the newest": {newSnapshot(history(0), many), []string{"net-1", "net-2", "net-3"}},
		"a Run under way does not count": {newSnapshot(history(2), many, withRun("net-5", "Planning", "")),
			[]string{"net-1", "net-2"}},
		"fewer than the limit": {newSnapshot(history(9), many), nil},
		"a Stack without Runs": {newSnapshot(history(0)), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range RunsToPrune(tt.snapshot) {
				got = append(got, r.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCause(t *testing.T) {
	was := inputs.Document{Source: "a", Versions: map[string]string{"Secret/db": "1", "Secret/new": "1"}}
	tests := map[string]struct {
		change func(*inputs.Document)
		want   v1alpha1.Cause
	}{
		"the code": {func(d *inputs.Document) { d.Source = "b" },
			v1alpha1.Cause{Type: "Spec", Message: "the code changed"}},
		"a Secret": {func(d *inputs.Document) {
			d.Versions = map[string]string{"Secret/db": "2", "Secret/new": "1"}
		}, v1alpha1.Cause{Type: "Variables", Message: "Secret db changed"}},
		"the outputs": {func(d *inputs.Document) { d.Outputs = &v1alpha1.Outputs{} },
			v1alpha1.Cause{Type: "Spec", Message: "spec.outputs changed"}},
		"no difference": {func(*inputs.Document) {},
			v1alpha1.Cause{Type: "Spec", Message: "what is declared is not applied"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			is := was
			tt.change(&is)
			if diff := cmp.Diff(tt.want,
				causeOf(Snapshot{Stack: &v1alpha1.Stack{}, Inputs: is, LastInputs: &was,
					Runs: make([]v1alpha1.Run, 1)})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestLengthOfACauseIsLimited checks long names: the API server would reject a Run whose cause is too long, each time
// that it is created.
func TestLengthOfACauseIsLimited(t *testing.T) {
	w := newSnapshot(applied("sha256:old"), withRun("net-1", "Succeeded", "sha256:old"))
	w.LastInputs, w.Inputs.Versions = &inputs.Document{Source: "sha256:code"}, map[string]string{}
	for _, c := range "abcde" {
		w.Inputs.Versions["Secret/"+strings.Repeat(string(c), 253)] = "2"
	}
	w.Revision = strings.Repeat("r", 255) + "@sha1:" + strings.Repeat("0", 40)
	d := Decide(w)
	if d.Start == nil || len(d.Start.Cause.Message) > 1000 || len(d.Start.Revision) > 300 ||
		!strings.HasPrefix(d.Start.Cause.Message, "Secret aaa") {
		t.Errorf("%+v", d.Start)
	}
}

// TestLengthOfAConditionMessageIsLimited checks that the API server accepts the status.
func TestLengthOfAConditionMessageIsLimited(t *testing.T) {
	w := newSnapshot()
	for i := range 1000 {
		w.Cycle = append(w.Cycle, runinfo.Name(strings.Repeat("s", 60), i))
	}
	s := Status(w, Decide(w))
	for _, c := range s.Conditions {
		if len(c.Message) > 32768 {
			t.Errorf("the message of %s has %d bytes", c.Type, len(c.Message))
		}
	}
	if len(s.Conditions) != 2 {
		t.Errorf("got %d conditions", len(s.Conditions))
	}
}
