package decision

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/run/runinfo"
)

// asks for a Run, as alice, a moment ago; the Stack was looked at before.
func asks(operation v1alpha1.Operation) func(*Snapshot) {
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

func declined(w *Snapshot) { w.Stack.Status.LastHandledRequest.Rejected = true }

// handled words what a status says of a request.
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

func taken(w *Snapshot)        { w.Stack.Status.LastHandledRequest = &v1alpha1.HandledRequest{Value: "now"} }
func newborn(w *Snapshot)      { w.Stack.Status.ObservedGeneration = -1 }
func byHand(r *v1alpha1.Run)   { r.Spec.Cause = v1alpha1.Cause{Type: v1alpha1.CauseManual, By: "alice"} }
func rejected(r *v1alpha1.Run) { says("Rejected")(r) }
func destroyedBefore(w *Snapshot) {
	w.Stack.Status.DestroyedByRun = "net-2"
	had("net-2", "Succeeded", "sha256:kept", destroys, byHand)(w)
}
func lookedByHand(r *v1alpha1.Run) { plans(r); byHand(r) }
func notBegun(r *v1alpha1.Run) {
	r.Status.Attempts = []v1alpha1.Attempt{{
		Phase: v1alpha1.AttemptApply, FinishedAt: &metav1.MicroTime{Time: now}, Failure: &v1alpha1.Failure{Class: v1alpha1.FailureCanceled},
		Steps: []v1alpha1.Step{{Name: "before-apply", State: v1alpha1.StepFailed}, {Name: "apply", State: v1alpha1.StepSkipped}},
	}}
}
func ofDeletion(r *v1alpha1.Run) { r.Spec.Cause.Type = v1alpha1.CauseDeletion }

// madeAt is when a Run was made, by the API server's clock, which says now when the Stack is deleted.
func madeAt(after time.Duration) func(*v1alpha1.Run) {
	return func(r *v1alpha1.Run) { r.CreationTimestamp = metav1.NewTime(now.Add(after)) }
}
func noPlan(r *v1alpha1.Run) { r.Status.Plan = nil }
func builtOn(d Dependent) func(*Snapshot) {
	return func(w *Snapshot) { w.Dependents = append(w.Dependents, d) }
}
func dependencyWaits(w *Snapshot) {
	w.Dependencies = append(w.Dependencies, Dependency{Name: "vpc", Waits: "it is not Ready (Running)"})
}

// namedFor names a Run that is not there.
func namedFor(name string, operation v1alpha1.Operation, cause v1alpha1.CauseType) func(*Snapshot) {
	return func(w *Snapshot) {
		named(name)(w)
		w.Stack.Status.ReservedRun = &v1alpha1.ReservedRun{Name: name, Operation: operation, Cause: cause}
	}
}

func TestRequests(t *testing.T) {
	decide(t, map[string]decision{
		"a Stack that is as declared is run because somebody asks": {
			world: world(isApplied, asks("Apply")), start: "Apply net-2", ready: "Unknown", reason: "Running", message: "net-2 is under way: asked for by alice",
		},
		"once": {
			world: world(isApplied, asks("Apply"), taken), ready: "True", reason: "Applied",
		},
		"a failed Run is tried again because somebody asks": {
			world: world(had("net-1", "Failed", "sha256:now"), asks("Apply")), start: "Apply net-2", ready: "Unknown", reason: "Running",
		},
		"a rejected one is planned again because somebody asks": {
			world: world(had("net-1", "Canceled", "sha256:now", rejected), asks("Apply")), start: "Apply net-2", ready: "Unknown", reason: "Running",
		},
		"a Run that is due is the one that was asked for": {
			world: world(applied("sha256:old"), had("net-1", "Succeeded", "sha256:old"), asks("Apply")), start: "Apply net-2", ready: "Unknown", reason: "Running", message: "asked for by alice",
		},
		"where nothing is applied it is only planned": {
			world: world(never, isApplied, asks("Apply")), start: "Plan net-2", ready: "Unknown", reason: "Running",
		},
		"a request that was there when the Stack was made is what the first Run does": {
			world: world(asks("Apply"), newborn), start: "Apply net-1", ready: "Unknown", reason: "Running", message: "the Stack is new",
		},
		"a Stack that comes back from a backup is not destroyed for what was asked long ago": {
			world: world(asks("Destroy"), newborn, state(3)), start: "Apply net-1", ready: "Unknown", reason: "Running",
		},
		"while a Run is queued it is for that to make way": {
			world: world(had("net-1", "Queued", "sha256:now"), asks("Apply")), ready: "Unknown", reason: "Running", message: "net-1",
		},
		"while a Run plans it is waited for": {
			world: world(had("net-1", "Planning", "sha256:now"), asks("Apply")), ready: "Unknown", reason: "Running", message: "net-1",
		},
		"while a Run waits for approval it is for that to make way": {
			world: world(had("net-1", "AwaitingApproval", "sha256:now", says("AwaitingApproval")), asks("Apply")), ready: "False", reason: "AwaitingApproval",
		},
		"while a Run applies it is waited for": {
			world: world(had("net-1", "Applying", "sha256:now"), asks("Apply")), ready: "Unknown", reason: "Running", message: "net-1",
		},
		"when it made way the one that was asked for begins": {
			world: world(had("net-1", "Superseded", "sha256:now"), asks("Apply")), start: "Apply net-2", ready: "Unknown", reason: "Running", message: "asked for by alice",
		},
		"a drift check makes way too, and the Stack says what is to come": {
			world: world(checks("Report"), isApplied, had("net-2", "Planning", "sha256:now", looks), lastRun("net-2"), asks("Apply")), ready: "True", reason: "Applied",
		},
		"a Run that is canceled says so": {
			world: world(had("net-1", "Applying", "sha256:now", says("Canceling"))), ready: "False", reason: "Canceling", message: "what the Run says",
		},
		"suspended, it waits, and says so": {
			world: world(suspended, isApplied, asks("Apply")), ready: "True", reason: "Suspended", message: "cairn resume net; the Run that was asked for by alice waits for that",
		},
		"without its inputs, it waits": {
			world: world(missing, isApplied, missing, asks("Apply")), ready: "False", reason: "SecretNotFound", stalled: true,
		},
		"before what it depends on, it waits": {
			world: world(isApplied, dependencyWaits, asks("Apply")), ready: "Unknown", reason: "DependencyNotReady",
		},
		"while a state is nowhere but in a log, it waits": {
			world: world(had("net-1", "Failed", "sha256:now", says("StateNotSaved")), asks("Apply")), ready: "False", reason: "StateNotSaved", message: "cairn state recover net", stalled: true,
		},
		"a Run that was asked for and named but not made is made": {
			world: world(isApplied, asks("Apply"), taken, namedFor("net-2", "Apply", "Manual")), start: "Apply net-3", ready: "Unknown", reason: "Running", message: "asked for by alice",
		},
		"a drift check that was named but not made is not taken for one that was asked for long ago": {
			world: world(checks("Report"), isApplied, asks("Apply"), taken, namedFor("net-2", "Plan", "Drift")), start: "Plan net-3", ready: "True", reason: "Applied",
		},
		"nor is a Run for a change": {
			world: world(applied("sha256:old"), had("net-1", "Succeeded", "sha256:old"), asks("Plan"), taken, namedFor("net-2", "Apply", "Commit")), start: "Apply net-3", ready: "Unknown", reason: "Running", message: "the code changed",
		},
		"one that was rejected is not made for the name of an earlier one": {
			world: world(had("net-1", "Failed", "sha256:now"), asks("Plan"), taken, declined, namedFor("net-2", "Plan", "Manual")), ready: "False", reason: "RunFailed", stalled: true,
		},
		"a look that was named but not made is not an apply of what failed": {
			world: world(had("net-1", "Failed", "sha256:now"), asks("Plan"), taken, namedFor("net-2", "Plan", "Manual")), start: "Plan net-3", ready: "False", reason: "RunFailed", stalled: true,
		},
		"nor of what somebody canceled": {
			world: world(had("net-1", "Canceled", "sha256:now", says("Canceled")), asks("Plan"), taken, namedFor("net-2", "Plan", "Manual")), start: "Plan net-3", ready: "False", reason: "RunCanceled", stalled: true,
		},
		"nor is a shell one of what somebody rejected": {
			world: world(allowed, had("net-1", "Canceled", "sha256:now", rejected), asks("Shell"), taken, namedFor("net-2", "Shell", "Manual")), start: "Shell net-3", ready: "False", reason: "RunRejected", stalled: true,
		},
		"one that was made and has ended is not made again": {
			world: world(isApplied, had("net-2", "Canceled", "sha256:now", lookedByHand), asks("Plan"), taken, namedFor("net-2", "Plan", "Manual")), ready: "True", reason: "Applied",
		},
		"what nobody knows is let be": {
			world: world(isApplied, asks("Explode")), ready: "True", reason: "Applied",
		},

		"a look leaves the Stack as it stands": {
			world: world(isApplied, asks("Plan")), start: "Plan net-2", ready: "True", reason: "Applied",
		},
		"also one that failed": {
			world: world(had("net-1", "Failed", "sha256:now"), asks("Plan")), start: "Plan net-2", ready: "False", reason: "RunFailed", stalled: true,
		},
		"also one of which nothing is left": {
			world: world(state(0), destroyedBefore, asks("Plan")), start: "Plan net-3", ready: "False", reason: "Destroyed", stalled: true,
		},
		"a look at what was not tried yet is all that there is to say": {
			world: world(applied("sha256:old"), had("net-1", "Succeeded", "sha256:old"), asks("Plan")), start: "Plan net-2", ready: "Unknown", reason: "Running", message: "asked for by alice",
		},
		"then what is due is tried": {
			world: world(applied("sha256:old"), had("net-1", "Succeeded", "sha256:old"), had("net-2", "Succeeded", "sha256:now", lookedByHand)), start: "Apply net-3", ready: "Unknown", reason: "Running",
		},
		"while somebody looks, the Stack says what it said": {
			world: world(had("net-1", "Failed", "sha256:now"), had("net-2", "Planning", "sha256:now", lookedByHand), lastRun("net-2")), ready: "False", reason: "RunFailed", stalled: true,
		},
		"and afterwards": {
			world: world(had("net-1", "Failed", "sha256:now"), had("net-2", "Succeeded", "sha256:now", lookedByHand), lastRun("net-2")), ready: "False", reason: "RunFailed", stalled: true,
		},
		"a look that failed tells nothing of the Stack": {
			world: world(isApplied, had("net-2", "Failed", "sha256:now", lookedByHand), lastRun("net-2")), ready: "True", reason: "Applied",
		},
		"nor does one that was canceled": {
			world: world(isApplied, had("net-2", "Canceled", "sha256:now", lookedByHand), lastRun("net-2")), ready: "True", reason: "Applied",
		},
		"a look that finds drift tells it, also where nothing looks by itself": {
			world: world(isApplied, had("net-2", "Succeeded", "sha256:now", lookedByHand), lastRun("net-2")), ready: "False", reason: "Drifted", stalled: true, message: "1 to add since 2026-11-20T12:00:00Z, found by Run net-2; nothing that is declared changed; cairn apply net overwrites the drift with what is declared; to keep it, change the code first",
		},
		"drift that was looked for by hand is put right where that is asked for": {
			world: world(checks("Apply"), isApplied, had("net-2", "Succeeded", "sha256:now", lookedByHand), lastRun("net-2")), start: "Apply net-3", ready: "Unknown", reason: "Running", message: "put back what drifted",
		},
		"drift that was found by looking regularly is forgotten with that": {
			world: world(isApplied, had("net-2", "Succeeded", "sha256:now", looks), lastRun("net-2"), knownDrift("net-2")), ready: "True", reason: "Applied",
		},
		"changes that are only shown are no drift": {
			world: world(checks("Report"), isApplied, had("net-2", "Succeeded", "sha256:now", plans), lookedAgo(time.Minute)), ready: "False", reason: "ChangesPending", stalled: true,
		},
		"changes that a look finds in what is not applied are no drift": {
			world: world(applied("sha256:old"), had("net-1", "Failed", "sha256:now"), had("net-2", "Succeeded", "sha256:now", lookedByHand), lastRun("net-2")), ready: "False", reason: "RunFailed", stalled: true,
		},
		"where nothing is ever applied a look counts": {
			world: world(never, had("net-1", "Failed", "sha256:now", plans), had("net-2", "Succeeded", "sha256:now", lookedByHand)), ready: "False", reason: "ChangesPending", stalled: true, message: "cairn diff net",
		},

		"everything is destroyed because somebody asks, with what was last applied": {
			world: world(isApplied, asks("Destroy")), start: "Destroy net-2", ready: "Unknown", reason: "Destroying", message: "net-2 destroys: asked for by alice",
		},
		"whatever became of what is declared": {
			world: world(isApplied, missing, asks("Destroy")), start: "Destroy net-2", ready: "Unknown", reason: "Destroying",
		},
		"not what is protected": {
			world: world(protect, isApplied, asks("Destroy")), ready: "True", reason: "Applied",
		},
		"nor what nothing is ever done to": {
			world: world(never, isApplied, asks("Destroy")), ready: "True", reason: "Applied",
		},
		"nor what was never made": {
			world: world(asks("Destroy")), start: "Apply net-1", ready: "Unknown", reason: "Running",
		},
		"what is built on it goes first": {
			world: world(isApplied, builtOn(Dependent{Name: "web"}), asks("Destroy")), ready: "False", reason: "DependentsExist", message: "Stack web depends on this one: delete or destroy it too", requeue: time.Minute,
		},
		"nothing is built on what was destroyed": {
			world: world(isApplied, builtOn(Dependent{Name: "web", Destroyed: true}), asks("Destroy")), start: "Destroy net-2", ready: "Unknown", reason: "Destroying",
		},
		"suspended, a destroy is refused, and so does not come when somebody resumes": {
			world: world(suspended, isApplied, asks("Destroy")), ready: "True", reason: "Suspended", message: "cairn resume net",
		},
		"a Run that waits makes way for a destroy that is next": {
			world: world(isApplied, had("net-2", "AwaitingApproval", "sha256:now", says("AwaitingApproval")), asks("Destroy")), ready: "Unknown", reason: "DestroyPending", message: "Run net-2 is superseded, or ends first: the destroy that was asked for by alice is next",
		},
		"one that applies ends first": {
			world: world(isApplied, had("net-2", "Applying", "sha256:now", began), asks("Destroy")), ready: "Unknown", reason: "DestroyPending",
		},
		"not for one that waits for others": {
			world: world(isApplied, had("net-2", "AwaitingApproval", "sha256:now", says("AwaitingApproval")), builtOn(Dependent{Name: "web"}), asks("Destroy")), ready: "False", reason: "AwaitingApproval", message: "the destroy that was asked for by alice waits: Stack web depends on this one", requeue: time.Minute,
		},
		"nor for one of nothing": {
			world: world(had("net-1", "AwaitingApproval", "sha256:now", says("AwaitingApproval")), asks("Destroy")), ready: "False", reason: "AwaitingApproval",
		},
		"a destroy that was asked for and named but not made is made": {
			world: world(isApplied, asks("Destroy"), taken, namedFor("net-2", "Destroy", "Manual")), start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"a Run that was named but not made is no destroy that was asked for long ago": {
			world: world(applied("sha256:old"), state(3), had("net-1", "Succeeded", "sha256:old"), asks("Destroy"), taken, namedFor("net-2", "Apply", "Commit")), start: "Apply net-3", ready: "Unknown", reason: "Running",
		},

		"what was destroyed stays so": {
			world: world(state(0), had("net-1", "Succeeded", "sha256:now"), destroyedBefore), ready: "False", reason: "Destroyed", stalled: true, message: "destroyed by Run net-2, asked for by alice; cairn apply net creates it again",
		},
		"although what is declared changes": {
			world: world(applied("sha256:old"), state(0), had("net-1", "Succeeded", "sha256:old"), destroyedBefore), ready: "False", reason: "Destroyed", stalled: true,
		},
		"although the Run that did it is gone": {
			world: world(state(0), func(w *Snapshot) { w.Stack.Status.DestroyedByRun = "net-2" }), ready: "False", reason: "Destroyed", stalled: true, message: "destroyed by Run net-2; cairn apply",
		},
		"although nobody wrote it down yet": {
			world: world(state(0), had("net-2", "Succeeded", "sha256:kept", destroys, byHand)), ready: "False", reason: "Destroyed", stalled: true,
		},
		"although its inputs are missing": {
			world: world(state(0), destroyedBefore, missing), ready: "False", reason: "Destroyed", stalled: true,
		},
		"and nobody looks for drift": {
			world: world(checks("Apply"), state(0), destroyedBefore, func(w *Snapshot) { w.Now = now.Add(24 * time.Hour) }), ready: "False", reason: "Destroyed", stalled: true,
		},
		"it tells what is left": {
			world: world(state(2), destroyedBefore), ready: "False", reason: "Destroyed", stalled: true, message: "but the state holds 2 resources still: cairn destroy net tries again",
		},
		"until somebody asks for it again": {
			world: world(state(0), destroyedBefore, asks("Apply")), start: "Apply net-3", ready: "Unknown", reason: "Running", message: "asked for by alice",
		},
		"while that waits for an approval": {
			world: world(state(0), destroyedBefore, had("net-3", "AwaitingApproval", "sha256:now", says("AwaitingApproval"))), ready: "False", reason: "AwaitingApproval",
		},
		"what was rejected makes nothing again": {
			world: world(state(0), destroyedBefore, had("net-3", "Canceled", "sha256:now", byHand, rejected), func(w *Snapshot) { w.Digest = "sha256:new" }), ready: "False", reason: "Destroyed", stalled: true, message: "since then Run net-3 was Canceled: what the Run says; cairn apply net creates it again",
		},
		"nor does what failed before it began": {
			world: world(state(0), destroyedBefore, had("net-3", "Failed", "sha256:now", byHand, says("ConfigurationError")), func(w *Snapshot) { w.Digest = "sha256:new" }), ready: "False", reason: "Destroyed", stalled: true, message: "since then Run net-3 was Failed",
		},
		"what was asked for is made from what is declared by then": {
			world: world(state(0), destroyedBefore, had("net-3", "Superseded", "sha256:now", byHand), func(w *Snapshot) { w.Digest = "sha256:new" }), start: "Apply net-4", ready: "Unknown", reason: "Running",
		},
		"what began to be made again is": {
			world: world(state(2), destroyedBefore, had("net-3", "Failed", "sha256:now", byHand, began, says("ConfigurationError"))), ready: "False", reason: "RunFailed", stalled: true,
		},
		"what is there again stays": {
			world: world(state(2), destroyedBefore, had("net-3", "Succeeded", "sha256:now", byHand, began)), ready: "True", reason: "Applied",
		},
		"an apply that was asked for and named but not made is made, whatever changed": {
			world: world(state(0), had("net-1", "Succeeded", "sha256:old"), destroyedBefore, asks("Apply"), taken, namedFor("net-3", "Apply", "Manual")), start: "Apply net-4", ready: "Unknown", reason: "Running", message: "asked for by alice",
		},
		"which waits for its inputs": {
			world: world(state(0), destroyedBefore, asks("Apply"), missing), ready: "False", reason: "SecretNotFound", stalled: true,
		},
		"what was destroyed goes when it is deleted": {
			world: world(deleted, state(0), destroyedBefore), finish: "with state",
		},

		"a destroy that failed before it began leaves everything": {
			world: world(isApplied, had("net-2", "Failed", "sha256:kept", destroys, byHand, says("ConfigurationError"))), ready: "False", reason: "RunFailed", message: "cairn retry net tries again, cairn apply net keeps what there is", stalled: true,
		},
		"and a change is applied after it": {
			world: world(isApplied, applied("sha256:old"), had("net-2", "Failed", "sha256:kept", destroys, byHand), func(w *Snapshot) { w.Digest = "sha256:new" }), start: "Apply net-3", ready: "Unknown", reason: "Running",
		},
		"a destroy that failed in the middle makes nothing again by itself": {
			world: world(isApplied, had("net-2", "Failed", "sha256:kept", destroys, byHand, began, says("ConfigurationError"))), ready: "False", reason: "RunFailed", message: "cairn retry net continues the destroy, cairn apply net recreates what is gone", stalled: true,
		},
		"although what is declared changes since": {
			world: world(isApplied, had("net-2", "Failed", "sha256:kept", destroys, byHand, began), func(w *Snapshot) { w.Digest = "sha256:new" }), ready: "False", reason: "RunFailed", stalled: true,
		},
		"nor does one that was canceled in the middle": {
			world: world(isApplied, had("net-2", "Canceled", "sha256:kept", destroys, byHand, began, says("Canceled")), func(w *Snapshot) { w.Digest = "sha256:new" }), ready: "False", reason: "RunCanceled", message: "what the Run says, cairn apply net recreates what is gone", stalled: true,
		},
		"somebody goes on with it": {
			world: world(isApplied, had("net-2", "Canceled", "sha256:kept", destroys, byHand, began), asks("Destroy")), start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"or creates it again": {
			world: world(isApplied, had("net-2", "Canceled", "sha256:kept", destroys, byHand, began), asks("Apply")), start: "Apply net-3", ready: "Unknown", reason: "Running",
		},
		"a destroy that was rejected leaves everything": {
			world: world(isApplied, had("net-2", "Canceled", "sha256:kept", destroys, byHand, rejected)), ready: "False", reason: "RunRejected", message: "cairn destroy net asks for it again, cairn apply net keeps what there is", stalled: true,
		},
		"and starts nothing that was not wanted before": {
			world: world(state(3), had("net-1", "Canceled", "sha256:now", rejected), had("net-2", "Canceled", "sha256:kept", destroys, byHand, rejected)), ready: "False", reason: "RunRejected", stalled: true,
		},
		"one that was canceled before it had a plan is forgotten": {
			world: world(isApplied, had("net-2", "Canceled", "sha256:kept", destroys, byHand, noPlan)), ready: "True", reason: "Applied",
		},
		"so is one that was replaced": {
			world: world(had("net-1", "Failed", "sha256:now"), had("net-2", "Superseded", "sha256:kept", destroys, byHand)), ready: "False", reason: "RunFailed", stalled: true,
		},

		"a rejected Run is not repeated on the same inputs": {
			world: world(had("net-1", "Canceled", "sha256:now", rejected)), ready: "False", reason: "RunRejected", message: "Run net-1: what the Run says; change the Stack or what it reads, or cairn apply net plans it again", stalled: true,
		},
		"nor is a canceled one": {
			world: world(had("net-1", "Canceled", "sha256:now", says("Canceled"), noPlan)), ready: "False", reason: "RunCanceled", stalled: true,
		},
		"one that was canceled in the middle tells how to go on itself": {
			world: world(applied("sha256:now"), had("net-1", "Canceled", "sha256:now", says("Canceled"), began)), ready: "False", reason: "RunCanceled", message: "Run net-1: what the Run says", stalled: true,
		},
		"other inputs are run after it": {
			world: world(had("net-1", "Canceled", "sha256:old", rejected)), start: "Apply net-2", ready: "Unknown", reason: "Running",
		},
		"what is applied is Ready again when what was rejected is taken back": {
			world: world(isApplied, had("net-2", "Canceled", "sha256:bad", rejected)), ready: "True", reason: "Applied",
		},
		"what was found to need no change counts when it may be applied": {
			world: world(state(3), had("net-1", "Succeeded", "sha256:now", plans, noChanges)), ready: "True", reason: "Applied",
		},
		"also after one that was canceled in the middle": {
			world: world(had("net-1", "Canceled", "sha256:old", says("Canceled"), began)), start: "Apply net-2", ready: "Unknown", reason: "Running",
		},
		"a Run of what is applied that was canceled before it found anything tells nothing": {
			world: world(isApplied, had("net-2", "Canceled", "sha256:now", byHand, says("Canceled"), noPlan)), ready: "True", reason: "Applied",
		},
		"a Run of what is applied whose changes were rejected does": {
			world: world(isApplied, had("net-2", "Canceled", "sha256:now", byHand, rejected)), ready: "False", reason: "RunRejected", stalled: true,
		},
		"a drift check that was canceled leaves the Stack as it was": {
			world: world(checks("Report"), isApplied, lookedAgo(time.Minute), had("net-2", "Canceled", "sha256:now", looks, ago(time.Minute))), ready: "True", reason: "Applied", requeue: restOfTheHour(),
		},
		"also one that drifted": {
			world: world(checks("Report"), isApplied, knownDrift("net-0"), had("net-2", "Canceled", "sha256:now", looks, ago(time.Minute))), ready: "False", reason: "Drifted", stalled: true, requeue: restOfTheHour(),
		},

		"a deleted Stack whose destroy was canceled waits for somebody": {
			world: world(deleted, state(3), had("net-2", "Canceled", "sha256:kept", destroys, says("Canceled"))), ready: "False", reason: "RunCanceled", message: "cairn retry net destroys; to leave what is left as it is, set spec.deletionPolicy to Orphan", stalled: true,
		},
		"and one whose destroy was rejected": {
			world: world(deleted, state(3), had("net-2", "Canceled", "sha256:kept", destroys, rejected)), ready: "False", reason: "RunRejected", stalled: true,
		},
		"whatever the clock says of those who write when it ended": {
			world: world(deleted, state(3), had("net-2", "Canceled", "sha256:kept", destroys, rejected, ofDeletion, ago(5*time.Second))), ready: "False", reason: "RunRejected", stalled: true,
		},
		"and of a destroy that somebody asked for since": {
			world: world(deleted, state(3), had("net-2", "Canceled", "sha256:kept", destroys, rejected, byHand, madeAt(time.Second), ago(5*time.Second))), ready: "False", reason: "RunRejected", stalled: true,
		},
		"one that was rejected before the deletion is no reason": {
			world: world(deleted, state(3), had("net-2", "Canceled", "sha256:kept", destroys, rejected, byHand, madeAt(-time.Minute), ago(5*time.Second))), start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"one that failed is tried again later, by whatever clock": {
			world: world(deleted, state(3), had("net-2", "Failed", "sha256:kept", destroys, ofDeletion, ago(5*time.Second))), ready: "False", reason: "DestroyFailed", requeue: 10*time.Minute - 5*time.Second,
		},
		"and not a year later, after a clock that was a year ahead": {
			world: world(deleted, state(3), had("net-2", "Failed", "sha256:kept", destroys, ofDeletion, ago(-365*24*time.Hour))), start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"who goes on with it": {
			world: world(deleted, state(3), had("net-2", "Canceled", "sha256:kept", destroys, says("Canceled")), asks("Destroy")), start: "Destroy net-3", ready: "Unknown", reason: "Destroying", message: "asked for by alice",
		},
		"whatever it is that is asked for": {
			world: world(deleted, state(3), had("net-2", "Canceled", "sha256:kept", destroys, says("Canceled")), asks("Apply")), start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"what was canceled before the deletion says nothing of it": {
			world: world(deleted, state(3), had("net-2", "Canceled", "sha256:kept", destroys, says("Canceled"), ago(time.Hour))), start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"nor does what failed": {
			world: world(deleted, state(3), had("net-2", "Failed", "sha256:kept", destroys, ago(time.Minute))), start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"a destroy that failed is tried at once when somebody asks": {
			world: world(deleted, state(3), had("net-2", "Failed", "sha256:kept", destroys), asks("Destroy")), start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"one that left something is repeated when somebody asks": {
			world: world(deleted, state(2), had("net-2", "Succeeded", "sha256:kept", destroys), asks("Destroy")), start: "Destroy net-3", ready: "Unknown", reason: "Destroying",
		},
		"nobody asks a protected Stack away": {
			world: world(deleted, protect, state(2), asks("Destroy")), ready: "False", reason: "DeletionProtected", stalled: true,
		},
		"the next destroy that was named but not made is made": {
			world: world(deleted, state(3), had("net-2", "Canceled", "sha256:kept", destroys, says("Canceled")), asks("Destroy"), taken, namedFor("net-3", "Destroy", "Manual")), start: "Destroy net-4", ready: "Unknown", reason: "Destroying",
		},
	})
}

// Only a look at what is applied tells drift.
func TestWhatIsNoDrift(t *testing.T) {
	for name, w := range map[string]Snapshot{
		"changes that are only shown":              world(checks("Report"), isApplied, had("net-2", "Succeeded", "sha256:now", plans), lookedAgo(time.Minute)),
		"a check where nobody looks regularly now": world(isApplied, had("net-2", "Succeeded", "sha256:now", looks)),
		"a look at what is not applied":            world(isApplied, had("net-2", "Succeeded", "sha256:new", lookedByHand)),
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

// What the status says of requests, in the same write that names the Run.
func TestRequestsInTheStatus(t *testing.T) {
	tests := map[string]struct {
		world          Snapshot
		last, run      string
		destroyed      string
		by             string
		appliedOrEmpty string
	}{
		"one that is taken up":              {world: world(isApplied, asks("Apply")), last: "now", run: "net-2", by: "alice", appliedOrEmpty: "sha256:now"},
		"a look that is":                    {world: world(isApplied, asks("Plan")), last: "now", run: "net-2", by: "alice", appliedOrEmpty: "sha256:now"},
		"a destroy that is":                 {world: world(isApplied, asks("Destroy")), last: "now", run: "net-2", by: "alice", appliedOrEmpty: "sha256:now"},
		"one that waits":                    {world: world(suspended, isApplied, asks("Apply")), appliedOrEmpty: "sha256:now"},
		"one that waits for a Run to end":   {world: world(had("net-1", "Applying", "sha256:now"), asks("Apply")), run: "net-1"},
		"one that was there from the start": {world: world(asks("Apply"), newborn), last: "now", run: "net-1"},
		"one that was, and nothing starts":  {world: world(suspended, asks("Apply"), newborn), last: "now"},
		"one that nothing comes of":         {world: world(protect, isApplied, asks("Destroy")), last: "now rejected", appliedOrEmpty: "sha256:now"},
		"one that is ahead of its time":     {world: world(isApplied, asks("Apply"), annotate(v1alpha1.RequestedAtAnnotation, "2126-11-20T12:00:00Z")), last: "2126-11-20T12:00:00Z rejected", appliedOrEmpty: "sha256:now"},
		"one that was from the start":       {world: world(asks("Apply"), annotate(v1alpha1.RequestedAtAnnotation, "2126-11-20T12:00:00Z"), newborn), last: "2126-11-20T12:00:00Z rejected", run: "net-1"},
		"one that nothing comes of, while a Run is under way": {
			world: world(protect, had("net-1", "Applying", "sha256:now"), asks("Destroy")), last: "now rejected", run: "net-1",
		},
		"a destroy that went well":          {world: world(state(0), applied("sha256:now"), had("net-2", "Succeeded", "sha256:kept", destroys, byHand)), destroyed: "net-2"},
		"a deletion's":                      {world: world(deleted, state(1), had("net-2", "Succeeded", "sha256:kept", destroys))},
		"a look at what was destroyed":      {world: world(state(0), destroyedBefore, asks("Plan")), last: "now", run: "net-3", by: "alice", destroyed: "net-2"},
		"an apply of what was destroyed":    {world: world(state(0), destroyedBefore, asks("Apply")), last: "now", run: "net-3", by: "alice", destroyed: "net-2"},
		"one that has begun":                {world: world(state(0), destroyedBefore, had("net-3", "Applying", "sha256:now", began), asks("Apply"), taken), last: "now", run: "net-3"},
		"one that was rejected":             {world: world(state(0), destroyedBefore, had("net-3", "Canceled", "sha256:now", rejected), asks("Apply"), taken), last: "now", destroyed: "net-2"},
		"a look that saw nothing there":     {world: world(state(0), destroyedBefore, had("net-3", "Succeeded", "sha256:now", lookedByHand), asks("Plan"), taken), last: "now", destroyed: "net-2"},
		"a destroy while nothing may start": {world: world(suspended, isApplied, asks("Destroy")), last: "now rejected", appliedOrEmpty: "sha256:now"},
		"what was destroyed and made again": {world: world(isApplied), appliedOrEmpty: "sha256:now"},
		"an apply that ended before the engine's turn": {
			world: world(applied("sha256:old"), had("net-2", "Canceled", "sha256:now", notBegun)), appliedOrEmpty: "sha256:old",
		},
		"a look without changes at what is not applied": {
			world: world(applied("sha256:old"), had("net-1", "Failed", "sha256:now"), had("net-2", "Succeeded", "sha256:now", lookedByHand, noChanges)), appliedOrEmpty: "sha256:old",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.world)
			asTold(t, tt.world)
			s := Status(tt.world, d)
			by := ""
			if d.Start != nil {
				by = d.Start.Cause.By
			}
			got := []string{handled(s.LastHandledRequest), s.CurrentRun, s.DestroyedByRun, by, s.AppliedInputsDigest}
			if diff := cmp.Diff([]string{tt.last, tt.run, tt.destroyed, tt.by, tt.appliedOrEmpty}, got); diff != "" {
				t.Errorf("last request, run, destroyed, by, applied inputs; -want +got:\n%s", diff)
			}
			again := tt.world
			again.Stack = tt.world.Stack.DeepCopy()
			again.Stack.Status = s
			if _, ok := runinfo.Requested(again.Stack, again.Now); ok && tt.last != "" {
				t.Error("the request is taken up and still waits")
			}
		})
	}
}

func TestRefusedRequests(t *testing.T) {
	for name, tt := range map[string]struct {
		world Snapshot
		want  string
	}{
		"none":                          {world(isApplied), ""},
		"one that something comes of":   {world(isApplied, asks("Destroy")), ""},
		"one that is ahead of its time": {world(isApplied, asks("Apply"), annotate(v1alpha1.RequestedAtAnnotation, "2126-11-20T12:00:00Z")), "check the clock of the client"},
		"of what is protected":          {world(protect, isApplied, asks("Destroy")), "spec.deletionPolicy is Protect"},
		"of what was never made":        {world(asks("Destroy")), "no apply of Cairn has created anything"},
		"of what is being made":         {world(had("net-1", "Applying", "sha256:now", began), asks("Destroy")), ""},
		"of what waits to be made":      {world(had("net-1", "AwaitingApproval", "sha256:now"), asks("Destroy")), "no apply of Cairn has created anything"},
		"of what is suspended":          {world(suspended, isApplied, asks("Destroy")), "spec.suspend is true"},
		"of what nobody knows":          {world(asks("Explode")), `"Explode"`},
		"one that was told already":     {world(protect, isApplied, asks("Destroy"), taken), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if _, why := RejectedRequest(tt.world); !strings.Contains(why, tt.want) || (why == "") != (tt.want == "") {
				t.Errorf("got %q, want %q", why, tt.want)
			}
		})
	}
}

// A Run carries who caused it, and whether that prevents self-approval.
func TestWhoCausedARun(t *testing.T) {
	changedBy := annotate(v1alpha1.ChangedByAnnotation, "bob")
	observed := func(w *Snapshot) { w.Stack.Status.ObservedGeneration = w.Stack.Generation }
	by := func(who string) func(*v1alpha1.Run) { return func(r *v1alpha1.Run) { r.Spec.Cause.By = who } }
	variables := func(w *Snapshot) {
		w.LastInputs = &inputs.Document{Source: "sha256:code"}
		w.Inputs.Versions = map[string]string{"Secret/db": "2"}
	}
	fromConfigMap := func(w *Snapshot) { w.Stack.Spec.Source.ConfigMap = &v1alpha1.ObjectRef{Name: "code"} }
	applied1 := had("net-1", "Succeeded", "sha256:old", by("carol"))
	for name, tt := range map[string]struct {
		world Snapshot
		want  string
	}{
		"who made the Stack":                                            {world(changedBy), "bob"},
		"who changed it":                                                {world(changedBy, observed, applied("sha256:old"), applied1), "bob"},
		"where nobody says who":                                         {world(observed, applied("sha256:old"), applied1), ""},
		"not who changed it last, when a Secret changes":                {world(changedBy, observed, applied("sha256:old"), applied1, variables), ""},
		"nor when a ConfigMap with the code does":                       {world(changedBy, observed, fromConfigMap, applied("sha256:old"), applied1), ""},
		"unless the Stack is newer, too":                                {world(changedBy, fromConfigMap, applied("sha256:old"), applied1), "bob"},
		"who asked":                                                     {world(changedBy, isApplied, asks("Apply")), "alice"},
		"nobody who asked before, and was done with":                    {world(observed, applied("sha256:old"), had("net-1", "Succeeded", "sha256:old", byHand), variables), ""},
		"still who changed what was not applied, when a Secret changes": {world(observed, applied("sha256:old"), had("net-1", "Superseded", "sha256:x", by("carol")), variables), "carol"},
		"or when it was rejected, and somebody unknown asks":            {world(had("net-1", "Canceled", "sha256:now", rejected, by("carol")), asks("Apply"), annotate(v1alpha1.RequestedByAnnotation, "")), "carol"},
		"not who asked before for nothing that changed":                 {world(isApplied, had("net-2", "Canceled", "sha256:now", byHand, noPlan), asks("Apply"), annotate(v1alpha1.RequestedByAnnotation, "")), ""},
		"not whoever changed it between, when nothing is to do":         {world(isApplied, asks("Apply"), annotate(v1alpha1.RequestedByAnnotation, "")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, four := range []bool{false, true} {
				tt.world.Stack.Spec.PreventSelfApproval = four
				d := Decide(tt.world)
				asTold(t, tt.world)
				if d.Start == nil {
					t.Fatalf("nothing starts: %+v", d)
				}
				if d.Start.Cause.By != tt.want || d.Start.PreventSelfApproval != four {
					t.Errorf("%+v, preventSelfApproval %v; want %q and %v", d.Start.Cause, d.Start.PreventSelfApproval, tt.want, four)
				}
			}
		})
	}
	long := world(annotate(v1alpha1.ChangedByAnnotation, strings.Repeat("b", 300)))
	if d := Decide(long); len(d.Start.Cause.By) != 253 {
		t.Errorf("a name of %d characters, and no Run could be made", len(d.Start.Cause.By))
	}
}

// Whose change waits stays its cause where self-approval is prevented, whatever happens before it is applied; and what changes
// together with something else is still known.
func TestTheUserWhoseChangeWaitsStaysTheCause(t *testing.T) {
	changedBy := annotate(v1alpha1.ChangedByAnnotation, "bob")
	observed := func(w *Snapshot) { w.Stack.Status.ObservedGeneration = w.Stack.Generation }
	preventSelfApproval := func(w *Snapshot) { w.Stack.Spec.PreventSelfApproval = true }
	by := func(who string) func(*v1alpha1.Run) {
		return func(r *v1alpha1.Run) { r.Spec.Cause.By, r.Spec.Revision = who, "main@sha1:0" }
	}
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
	foreign := func(w *Snapshot) { // alice points the Repository elsewhere
		w.Stack.Status.Source = &v1alpha1.GitOrigin{Repository: "shop/infra", URL: "https://good.example.com"}
		w.Source = &v1alpha1.GitOrigin{Repository: "shop/infra", URL: "https://evil.example.com"}
		w.RepositoryChangedBy = "alice"
	}
	waits, done := had("net-1", "Superseded", "sha256:x", by("carol")), had("net-1", "Succeeded", "sha256:old", by("carol"))
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
		world         Snapshot
		want, message string
	}{
		"a commit after what was applied is its author's": {world(preventSelfApproval, changedBy, observed, applied("sha256:old"), done, commit, same), "Dan", "1f3c2ab Fix it"},
		"one after a change that waits is not":            {world(preventSelfApproval, changedBy, observed, applied("sha256:old"), waits, commit, same), "carol", "1f3c2ab Fix it"},
		"without the field it is":                         {world(changedBy, observed, applied("sha256:old"), waits, commit, same), "Dan", "1f3c2ab Fix it"},
		"one together with a change of the spec is not":   {world(changedBy, observed, applied("sha256:old"), done, commit, otherVariables), "bob", "1f3c2ab Fix it; spec.variableFiles changed"},
		"nor is one of another ref that a user chose":     {world(changedBy, observed, applied("sha256:old"), done, commit, same, func(w *Snapshot) { w.Revision = "evil@sha1:1" }), "bob", "1f3c2ab Fix it; spec.source.git changed"},
		"a hook in the spec, after something was missing": {world(changedBy, observed, applied("sha256:old"), done, hooks(v1alpha1.Hook{}, "a", "b")), "bob", "spec.hooks changed"},
		"not one in a ConfigMap":                          {world(changedBy, observed, applied("sha256:old"), done, hooks(inConfigMap, "a", "b")), "", "spec.hooks changed"},
		"but the user who adds one":                       {world(changedBy, observed, applied("sha256:old"), done, hooks(inConfigMap, "", ""), last(func(*inputs.Document) {})), "bob", "spec.hooks changed"},
		"not the text of policies":                        {world(changedBy, observed, applied("sha256:old"), done, policies(inputs.Policy{Name: "a", Files: map[string]string{"a": ""}}, inputs.Policy{Name: "a"})), "", "spec.policies changed"},
		"but the user who takes others":                   {world(changedBy, observed, applied("sha256:old"), done, policies(inputs.Policy{Name: "a"}, inputs.Policy{Name: "b"})), "bob", "spec.policies changed"},
		"the spec is known behind a ConfigMap":            {world(changedBy, observed, applied("sha256:old"), done, hooks(inConfigMap, "a", "b"), func(w *Snapshot) { w.LastInputs.Image = "x" }), "bob", "spec.hooks changed"},
		"a commit of another URL is of the user who changed the Repository": {
			world(preventSelfApproval, changedBy, observed, applied("sha256:old"), done, commit, same, foreign), "alice", "1f3c2ab Fix it; the Repository changed",
		},
		"also when another user's change waits": {world(preventSelfApproval, changedBy, observed, applied("sha256:old"), waits, commit, same, foreign), "alice", "1f3c2ab Fix it; the Repository changed"},
		"also when no Run is there any more":    {world(preventSelfApproval, changedBy, observed, applied("sha256:old"), commit, foreign), "alice", "the Stack is new"},
		"also when a Secret changes":            {world(preventSelfApproval, changedBy, observed, applied("sha256:old"), done, secretChanged, foreign), "alice", "Secret db changed"},
		"not a change of the spec at that time": {world(preventSelfApproval, changedBy, observed, applied("sha256:old"), done, otherVariables, foreign), "bob", "spec.variableFiles changed"},
		"one of a Repository that nobody is known to have changed is nobody's": {
			world(preventSelfApproval, changedBy, observed, applied("sha256:old"), done, commit, same, foreign, func(w *Snapshot) { w.RepositoryChangedBy = "" }), "", "1f3c2ab Fix it; the Repository changed",
		},
		"one of another Repository is of the user who changed the Stack": {
			world(preventSelfApproval, changedBy, observed, applied("sha256:old"), done, commit, same, foreign, func(w *Snapshot) { w.Source.Repository = "shop/other" }), "bob", "1f3c2ab Fix it; spec.source.git changed",
		},
		"and is not of the user whose change waits": {
			world(preventSelfApproval, changedBy, observed, applied("sha256:old"), waits, commit, same, foreign, func(w *Snapshot) { w.Source.Ref = "evil" }), "bob", "1f3c2ab Fix it; spec.source.git changed",
		},
		"who asks for it is not it":                            {world(preventSelfApproval, changedBy, observed, applied("sha256:old"), done, commit, same, foreign, asks("Apply"), annotate(v1alpha1.RequestedByAnnotation, "carol")), "alice", "asked for by carol"},
		"who tries again what somebody else changed is not it": {world(preventSelfApproval, had("net-1", "Failed", "sha256:now", by("carol")), asks("Apply")), "carol", "asked for by alice"},
		"nor when it changed since":                            {world(preventSelfApproval, changedBy, applied("sha256:old"), done, otherVariables, asks("Apply")), "bob", "asked for by alice"},
		"who asks for a commit is":                             {world(preventSelfApproval, applied("sha256:old"), done, commit, same, asks("Apply")), "alice", "asked for by alice"},
		"who asks for what is applied is":                      {world(preventSelfApproval, changedBy, isApplied, asks("Apply")), "alice", "asked for by alice"},
		"who asks for a destroy is":                            {world(preventSelfApproval, state(3), had("net-1", "Failed", "sha256:now", by("carol")), asks("Destroy")), "alice", "asked for by alice"},
		"without the field who asks is":                        {world(had("net-1", "Failed", "sha256:now", by("carol")), asks("Apply")), "alice", "asked for by alice"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.world)
			asTold(t, tt.world)
			if d.Start == nil {
				t.Fatalf("nothing starts: %+v", d)
			}
			if c := d.Start.Cause; c.By != tt.want || c.Message != tt.message {
				t.Errorf("%q by %q, want %q by %q", c.Message, c.By, tt.message, tt.want)
			}
		})
	}
}

// What was lost in a log is put back by a person; then the Stack goes on.
func TestAStateThatIsBack(t *testing.T) {
	lost := func(r *v1alpha1.Run) {
		says("StateNotSaved")(r)
		began(r)
		r.Status.Attempts[0].FinishedAt = &metav1.MicroTime{Time: now.Add(500 * time.Millisecond)}
	}
	version := func(at time.Duration) func(*Snapshot) {
		return func(w *Snapshot) {
			w.State.Status.Versions = append(w.State.Status.Versions, v1alpha1.StateVersion{At: metav1.NewTime(now.Add(at))})
		}
	}
	decide(t, map[string]decision{
		"versions from before are not it": {
			world: world(state(3), version(0), had("net-1", "Failed", "sha256:now", lost)), ready: "False", reason: "StateNotSaved", stalled: true,
		},
		"a newer one is, and what is declared is tried again": {
			world: world(state(3), version(0), version(time.Second), had("net-1", "Failed", "sha256:now", lost)), start: "Apply net-2", ready: "Unknown", reason: "Running", message: "the state was put back",
		},
		"once": {
			world: world(state(3), version(time.Second), had("net-1", "Failed", "sha256:now", lost), had("net-2", "Failed", "sha256:now")), ready: "False", reason: "RunFailed", stalled: true,
		},
		"a destroy that lost it goes on at once": {
			world: world(deleted, state(3), version(time.Second), had("net-1", "Failed", "sha256:kept", destroys, lost)), start: "Destroy net-2", ready: "Unknown", reason: "Destroying",
		},
		"and not before": {
			world: world(deleted, state(3), version(0), had("net-1", "Failed", "sha256:kept", destroys, lost)), ready: "False", reason: "StateNotSaved", stalled: true,
		},
		"one that was asked for is for somebody to go on with": {
			world: world(state(3), version(time.Second), had("net-1", "Failed", "sha256:kept", destroys, byHand, lost)), ready: "False", reason: "RunFailed", message: "cairn retry net continues the destroy", stalled: true,
		},
	})
}

// The Runs that the status speaks of are not history.
func TestRunsThatTheStatusNamesAreKept(t *testing.T) {
	w := world(func(w *Snapshot) { w.Stack.Spec.RunHistoryLimit = ptr(int32(0)) }, had("net-1", "Succeeded", "sha256:x", destroys, byHand), had("net-2", "Succeeded", "sha256:x", lookedByHand), had("net-3", "Succeeded", "sha256:x", lookedByHand), had("net-4", "Failed", "sha256:x", lookedByHand))
	w.Stack.Status.DestroyedByRun, w.Stack.Status.Drift = "net-1", &v1alpha1.DriftStatus{Run: "net-2"}
	var got []string
	for _, r := range RunsToPrune(w) {
		got = append(got, r.Name)
	}
	if diff := cmp.Diff([]string{"net-3"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What was asked for is named, and before it is made something comes in the way: it waits as it would have before it was named. What nothing comes
// of any more is no Run that somebody deleted, after which what failed is tried again.
func TestWhatIsNamedStaysSoWhileSomethingIsInTheWay(t *testing.T) {
	failed, noShells := had("net-1", "Failed", "sha256:now"), func(w *Snapshot) { w.AllowShell = false }
	withdrawn := annotate(v1alpha1.RequestedAtAnnotation, "")
	vanished := func(w *Snapshot) { missing(w); w.Digest = "" }
	for name, tt := range map[string]struct {
		world Snapshot
		then  func(*Snapshot)
		start string
	}{
		"a look, and the Stack is suspended":         {world(failed, asks("Plan")), suspended, "Plan net-3"},
		"a dependency begins to wait":                {world(failed, asks("Plan")), dependencyWaits, "Plan net-3"},
		"an input vanishes":                          {world(failed, asks("Plan")), vanished, "Plan net-3"},
		"an operator that starts has no mirror yet":  {world(failed, asks("Plan")), func(w *Snapshot) { awaited(w); w.Digest = "" }, "Plan net-3"},
		"a look at what was rejected":                {world(had("net-1", "Canceled", "sha256:now", rejected), asks("Plan")), suspended, "Plan net-3"},
		"a look before a change":                     {world(applied("sha256:old"), had("net-1", "Succeeded", "sha256:old"), asks("Plan")), suspended, "Plan net-3"},
		"a shell":                                    {world(allowed, failed, asks("Shell")), suspended, "Shell net-3"},
		"an apply":                                   {world(isApplied, asks("Apply")), suspended, "Apply net-3"},
		"a plan where nothing is applied":            {world(never, isApplied, asks("Apply")), suspended, "Plan net-3"},
		"a destroy":                                  {world(isApplied, asks("Destroy")), builtOn(Dependent{Name: "web"}), "Destroy net-3"},
		"a shell that is not allowed any more":       {world(allowed, failed, asks("Shell")), noShells, ""},
		"a look that nobody wants any more":          {world(failed, asks("Plan")), withdrawn, ""},
		"a destroy that a suspended Stack refuses":   {world(state(3), failed, asks("Destroy")), suspended, ""},
		"a look that was made meanwhile, and failed": {world(failed, asks("Plan")), func(w *Snapshot) { awaited(w); had("net-2", "Failed", "sha256:now", lookedByHand)(w) }, ""},
		"a drift check, which has another place":     {world(checks("Report"), isApplied, asks("Apply"), taken), suspended, ""},
	} {
		w := tt.world
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
			t.Errorf("%s: %q is started, and %q should be", name, got, tt.start)
		}
	}
}

// Who deletes by hand a Run that only looked wants nothing applied by that.
func TestALookThatIsDeletedTriesNothingAgain(t *testing.T) {
	for _, what := range []v1alpha1.Operation{v1alpha1.OperationPlan, v1alpha1.OperationShell} {
		w := world(allowed, had("net-1", "Canceled", "sha256:now", rejected), asks(what))
		w.Stack.Status = Status(w, Decide(w))
		looked := w
		looked.Runs = slices.Clone(w.Runs)
		had("net-2", "Canceled", "sha256:now", byHand, func(r *v1alpha1.Run) { r.Spec.Operation = what })(&looked)
		w.Stack.Status = Status(looked, Decide(looked))
		if d := Decide(w); d.Start != nil {
			t.Errorf("%s: %+v is started", what, d.Start)
		}
	}
}
