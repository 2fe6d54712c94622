package decision

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// asked for by alice a moment ago, and not taken up.
func asked(operation v1alpha1.Operation) func(*Snapshot) {
	return func(w *Snapshot) {
		w.Stack.Status.ObservedGeneration = 1
		w.Stack.Annotations = map[string]string{
			v1alpha1.RequestedAtAnnotation: "now", v1alpha1.RequestedOperationAnnotation: string(operation), v1alpha1.RequestedByAnnotation: "alice",
		}
	}
}

func taken(w *Snapshot) { w.Stack.Status.LastHandledRequest = &v1alpha1.HandledRequest{Value: "now"} }

func byHand(w *Snapshot) {
	w.Run.Spec.Cause = v1alpha1.Cause{Type: v1alpha1.CauseManual, Message: "asked for by carol", By: "carol"}
}

func destroyIsNext(w *Snapshot) {
	w.Stack.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: v1alpha1.ReasonDestroyPending}}
}

func protected(w *Snapshot) { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionProtect }

func orphaned(w *Snapshot) { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }

func TestARequestReplacesWhatWaits(t *testing.T) {
	const underWay = time.Hour + overdue
	settle(t, map[string]settled{
		"a queued Run makes way": {
			world: world(asked("Apply")), phase: "Superseded", reason: "Superseded", message: "another Run was asked for by alice",
		},
		"a Run that waits for approval makes way": {
			world: world(waiting, asked("Apply")), phase: "Superseded", reason: "Superseded",
		},
		"so does one that was approved and waits for a window": {
			world: world(waiting, approvedFor("sha256:plan"), closed("Apply"), asked("Apply")), phase: "Superseded", reason: "Superseded",
		},
		"so does one between two tries": {
			world: world(planning, between, asked("Apply")), phase: "Superseded", reason: "Superseded",
		},
		"one whose apply failed does not seem to have done nothing": {
			world: world(applying, between, asked("Apply")), phase: "Failed", reason: "Transient", message: "not tried again since another Run was asked for by alice",
		},
		"one whose pod has not started makes way": {
			world: world(planning, pod(PodPending), asked("Apply")), phase: "Superseded", reason: "Superseded", delete: true,
		},
		"a plan at work is waited for": {
			world: world(planning, asked("Apply")), phase: "Planning", reason: "Planning", requeue: underWay,
		},
		"an apply at work is waited for": {
			world: world(applying, asked("Apply")), phase: "Applying", reason: "Applying", requeue: underWay,
		},
		"a drift check is ended in the middle": {
			world: world(planning, drift, asked("Apply")), phase: "Superseded", reason: "Superseded", delete: true,
		},
		"a look that somebody asked for is not": {
			world: world(planning, planOnly, byHand, asked("Apply")), phase: "Planning", reason: "Planning", requeue: underWay,
		},
		"what has been seen stays seen": {
			world: world(planned, planOnly, byHand, asked("Apply")), phase: "Succeeded", reason: "Planned",
		},
		"a plan without changes is no less true": {
			world: world(planned, noChanges, asked("Apply")), phase: "Succeeded", reason: "NoChanges",
		},
		"an apply that is done is done": {
			world: world(applyEnded, asked("Apply")), phase: "Succeeded", reason: "Applied",
		},
		"the Run that was made for the request goes on": {
			world: world(waiting, byHand, asked("Apply"), taken), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"a view of the Stack from before the Run tells nothing": {
			world: world(waiting, asked("Apply"), func(w *Snapshot) { w.Stack.Status.LastRun = "net-6" }), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"a request that was there before the Stack is none": {
			world: world(waiting, asked("Apply"), func(w *Snapshot) { w.Stack.Status.ObservedGeneration = 0 }), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"nor is one of a Stack that no operator has seen": {
			world: world(waiting, asked("Apply"), func(w *Snapshot) { w.Stack.Status.ObservedGeneration = -1 }), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"nothing makes way while nothing may start": {
			world: world(waiting, asked("Apply"), suspended), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},

		"for one who only looks a Run makes way that comes back by itself": {
			world: world(waiting, asked("Plan")), phase: "Superseded", reason: "Superseded",
		},
		"one that was approved does not": {
			world: world(waiting, approvedFor("sha256:plan"), closed("Apply"), asked("Plan")), phase: "AwaitingApproval", reason: "WindowClosed", requeue: time.Hour,
		},
		"one that somebody asked for does not": {
			world: world(waiting, byHand, asked("Plan")), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"one that has begun to apply does not": {
			world: world(applying, between, asked("Plan")), phase: "Applying", reason: "Retrying", requeue: time.Minute,
		},
		"another look does": {
			world: world(planOnly, byHand, asked("Plan")), phase: "Superseded", reason: "Superseded",
		},

		"a Run makes way for a destroy when the Stack says that it is next": {
			world: world(waiting, asked("Destroy"), destroyIsNext), phase: "Superseded", reason: "Superseded", message: "another Run was asked for by alice",
		},
		"not before, since the destroy may wait for others, or be of nothing": {
			world: world(waiting, asked("Destroy")), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"a look makes way at once": {
			world: world(planOnly, byHand, asked("Destroy")), phase: "Superseded", reason: "Superseded",
		},
		"while the Stack is suspended a destroy is refused, and nothing makes way": {
			world: world(waiting, asked("Destroy"), destroyIsNext, suspended), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"but not where nothing is to be destroyed": {
			world: world(waiting, protected, asked("Destroy")), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"nor for what nobody knows": {
			world: world(waiting, asked("Explode")), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"a destroy makes way for an apply": {
			world: world(waiting, destroy, byHand, asked("Apply")), phase: "Superseded", reason: "Superseded",
		},
		"that of a deleted Stack makes way for the next one": {
			world: world(waiting, destroy, deleting, asked("Destroy")), phase: "Superseded", reason: "Superseded",
		},
		"whatever it is that is asked for": {
			world: world(waiting, destroy, byHand, deleting, asked("Plan")), phase: "Superseded", reason: "Superseded",
		},
		"a destroy that was asked for ends when the Stack is protected": {
			world: world(waiting, destroy, byHand, protected), phase: "Superseded", reason: "Superseded", message: "spec.deletionPolicy is Protect now",
		},
		"but not because a deletion would leave everything": {
			world: world(waiting, destroy, byHand, orphaned), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"before there is such a deletion": {
			world: world(waiting, destroy, byHand, orphaned, deleting), phase: "Superseded", reason: "Superseded", message: "spec.deletionPolicy is Orphan now",
		},
	})
}
