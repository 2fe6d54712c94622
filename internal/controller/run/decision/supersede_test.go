package decision

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// requested by alice a moment ago, and not taken up.
func asked(operation v1alpha1.Operation) func(*Snapshot) {
	return func(w *Snapshot) {
		w.Stack.Status.ObservedGeneration = 1
		w.Stack.Annotations = map[string]string{
			v1alpha1.RequestedAtAnnotation: "now", v1alpha1.RequestedOperationAnnotation: string(operation),
			v1alpha1.RequestedByAnnotation: "alice",
		}
	}
}

// ofPullRequest: neither its number nor its inputs are those that the Stack has.
func ofPullRequest(w *Snapshot) {
	w.Run.Name, w.Run.Spec.Operation = "net-pr12-abcdefghij", v1alpha1.OperationPlan
	w.Run.Spec.PullRequest = &v1alpha1.RunPullRequest{Name: "infra-12"}
}

func taken(w *Snapshot) { w.Stack.Status.LastHandledRequest = &v1alpha1.HandledRequest{Value: "now"} }

func byHand(w *Snapshot) {
	w.Run.Spec.Cause = v1alpha1.Cause{Type: v1alpha1.CauseManual, Message: "requested by carol", By: "carol"}
}

func destroyIsNext(w *Snapshot) {
	w.Stack.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Reason: v1alpha1.ReasonDestroyPending}}
}

func protected(w *Snapshot) { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionProtect }

func orphaned(w *Snapshot) { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }

func TestRequestReplacesAWaitingRun(t *testing.T) {
	const underWay = time.Hour + overdue
	settle(t, map[string]settled{
		"a Run of a pull request does not": {
			snapshot: snapshot(asked("Apply"), ofPullRequest), begin: "Plan 1", phase: "Planning", reason: "Planning",
		},
		"a queued Run makes way": {
			snapshot: snapshot(asked("Apply")), phase: "Superseded", reason: "Superseded",
			message: "another Run was requested by alice",
		},
		"a Run that waits for approval makes way": {
			snapshot: snapshot(waiting, asked("Apply")), phase: "Superseded", reason: "Superseded",
		},
		"an approved Run that waits for a window makes way": {
			snapshot: snapshot(waiting, approvedFor("sha256:plan"), closed("Apply"), asked("Apply")),
			phase:    "Superseded", reason: "Superseded",
		},
		"a Run that waits for a retry makes way": {
			snapshot: snapshot(planning, between, asked("Apply")), phase: "Superseded", reason: "Superseded",
		},
		"one whose apply failed does not seem to have done nothing": {
			snapshot: snapshot(applying, between, asked("Apply")), phase: "Failed", reason: "Transient",
			message: "not tried again since another Run was requested by alice",
		},
		"one whose pod has not started makes way": {
			snapshot: snapshot(planning, pod(PodPending), asked("Apply")), phase: "Superseded", reason: "Superseded",
			delete: true,
		},
		"a plan at work is waited for": {
			snapshot: snapshot(planning, asked("Apply")), phase: "Planning", reason: "Planning", requeue: underWay,
		},
		"an apply at work is waited for": {
			snapshot: snapshot(applying, asked("Apply")), phase: "Applying", reason: "Applying", requeue: underWay,
		},
		"a drift check is ended in the middle": {
			snapshot: snapshot(planning, drift, asked("Apply")), phase: "Superseded", reason: "Superseded",
			delete: true,
		},
		"a plan that a user requested is not": {
			snapshot: snapshot(planning, planOnly, byHand, asked("Apply")), phase: "Planning", reason: "Planning",
			requeue: underWay,
		},
		"what has been seen stays seen": {
			snapshot: snapshot(planned, planOnly, byHand, asked("Apply")), phase: "Succeeded", reason: "Planned",
		},
		"a plan without changes is no less true": {
			snapshot: snapshot(planned, noChanges, asked("Apply")), phase: "Succeeded", reason: "NoChanges",
		},
		"an apply that is done is done": {
			snapshot: snapshot(applyEnded, asked("Apply")), phase: "Succeeded", reason: "Applied",
		},
		"the Run that was made for the request goes on": {
			snapshot: snapshot(waiting, byHand, asked("Apply"), taken), phase: "AwaitingApproval",
			reason: "AwaitingApproval",
		},
		"a stale view of the Stack has no request": {
			snapshot: snapshot(waiting, asked("Apply"), func(w *Snapshot) {
				w.Stack.Status.LastRun = "net-6"
			}), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"a request that was there before the Stack is none": {
			snapshot: snapshot(waiting, asked("Apply"), func(w *Snapshot) {
				w.Stack.Status.ObservedGeneration = 0
			}), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"a request of an unobserved Stack is none": {
			snapshot: snapshot(waiting, asked("Apply"), func(w *Snapshot) {
				w.Stack.Status.ObservedGeneration = -1
			}), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"nothing makes way while nothing may start": {
			snapshot: snapshot(waiting, asked("Apply"), suspended), phase: "AwaitingApproval",
			reason: "AwaitingApproval",
		},

		"a plan replaces no Run that waits for an approval": {
			snapshot: snapshot(waiting, asked("Plan")), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"one that was approved is not replaced": {
			snapshot: snapshot(waiting, approvedFor("sha256:plan"), closed("Apply"), asked("Plan")),
			phase:    "AwaitingApproval", reason: "WindowClosed", requeue: time.Hour,
		},
		"one that a user requested is not replaced": {
			snapshot: snapshot(waiting, byHand, asked("Plan")), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"one that has begun to apply is not replaced": {
			snapshot: snapshot(applying, between, asked("Plan")), phase: "Applying", reason: "Retrying",
			requeue: time.Minute,
		},
		"another plan is": {
			snapshot: snapshot(planOnly, byHand, asked("Plan")), phase: "Superseded", reason: "Superseded",
		},

		"a Run makes way for a destroy when the Stack says that it is next": {
			snapshot: snapshot(waiting, asked("Destroy"), destroyIsNext), phase: "Superseded", reason: "Superseded",
			message: "another Run was requested by alice",
		},
		"a Run does not make way before the Stack names the destroy as next": {
			snapshot: snapshot(waiting, asked("Destroy")), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"a plan makes way at once": {
			snapshot: snapshot(planOnly, byHand, asked("Destroy")), phase: "Superseded", reason: "Superseded",
		},
		"while the Stack is suspended a destroy is refused, and nothing makes way": {
			snapshot: snapshot(waiting, asked("Destroy"), destroyIsNext, suspended), phase: "AwaitingApproval",
			reason: "AwaitingApproval",
		},
		"a destroy of a protected Stack replaces no Run": {
			snapshot: snapshot(waiting, protected, asked("Destroy")), phase: "AwaitingApproval",
			reason: "AwaitingApproval",
		},
		"an unknown operation replaces no Run": {
			snapshot: snapshot(waiting, asked("Explode")), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"a destroy makes way for an apply": {
			snapshot: snapshot(waiting, destroy, byHand, asked("Apply")), phase: "Superseded", reason: "Superseded",
		},
		"that of a deleted Stack makes way for the next one": {
			snapshot: snapshot(waiting, destroy, deleting, asked("Destroy")), phase: "Superseded", reason: "Superseded",
		},
		"whatever it is that is asked for": {
			snapshot: snapshot(waiting, destroy, byHand, deleting, asked("Plan")), phase: "Superseded",
			reason: "Superseded",
		},
		"a destroy that was asked for ends when the Stack is protected": {
			snapshot: snapshot(waiting, destroy, byHand, protected), phase: "Superseded", reason: "Superseded",
			message: "spec.deletionPolicy is Protect now",
		},
		"a requested destroy continues when a deletion would orphan all": {
			snapshot: snapshot(waiting, destroy, byHand, orphaned), phase: "AwaitingApproval",
			reason: "AwaitingApproval",
		},
		"before there is such a deletion": {
			snapshot: snapshot(waiting, destroy, byHand, orphaned, deleting), phase: "Superseded", reason: "Superseded",
			message: "spec.deletionPolicy is Orphan now",
		},
	})
}
