package decision

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/run/runinfo"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// a world with a Stack that was never run; the options make it another one.
func world(options ...func(*Snapshot)) Snapshot {
	w := Snapshot{
		Now: now,
		Stack: &v1alpha1.Stack{
			ObjectMeta: metav1.ObjectMeta{Name: "net", Generation: 3, Finalizers: []string{v1alpha1.Finalizer}},
			Spec: v1alpha1.StackSpec{
				Apply: v1alpha1.ApplyAutomatic, DeletionPolicy: v1alpha1.DeletionDestroy, RunHistoryLimit: ptr(int32(10)),
				Retry: v1alpha1.Retry{MaxBackoff: &metav1.Duration{Duration: 10 * time.Minute}},
			},
		},
		Inputs: inputs.Document{Source: "sha256:code"},
		Digest: "sha256:now", Revision: "sha256:code",
	}
	for _, o := range options {
		o(&w)
	}
	return w
}

func deleted(w *Snapshot)     { w.Stack.DeletionTimestamp = &metav1.Time{Time: now} }
func suspended(w *Snapshot)   { w.Stack.Spec.Suspend = true }
func never(w *Snapshot)       { w.Stack.Spec.Apply = v1alpha1.ApplyNever }
func orphan(w *Snapshot)      { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }
func protect(w *Snapshot)     { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionProtect }
func noFinalizer(w *Snapshot) { w.Stack.Finalizers = nil }
func applied(inputs string) func(*Snapshot) {
	return func(w *Snapshot) { w.Stack.Status.AppliedInputsDigest = inputs }
}
func missing(w *Snapshot) {
	w.Problem, w.Digest = &Problem{Reason: "SecretNotFound", Message: "Secret db is not found"}, ""
}
func named(run string) func(*Snapshot) {
	return func(w *Snapshot) { w.Stack.Status.CurrentRun, w.Stack.Status.LastRun = run, run }
}

func state(resources int32) func(*Snapshot) {
	return func(w *Snapshot) {
		w.State = &v1alpha1.State{Status: v1alpha1.StateStatus{Version: 1, UpdatedBy: "net-0", Resources: resources, InputsDigest: "sha256:kept"}}
	}
}

func rescued(w *Snapshot) { w.State.Status.Rescued = &v1alpha1.RescuedState{} }

// had a Run of the given inputs in the given phase.
func had(name string, phase v1alpha1.RunPhase, inputs string, more ...func(*v1alpha1.Run)) func(*Snapshot) {
	return func(w *Snapshot) {
		r := v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: name}}
		r.Spec = v1alpha1.RunSpec{Operation: v1alpha1.OperationApply, InputsDigest: inputs, Cause: v1alpha1.Cause{Message: "for a reason"}}
		r.Status = v1alpha1.RunStatus{Phase: phase, Plan: &v1alpha1.Plan{Changes: true, Add: 1}, FinishedAt: &metav1.Time{Time: now}}
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
func unheard(w *Snapshot)       { w.CurrentRunUncached = true }
func podIsLeft(w *Snapshot)     { w.Leftover = Leftover{Run: "net-4", Pod: "net-4-plan-1"} }
func destroys(r *v1alpha1.Run)  { r.Spec.Operation = v1alpha1.OperationDestroy }
func plans(r *v1alpha1.Run)     { r.Spec.Operation = v1alpha1.OperationPlan }
func noChanges(r *v1alpha1.Run) { r.Status.Plan = &v1alpha1.Plan{} }
func began(r *v1alpha1.Run) {
	r.Status.Attempts = append(r.Status.Attempts, v1alpha1.Attempt{Phase: v1alpha1.AttemptApply})
}
func outputsStepIs(state v1alpha1.StepState) func(*v1alpha1.Run) {
	return func(r *v1alpha1.Run) {
		r.Status.Attempts = append(r.Status.Attempts, v1alpha1.Attempt{Phase: v1alpha1.AttemptApply, Steps: []v1alpha1.Step{{Name: "outputs", State: state, Message: "too large"}}})
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
func says(reason string) func(*v1alpha1.Run) {
	return func(r *v1alpha1.Run) {
		r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Reason: reason, Message: "what the Run says"}}
	}
}

// decision is what is expected of a world.
type decision struct {
	world Snapshot
	// start is the operation and name of the Run that is made.
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
		"a Stack without a finalizer gets one first": {
			world: world(noFinalizer), finalizer: true,
		},
		"a new Stack is run": {
			world: world(), start: "Apply net-1", ready: "Unknown", reason: "Running", message: "the Stack is new",
		},
		"a new Stack that may never be applied is only planned": {
			world: world(never), start: "Plan net-1", ready: "Unknown", reason: "Running",
		},
		"a suspended Stack starts nothing": {
			world: world(suspended), ready: "False", reason: "Suspended", stalled: true,
		},
		"a Stack whose inputs cannot be had says what is missing": {
			world: world(missing), ready: "False", reason: "SecretNotFound", message: "Secret db", stalled: true,
		},
		"a Run under way is let be": {
			world: world(had("net-1", "Planning", "sha256:now")), ready: "Unknown", reason: "Running", message: "net-1 is under way: for a reason",
		},
		"a Run under way that the cache does not have is checked again, since no event may tell its end": {
			world: world(had("net-1", "Planning", "sha256:now"), unheard), ready: "Unknown", reason: "Running", requeue: time.Minute,
		},
		"so it is when the Stack is deleted": {
			world: world(deleted, had("net-1", "Planning", "sha256:now"), unheard), ready: "Unknown", reason: "Deleting", requeue: time.Minute,
		},
		"a Run under way is let be although the inputs changed: it sees that itself": {
			world: world(had("net-1", "Applying", "sha256:old")), ready: "Unknown", reason: "Running",
		},
		"a Run that waits for a person makes the Stack say so": {
			world: world(had("net-1", "AwaitingApproval", "sha256:now", says("AwaitingApproval"))), ready: "False", reason: "AwaitingApproval", message: "what the Run says",
		},
		"a Run that this process named and could not create is created under that name": {
			world: world(reserved("net-4"), had("net-3", "Succeeded", "sha256:old")), start: "Apply net-4", ready: "Unknown", reason: "Running",
		},
		"a Run that is not there may have been created and deleted, so the next one has another name": {
			world: world(named("net-4"), had("net-3", "Succeeded", "sha256:old")), start: "Apply net-5", ready: "Unknown", reason: "Running",
		},
		"a name that this process reserved before another one named a Run is not used": {
			world: world(reserved("net-4"), lastRun("net-5")), start: "Apply net-6", ready: "Unknown", reason: "Running",
		},
		"nor is one that another Run has": {
			world: world(reserved("net-4"), func(w *Snapshot) { w.HighestTaken = 4 }), start: "Apply net-5", ready: "Unknown", reason: "Running",
		},
		"a Run waits for the pod of one that was deleted": {
			world: world(had("net-3", "Succeeded", "sha256:old"), lastRun("net-4"), podIsLeft), ready: "False", reason: "PodTerminating", message: "Run net-4 was deleted, and its pod net-4-plan-1 has not ended", requeue: leftoverRequeue,
		},
		"a Stack waits for it before it goes": {
			world: world(deleted, lastRun("net-4"), podIsLeft), ready: "False", reason: "PodTerminating", requeue: leftoverRequeue,
		},
		"so does a destroy": {
			world: world(deleted, state(3), lastRun("net-4"), podIsLeft), ready: "False", reason: "PodTerminating", requeue: leftoverRequeue,
		},
		"a number is never used twice, although the Runs are gone": {
			world: world(func(w *Snapshot) { w.Stack.Status.LastRun = "net-9" }), start: "Apply net-10", ready: "Unknown", reason: "Running",
		},
		"a number that an earlier Stack of that name used is left alone": {
			world: world(named("net-1"), func(w *Snapshot) { w.HighestTaken = 4 }), start: "Apply net-5", ready: "Unknown", reason: "Running",
		},
		"changed inputs are run, and the cause is named": {
			world: world(applied("sha256:old"), had("net-1", "Succeeded", "sha256:old")), start: "Apply net-2", ready: "Unknown", reason: "Running", message: "the code changed",
		},
		"inputs that were just applied are not run again": {
			world: world(state(3), had("net-1", "Succeeded", "sha256:now")), ready: "True", reason: "Applied", message: "3 resources",
		},
		"inputs that are applied are not run again, although the Runs are gone": {
			world: world(applied("sha256:now")), ready: "True", reason: "Applied",
		},
		"a failed Run is not repeated on the same inputs": {
			world: world(had("net-1", "Failed", "sha256:now", says("ConfigurationError"))), ready: "False", reason: "RunFailed", message: "net-1 failed: what the Run says", stalled: true,
		},
		"a failure with a reason of its own gives it to the Stack": {
			world: world(had("net-1", "Failed", "sha256:now", says("ConfigurationError"), func(r *v1alpha1.Run) {
				r.Status.Attempts = []v1alpha1.Attempt{{Failure: &v1alpha1.Failure{Class: "ConfigurationError", Reason: "BackendInCode"}}}
			})),
			ready: "False", reason: "BackendInCode", message: "net-1 failed: what the Run says", stalled: true,
		},
		"nothing is planned while a state is nowhere but in a log": {
			world: world(had("net-1", "Failed", "sha256:old", says("StateNotSaved"))), ready: "False", reason: "StateNotSaved", message: "delete Run net-1 to continue without it: resources that it created may then be created twice", stalled: true,
		},
		"nothing is destroyed while a state is nowhere but in a log": {
			world: world(deleted, state(3), had("net-1", "Failed", "sha256:old", says("StateNotSaved"))), ready: "False", reason: "StateNotSaved", stalled: true,
		},
		"what came of a Run that was deleted by hand is not forgotten": {
			world: world(lastRun("net-3"), had("net-1", "Succeeded", "sha256:now")), start: "Apply net-4", ready: "Unknown", reason: "Running",
		},
		"a State that outlived its Stack knows the numbers that were used": {
			world: world(state(1), func(w *Snapshot) { w.State.Status.UpdatedBy = "net-6" }), start: "Apply net-7", ready: "Unknown", reason: "Running",
		},
		"also that of a Run that left a rescued state": {
			world: world(state(1), rescued, func(w *Snapshot) { w.State.Status.Rescued.Run = "net-8" }), start: "Apply net-9", ready: "Unknown", reason: "Running",
		},
		"a superseded Run of these very inputs is repeated": {
			world: world(had("net-1", "Superseded", "sha256:now")), start: "Apply net-2", ready: "Unknown", reason: "Running",
		},
		"after a failed apply of others, the inputs from before are applied again": {
			world: world(applied("sha256:now"), had("net-2", "Failed", "sha256:bad", began)), start: "Apply net-3", ready: "Unknown", reason: "Running",
		},
		"after a failed plan of others, the inputs from before need no Run": {
			world: world(applied("sha256:now"), had("net-2", "Failed", "sha256:bad")), ready: "True", reason: "Applied",
		},
		"changes that may not be applied are shown": {
			world: world(never, had("net-1", "Succeeded", "sha256:now", plans)), ready: "False", reason: "ChangesPending", stalled: true, message: "1 to add",
		},
		"a plan without changes makes a Stack Ready that is never applied": {
			world: world(never, had("net-1", "Succeeded", "sha256:now", plans, noChanges)), ready: "True", reason: "Applied",
		},
		"changes that were shown are applied when that is allowed": {
			world: world(had("net-1", "Succeeded", "sha256:now", plans)), start: "Apply net-2", ready: "Unknown", reason: "Running",
		},
		"outputs that somebody else has are left alone": {
			world: world(had("net-1", "Succeeded", "sha256:now"), func(w *Snapshot) { w.Outputs.Foreign = "Secret out" }), ready: "False", reason: "OutputsConflict", message: "Secret out", stalled: true,
		},
		"outputs that were deleted are written again": {
			world: world(had("net-1", "Succeeded", "sha256:now", outputsStepIs("Succeeded")), missingOutputs), start: "Apply net-2", ready: "Unknown", reason: "Running", message: "Secret out is missing",
		},
		"outputs that something was in the way of are written": {
			world: world(had("net-1", "Succeeded", "sha256:now", outputsStepIs("Failed")), missingOutputs), start: "Apply net-2", ready: "Unknown", reason: "Running",
		},
		"outputs that cannot be written are not tried for ever": {
			world: world(had("net-2", "Succeeded", "sha256:now", outputsStepIs("Failed"), because("Secret out is missing")), missingOutputs), ready: "False", reason: "OutputsFailed", message: "too large", stalled: true,
		},
		"outputs that no Run ever wrote start none": {
			world: world(had("net-1", "Succeeded", "sha256:now"), func(w *Snapshot) { w.Outputs.Missing = "Secret out" }), ready: "True", reason: "Applied",
		},

		"a deleted Stack without a finalizer is none of ours": {
			world: world(deleted, noFinalizer),
		},
		"a deleted Stack that made nothing goes": {
			world: world(deleted), finish: "with state",
		},
		"a deleted Stack with an empty state goes": {
			world: world(deleted, state(0), had("net-2", "Succeeded", "sha256:kept", destroys)), finish: "with state",
		},
		"a deleted Stack with resources is destroyed, with what was last applied": {
			world: world(deleted, missing, state(3)), start: "Destroy net-1", ready: "Unknown", reason: "Destroying",
		},
		"a deleted Stack whose state was only saved aside does not go": {
			world: world(deleted, state(0), rescued), start: "Destroy net-1", ready: "Unknown", reason: "Destroying",
		},
		"a deleted Stack waits for the Run under way": {
			world: world(deleted, state(3), had("net-1", "Applying", "sha256:now")), ready: "Unknown", reason: "Deleting", message: "net-1 ends first",
		},
		"a deleted orphan waits for the Run under way too": {
			world: world(deleted, orphan, state(3), had("net-1", "Applying", "sha256:now")), ready: "Unknown", reason: "Deleting",
		},
		"a deleted orphan leaves its state": {
			world: world(deleted, orphan, state(3)), finish: "without",
		},
		"a deleted Stack whose first state is nowhere but in a log does not go": {
			world: world(deleted, had("net-1", "Failed", "sha256:now", says("StateNotSaved"))), ready: "False", reason: "StateNotSaved", stalled: true,
		},
		"nor does an orphan": {
			world: world(deleted, orphan, had("net-1", "Failed", "sha256:now", says("StateNotSaved"))), ready: "False", reason: "StateNotSaved", stalled: true,
		},
		"a deleted Stack whose first apply was lost in the middle does not go at once": {
			world: world(deleted, state(0), locked, had("net-1", "Failed", "sha256:now")), start: "Destroy net-2", ready: "Unknown", reason: "Destroying",
		},
		"and when the destroy found nothing, a person is asked to look": {
			world: world(deleted, state(0), locked, had("net-2", "Succeeded", "sha256:kept", destroys)), ready: "False", reason: "DestroyIncomplete", message: "there may be resources that no state knows", stalled: true,
		},
		"nothing is gone while a user holds the lock of the state": {
			world: world(deleted, state(0), lockedByUser, had("net-1", "Failed", "sha256:now")), start: "Destroy net-2", ready: "Unknown", reason: "Destroying",
		},
		"and what that user may have created is named after a destroy": {
			world: world(deleted, state(0), lockedByUser, had("net-2", "Succeeded", "sha256:kept", destroys)), ready: "False", reason: "DestroyIncomplete",
			message: "user alice holds the lock of the state", stalled: true,
		},
		"a destroy that left something is not repeated for ever": {
			world: world(deleted, state(2), had("net-2", "Succeeded", "sha256:kept", destroys)), ready: "False", reason: "DestroyIncomplete", message: "2 resources", stalled: true,
		},
		"nor one by a script that says that all is well": {
			world: world(deleted, state(2), had("net-2", "Succeeded", "sha256:kept", destroys, func(r *v1alpha1.Run) { r.Status.Plan = &v1alpha1.Plan{Script: true} })), ready: "False", reason: "DestroyIncomplete",
			message: "the script of Run net-2 (spec.commands.destroy, as it was last applied) succeeded, but the state holds 2 resources still: cairn retry net runs it once more", stalled: true,
		},
		"a state that the engine encrypts is destroyed once and goes": {
			world: world(deleted, state(-1), had("net-2", "Succeeded", "sha256:kept", destroys)), finish: "with state",
		},
		"a destroy under way is let be although the Stack became protected": {
			world: world(deleted, protect, state(3), had("net-2", "Applying", "sha256:kept", destroys)), ready: "Unknown", reason: "Destroying",
		},
		"a destroy under way is let be": {
			world: world(deleted, state(3), had("net-2", "Planning", "sha256:kept", destroys)), ready: "Unknown", reason: "Destroying",
		},
		"a destroy that waits for a person says so": {
			world: world(deleted, state(3), had("net-2", "AwaitingApproval", "sha256:kept", destroys, says("AwaitingApproval"))), ready: "False", reason: "AwaitingApproval",
		},
		"a destroy that failed is tried again after a while, and says what else could be done": {
			world: world(deleted, state(3), had("net-2", "Failed", "sha256:kept", destroys, says("Transient"))), ready: "False", reason: "DestroyFailed", message: "Orphan", requeue: 10 * time.Minute,
		},
		"a destroy that failed a while ago is tried again": {
			world: world(deleted, state(3), had("net-2", "Failed", "sha256:kept", destroys), func(w *Snapshot) { w.Now = now.Add(10 * time.Minute) }), start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"a destroy whose plan needs a user to merge two states is not retried": {
			world: world(deleted, state(3), rescued, had("net-2", "Failed", "sha256:kept", destroys, says("ConfigurationError")), func(w *Snapshot) { w.Now = now.Add(10 * time.Minute) }),
			ready: "False", reason: "DestroyFailed", stalled: true, message: "what the Run says",
		},
		"it is once they are merged": {
			world: world(deleted, state(3), had("net-2", "Failed", "sha256:kept", destroys, says("ConfigurationError")), func(w *Snapshot) { w.Now = now.Add(10 * time.Minute) }),
			start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"a destroy that failed for another reason while a rescued state waits is retried": {
			world: world(deleted, state(3), rescued, had("net-2", "Failed", "sha256:kept", destroys, says("Transient")), func(w *Snapshot) { w.Now = now.Add(10 * time.Minute) }),
			start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"a deleted Stack that is protected stays": {
			world: world(deleted, protect, state(3)), ready: "False", reason: "DeletionProtected", stalled: true,
		},
		"a deleted Stack that is suspended stays": {
			world: world(deleted, suspended, state(3)), ready: "False", reason: "Suspended", stalled: true,
		},
		"a deleted Stack that may never be applied stays": {
			world: world(deleted, never, state(3)), ready: "False", reason: "ApplyNever", stalled: true,
		},
		"a deleted Stack in a namespace that ends says that it cannot be destroyed": {
			world: world(deleted, state(3), func(w *Snapshot) { w.NamespaceTerminating = true }), ready: "False", reason: "NamespaceTerminating", message: "3 resources", stalled: true,
		},
		"a deleted Stack whose resources Cairn did not make stays": {
			world: world(deleted, state(3), func(w *Snapshot) { w.State.Status.InputsDigest = "" }), ready: "False", reason: "AppliedInputsUnknown", stalled: true,
		},
	})
}

// decide compares what is decided with what is expected.
func decide(t *testing.T, tests map[string]decision) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.world)
			asTold(t, tt.world)
			type outcome struct {
				Finalizer      bool
				Start          string
				Ready          metav1.ConditionStatus
				Reason, Finish string
				Stalled        bool
				Requeue        time.Duration
			}
			got := outcome{Finalizer: d.AddFinalizer, Ready: d.Ready, Reason: d.Reason, Stalled: d.Stalled, Requeue: d.RequeueAfter}
			want := outcome{Finalizer: tt.finalizer, Start: tt.start, Ready: tt.ready, Reason: tt.reason, Finish: tt.finish, Stalled: tt.stalled, Requeue: tt.requeue}
			if d.Start != nil {
				got.Start = string(d.Start.Operation) + " " + Status(tt.world, d).LastRun
			}
			if d.Finish {
				got.Finish = map[bool]string{true: "with state", false: "without"}[d.RemoveState]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !strings.Contains(d.Message, tt.message) {
				t.Errorf("message %q does not tell %q", d.Message, tt.message)
			}
			if d.Start != nil && d.Start.Operation == v1alpha1.OperationDestroy && d.Start.InputsDigest != "sha256:kept" {
				t.Errorf("a destroy uses the inputs %q, not those of the last apply", d.Start.InputsDigest)
			}
		})
	}
}

// The status that follows from a decision leads to the same decision: nothing is written twice.
func TestStatusSettles(t *testing.T) {
	w := world(state(3), had("net-1", "Succeeded", "sha256:now"))
	first := Status(w, Decide(w))
	w.Stack.Status = first
	w.Now = now.Add(time.Hour)
	if diff := cmp.Diff(first, Status(w, Decide(w))); diff != "" {
		t.Errorf("the second pass writes again:\n%s", diff)
	}
}

func TestSuperfluous(t *testing.T) {
	many := func(w *Snapshot) {
		for _, name := range []string{"net-1", "net-2", "net-3", "net-4"} {
			had(name, "Succeeded", "sha256:x")(w)
		}
	}
	history := func(n int32) func(*Snapshot) { return func(w *Snapshot) { w.Stack.Spec.RunHistoryLimit = &n } }
	tests := map[string]struct {
		world Snapshot
		want  []string
	}{
		"as many as asked for are kept":         {world(history(2), many), []string{"net-1", "net-2"}},
		"zero keeps the newest alone":           {world(history(0), many), []string{"net-1", "net-2", "net-3"}},
		"one under way counts for itself":       {world(history(2), many, had("net-5", "Planning", "")), []string{"net-1", "net-2"}},
		"none goes while there are few":         {world(history(9), many), nil},
		"a Stack without Runs has none to lose": {world(history(0)), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range RunsToPrune(tt.world) {
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
		"the code":      {func(d *inputs.Document) { d.Source = "b" }, v1alpha1.Cause{Type: "Spec", Message: "the code changed"}},
		"a Secret":      {func(d *inputs.Document) { d.Versions = map[string]string{"Secret/db": "2", "Secret/new": "1"} }, v1alpha1.Cause{Type: "Variables", Message: "Secret db changed"}},
		"the outputs":   {func(d *inputs.Document) { d.Outputs = &v1alpha1.Outputs{} }, v1alpha1.Cause{Type: "Spec", Message: "spec.outputs changed"}},
		"nothing of it": {func(*inputs.Document) {}, v1alpha1.Cause{Type: "Spec", Message: "what is declared is not applied"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			is := was
			tt.change(&is)
			if diff := cmp.Diff(tt.want, causeOf(Snapshot{Stack: &v1alpha1.Stack{}, Inputs: is, LastInputs: &was, Runs: make([]v1alpha1.Run, 1)})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// What names can be as long as names, the API server takes a Run all the same: one that it refuses would be made again for ever.
func TestACauseIsAsLongAsARunMayHaveIt(t *testing.T) {
	w := world(applied("sha256:old"), had("net-1", "Succeeded", "sha256:old"))
	w.LastInputs, w.Inputs.Versions = &inputs.Document{Source: "sha256:code"}, map[string]string{}
	for _, c := range "abcde" {
		w.Inputs.Versions["Secret/"+strings.Repeat(string(c), 253)] = "2"
	}
	w.Revision = strings.Repeat("r", 255) + "@sha1:" + strings.Repeat("0", 40)
	d := Decide(w)
	if d.Start == nil || len(d.Start.Cause.Message) > 1000 || len(d.Start.Revision) > 300 || !strings.HasPrefix(d.Start.Cause.Message, "Secret aaa") {
		t.Errorf("%+v", d.Start)
	}
}

// Nor is a status refused, so that a Stack would say nothing at all.
func TestAMessageIsAsLongAsAConditionMayHaveIt(t *testing.T) {
	w := world()
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
