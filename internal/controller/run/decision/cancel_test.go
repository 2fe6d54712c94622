package decision

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

func cancel(w *Snapshot) { w.Run.Spec.Cancel, w.Run.Spec.CanceledBy = true, "bob" }

func rejectedFor(digest string) func(*Snapshot) {
	return func(w *Snapshot) {
		w.Run.Spec.Rejection = &v1alpha1.Rejection{PlanDigest: digest, By: "bob", Reason: "not on a Friday"}
	}
}

// changed20 is an apply that has changed n of 20 resources when it was interrupted.
func changed20(n int32) func(*Snapshot) {
	return func(w *Snapshot) {
		applying(w)
		failed(v1alpha1.FailureCanceled)(w)
		w.Run.Status.Plan = &v1alpha1.Plan{Digest: "sha256:plan", Changes: true, Add: 13, Change: 3, Destroy: 5,
			Replace: 1, Import: 7}
		runinfo.Current(&w.Run.Status).Changed = &n
	}
}

func between(w *Snapshot) { // two tries
	failed(v1alpha1.FailureTransient)(w)
	w.Run.Status.NextAttempt = &metav1.Time{Time: now.Add(time.Minute)}
}

func reported(w *Snapshot) {
	runinfo.Current(&w.Run.Status).Steps = []v1alpha1.Step{{Name: "apply", State: v1alpha1.StepRunning}}
}

// applyStep is the state of the engine's step, after a hook before it.
func applyStep(state v1alpha1.StepState) func(*Snapshot) {
	return func(w *Snapshot) {
		runinfo.Current(&w.Run.Status).Steps = []v1alpha1.Step{{Name: "before-apply", State: v1alpha1.StepFailed},
			{Name: "apply", State: state}}
	}
}

func planReported(w *Snapshot) {
	w.Run.Status.Attempts[0].Steps = []v1alpha1.Step{{Name: "plan", State: v1alpha1.StepSucceeded}}
}

func ownPod(w *Snapshot) { runinfo.Current(&w.Run.Status).Pod = "net-7-apply-2" }

func TestCancel(t *testing.T) {
	const underWay = time.Hour + overdue
	settle(t, map[string]settled{
		"a queued Run ends at once": {
			snapshot: snapshot(cancel), phase: "Canceled", reason: "Canceled", message: "canceled by bob",
		},
		"one canceled by an unknown user does too": {
			snapshot: snapshot(cancel, func(w *Snapshot) { w.Run.Spec.CanceledBy = "" }), phase: "Canceled",
			reason: "Canceled", message: "canceled",
		},
		"one that waits for an older one does too": {
			snapshot: snapshot(cancel, func(w *Snapshot) { w.Older = "net-6" }), phase: "Canceled", reason: "Canceled",
		},
		"one of a suspended Stack does too": {
			snapshot: snapshot(cancel, suspended), phase: "Canceled", reason: "Canceled",
		},
		"one whose inputs are missing does too": {
			snapshot: snapshot(cancel, destroy, func(w *Snapshot) {
				w.Missing = "Secret aws is missing"
			}), phase: "Canceled", reason: "Canceled",
		},
		"one whose Stack is gone does too": {
			snapshot: snapshot(cancel, stackGone), phase: "Canceled", reason: "Canceled",
		},
		"one whose inputs changed does too": {
			snapshot: snapshot(cancel, changed), phase: "Canceled", reason: "Canceled",
		},
		"a Run between two tries ends at once, and says what had failed": {
			snapshot: snapshot(planning, between, cancel), phase: "Canceled", reason: "Canceled",
			message: "canceled by bob after plan: boom",
		},
		"a Run that waits for approval ends at once": {
			snapshot: snapshot(waiting, cancel), phase: "Canceled", reason: "Canceled", message: "canceled by bob",
		},
		"one that was approved and waits for a window does too": {
			snapshot: snapshot(waiting, approvedFor("sha256:plan"), closed("Apply"), cancel), phase: "Canceled",
			reason: "Canceled",
		},
		"one that was approved a moment ago is not applied": {
			snapshot: snapshot(waiting, approvedFor("sha256:plan"), cancel), phase: "Canceled", reason: "Canceled",
		},
		"a plan that comes in is not applied": {
			snapshot: snapshot(planned, cancel), phase: "Canceled", reason: "Canceled",
		},
		"a plan that found nothing to do is no less true": {
			snapshot: snapshot(planned, noChanges, cancel), phase: "Succeeded", reason: "NoChanges",
		},
		"a finished plan-only Run stays succeeded": {
			snapshot: snapshot(planned, planOnly, cancel), phase: "Succeeded", reason: "Planned",
		},

		"a plan whose pod has not started loses it": {
			snapshot: snapshot(planning, pod(PodPending), cancel), phase: "Canceled", reason: "Canceled",
			message: "canceled by bob", delete: true,
		},
		"one whose pod can never start does too": {
			snapshot: snapshot(planning, pod(PodPending), later(startPatience), broken, cancel), phase: "Canceled",
			reason: "Canceled", delete: true,
		},
		"a plan at work is interrupted, and not killed": {
			snapshot: snapshot(planning, cancel), phase: "Planning", reason: "Canceling",
			message: "canceled by bob; the plan in pod net-7-plan-1 is interrupted", requeue: underWay,
		},
		"a plan whose pod is not known is waited for": {
			snapshot: snapshot(planning, pod(PodUnknown), cancel), phase: "Planning", reason: "Canceling",
			requeue: underWay,
		},
		"a plan whose pod is leaving is waited for": {
			snapshot: snapshot(planning, pod(PodTerminating), cancel), phase: "Planning", reason: "Canceling",
			requeue: underWay,
		},
		"a plan whose pod is gone is not made again": {
			snapshot: snapshot(planning, pod(PodGone), cancel), phase: "Canceled", reason: "Canceled",
			message: "canceled by bob",
		},
		"a plan whose pod ended is not made again": {
			snapshot: snapshot(planning, pod(PodEnded), cancel), phase: "Canceled", reason: "Canceled",
		},
		"a plan that was interrupted is canceled": {
			snapshot: snapshot(planning, failed(v1alpha1.FailureCanceled), cancel), phase: "Canceled",
			reason: "Canceled", message: "canceled by bob",
		},
		"a plan with a transient failure meanwhile is not retried": {
			snapshot: snapshot(planning, failed(v1alpha1.FailureTransient), cancel), phase: "Canceled",
			reason: "Canceled",
		},
		"a mistake in the code is reported all the same": {
			snapshot: snapshot(planning, failed(v1alpha1.FailureConfigurationError), cancel), phase: "Failed",
			reason: "ConfigurationError", message: "boom",
		},
		"a denial of a policy is reported all the same": {
			snapshot: snapshot(planned, failed(v1alpha1.FailurePolicyDenied), cancel), phase: "Failed",
			reason: "PolicyDenied",
		},

		"an apply whose pod has not started loses it, and is not over before that is gone": {
			snapshot: snapshot(applying, ownPod, pod(PodPending), cancel), phase: "Applying", reason: "Canceling",
			message: "pod net-7-apply-2 is deleted and has not ended yet", delete: true,
		},
		"one that has reported is interrupted, although the pod has not started in the cache": {
			snapshot: snapshot(applying, ownPod, reported, pod(PodPending), cancel), phase: "Applying",
			reason: "Canceling", message: "the engine in pod net-7-apply-2 ends what it has in flight",
			requeue: underWay,
		},
		"an apply in the pod of its plan is interrupted": {
			snapshot: snapshot(applying, planReported, pod(PodPending), cancel), phase: "Applying", reason: "Canceling",
			message: "the engine in pod net-7-plan-1 ends", requeue: underWay,
		},
		"an apply whose pod can never start is deleted": {
			snapshot: snapshot(applying, ownPod, pod(PodPending), later(startPatience), broken, cancel),
			phase:    "Applying", reason: "Canceling", delete: true,
		},
		"while its pod leaves it is waited for": {
			snapshot: snapshot(applying, ownPod, pod(PodTerminating), cancel), phase: "Applying", reason: "Canceling",
			requeue: underWay,
		},
		"an apply whose pod is gone before it did anything is over": {
			snapshot: snapshot(applying, ownPod, pod(PodGone), cancel), phase: "Canceled", reason: "Canceled",
			message: "canceled by bob, and pod net-7-apply-2 ended before it reported anything; cairn apply " +
				"net continues",
		},
		"an apply at work is interrupted, and its pod is let be": {
			snapshot: snapshot(applying, reported, cancel), phase: "Applying", reason: "Canceling",
			message: "canceled by bob; the engine in pod net-7-plan-1 ends what it has in flight and saves the state",
			requeue: underWay,
		},
		"an apply whose pod is not known is waited for": {
			snapshot: snapshot(applying, reported, pod(PodUnknown), cancel), phase: "Applying", reason: "Canceling",
			requeue: underWay,
		},
		"an apply that does not end although it was canceled has an end": {
			snapshot: snapshot(applying, reported, cancel, later(2*time.Hour)), phase: "Applying",
			reason: "TimeoutExceeded", requeue: time.Minute, delete: true,
		},
		"an apply whose pod is gone in the middle is over, with an unknown result": {
			snapshot: snapshot(applying, reported, pod(PodEnded), cancel), phase: "Canceled", reason: "Canceled",
			message: "canceled by bob after apply: pod net-7-plan-1 so it is before it reported; cairn apply " +
				"net continues",
		},
		"an apply that was interrupted says what is half done": {
			snapshot: snapshot(changed20(7), cancel), phase: "Canceled", reason: "Canceled",
			message: "canceled by bob in the middle of the apply: 7 of 20 changes were applied and are in the state; " +
				"cairn apply net continues",
		},
		"a canceled apply whose report arrives before the cancellation says what is half done": {
			snapshot: snapshot(changed20(7)), phase: "Canceled", reason: "Canceled",
			message: "boom in the middle of the apply: 7 of 20 changes were applied",
		},
		"a destroy that was interrupted goes on as one": {
			snapshot: snapshot(destroy, changed20(1), cancel), phase: "Canceled", reason: "Canceled",
			message: "canceled by bob in the middle of the destroy: 1 of 20 changes were applied and are in the " +
				"state; cairn retry net continues",
		},
		"what is half done is counted of what the plan changes, and of nothing when it does not fit": {
			snapshot: snapshot(changed20(21), cancel), phase: "Canceled", reason: "Canceled",
			message: "apply: 21 changes were applied",
		},
		"one that was interrupted before the engine's turn has done nothing": {
			snapshot: snapshot(applying, reported, applyStep(v1alpha1.StepSkipped), failed(v1alpha1.FailureCanceled),
				cancel), phase: "Canceled", reason: "Canceled", message: "canceled by bob before the apply began",
		},
		"an apply whose hook failed before the engine has done nothing": {
			snapshot: snapshot(applying, reported, applyStep(v1alpha1.StepSkipped), between, cancel), phase: "Canceled",
			reason: "Canceled", message: "canceled by bob before the apply began after before-apply: boom",
		},
		"the result of one that was lost there is unknown": {
			snapshot: snapshot(applying, reported, applyStep(v1alpha1.StepWaiting), pod(PodEnded), cancel),
			phase:    "Canceled", reason: "Canceled", message: "before it reported; cairn apply net continues",
		},
		"an apply that had failed is not tried again": {
			snapshot: snapshot(applying, reported, between, cancel), phase: "Canceled", reason: "Canceled",
			message: "canceled by bob after apply: boom; cairn apply net continues",
		},
		"an apply that succeeded all the same has succeeded": {
			snapshot: snapshot(applyEnded, cancel), phase: "Succeeded", reason: "Applied",
		},
		"a state that is only in a log is reported all the same": {
			snapshot: snapshot(applying, failed(v1alpha1.FailureStateNotSaved), cancel), phase: "Failed",
			reason: "StateNotSaved",
		},
		"a state that a pod could not report is reported by its exit code": {
			snapshot: snapshot(applying, reported, pod(PodEnded), func(w *Snapshot) {
				w.Pod.Stranded = true
			}, cancel), phase: "Failed", reason: "StateNotSaved",
		},
		"a Run that is over is not canceled": {
			snapshot: snapshot(cancel, func(w *Snapshot) {
				w.Run.Status.Phase = v1alpha1.PhaseFailed
			}), phase: "Failed",
		},

		"a plan that is rejected ends the Run": {
			snapshot: snapshot(waiting, rejectedFor("sha256:plan")), phase: "Canceled", reason: "Rejected",
			message: "rejected by bob: not on a Friday",
		},
		"whichever user approved it": {
			snapshot: snapshot(waiting, rejectedFor("sha256:plan"), approvedFor("sha256:plan")), phase: "Canceled",
			reason: "Rejected",
		},
		"a rejected Run ends whatever changed since": {
			snapshot: snapshot(waiting, rejectedFor("sha256:plan"), changed), phase: "Canceled", reason: "Rejected",
		},
		"a rejected Run that waits for a window ends": {
			snapshot: snapshot(planned, closed("Apply"), rejectedFor("sha256:plan")), phase: "Canceled",
			reason: "Rejected",
		},
		"the rejection of another plan is none": {
			snapshot: snapshot(waiting, rejectedFor("sha256:other")), phase: "AwaitingApproval",
			reason: "AwaitingApproval",
		},
		"an apply that is done is not rejected": {
			snapshot: snapshot(applyEnded, rejectedFor("sha256:plan")), phase: "Succeeded", reason: "Applied",
		},
		"an apply that has begun is not rejected": {
			snapshot: snapshot(applying, rejectedFor("sha256:plan")), phase: "Applying", reason: "Applying",
			requeue: underWay,
		},
	})
}

// A user who caused a Run does not approve it where self-approval is prevented.
func TestPreventSelfApproval(t *testing.T) {
	caused := func(by string) func(*Snapshot) { return func(w *Snapshot) { w.Run.Spec.Cause.By = by } }
	inRun := func(w *Snapshot) { w.Run.Spec.PreventSelfApproval = true }
	removedBy := func(by string) func(*Snapshot) { return func(w *Snapshot) { w.Run.Spec.SelfApprovalRemovedBy = by } }
	takesOver := func(w *Snapshot) { w.Run.Status.Plan.TakesOverState = true }
	inStack := func(w *Snapshot) { w.Stack.Spec.PreventSelfApproval = true }
	automatic := func(w *Snapshot) { w.Stack.Spec.Apply = v1alpha1.ApplyAutomatic }
	const underWay = time.Hour + overdue
	approved := approvedFor("sha256:plan") // by alice
	settle(t, map[string]settled{
		"the user who caused the Run does not approve it": {
			snapshot: snapshot(waiting, inRun, caused("alice"), approved), phase: "AwaitingApproval",
			reason: "AwaitingApproval",
			message: "the approval by alice, who caused this Run, does not count (spec.preventSelfApproval): another " +
				"user has to approve; approve with cairn approve net",
		},
		"the user who caused the Run does not approve it when the Stack prevents that later": {
			snapshot: snapshot(waiting, inStack, caused("alice"), approved), phase: "AwaitingApproval",
			reason: "AwaitingApproval", message: "does not count",
		},
		"an earlier approval by the user who caused the Run does not count": {
			snapshot: snapshot(waiting, inStack, caused("alice"), approved, suspended), phase: "AwaitingApproval",
			reason: "AwaitingApproval", message: "does not count",
		},
		"a Run that asks for it goes on to, whatever became of the Stack": {
			snapshot: snapshot(waiting, inRun, caused("alice"), approved), phase: "AwaitingApproval",
			reason: "AwaitingApproval", message: "does not count",
		},
		"another user does": {
			snapshot: snapshot(waiting, inRun, inStack, caused("bob"), approved), phase: "Applying",
			begin: "Apply 2 in pod", reason: "Applying", requeue: underWay,
		},
		"where the cause is unknown any user does": {
			snapshot: snapshot(waiting, inRun, inStack, approved), phase: "Applying", begin: "Apply 2 in pod",
			reason: "Applying", requeue: underWay,
		},
		"without the field the user who caused it may": {
			snapshot: snapshot(waiting, caused("alice"), approved), phase: "Applying", begin: "Apply 2 in pod",
			reason: "Applying", requeue: underWay,
		},
		"who may change the Stack cannot have a plan applied that waits for that": {
			snapshot: snapshot(waiting, automatic, inRun, caused("alice")), phase: "AwaitingApproval",
			reason: "AwaitingApproval", message: "approve with cairn approve net",
		},
		"a change of the Stack does not let the user who caused the Run approve it": {
			snapshot: snapshot(waiting, automatic, inRun, caused("alice"), approved), phase: "AwaitingApproval",
			reason: "AwaitingApproval", message: "does not count",
		},
		"another user approves it, also there": {
			snapshot: snapshot(waiting, automatic, inRun, caused("bob"), approved), phase: "Applying",
			begin: "Apply 2 in pod", reason: "Applying", requeue: underWay,
		},
		"the user who removed the rule from the Stack does not approve it": {
			snapshot: snapshot(waiting, inRun, removedBy("alice"), caused("bob"), approved), phase: "AwaitingApproval",
			reason:  "AwaitingApproval",
			message: "the approval by alice, who removed spec.preventSelfApproval, does not count",
		},
		"a third user does, and the message has what that ends": {
			snapshot: snapshot(waiting, inRun, removedBy("carol"), caused("bob")), phase: "AwaitingApproval",
			reason: "AwaitingApproval",
			message: "carol removed spec.preventSelfApproval, which ends when the plan is applied that another " +
				"user approved",
		},
		"a Stack that takes over the State of another one does not apply by itself": {
			snapshot: snapshot(planned, takesOver), phase: "AwaitingApproval", reason: "AwaitingApproval",
			message: "this Stack never applied the state, which an earlier Stack of this name, a push or a backend " +
				"left; approve with cairn approve net",
		},
		"any user approves that": {
			snapshot: snapshot(planned, takesOver, caused("alice"), approved), phase: "Applying",
			begin: "Apply 2 in pod", reason: "Applying", requeue: underWay,
		},
		"what needs no approval goes on without": {
			snapshot: snapshot(planned, inStack, caused("alice")), phase: "Applying", begin: "Apply 2 in pod",
			reason: "Applying", requeue: underWay,
		},
	})
}

func TestInterruptReason(t *testing.T) {
	tests := map[string]struct {
		snapshot Snapshot
		want     string
	}{
		"a Run that goes on":   {snapshot(applying), ""},
		"one that is canceled": {snapshot(applying, cancel), "canceled by bob"},
		"by an unknown user": {snapshot(applying, cancel, func(w *Snapshot) {
			w.Run.Spec.CanceledBy = ""
		}), "canceled"},
		"one that has ended already": {snapshot(cancel, func(w *Snapshot) {
			w.Run.Status.Phase = v1alpha1.PhaseCanceled
		}), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := InterruptReason(tt.snapshot.Run); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A canceled apply stays the current attempt until its pod is known to be gone or to have ended.
func TestCanceledApplyEndsWithItsPod(t *testing.T) {
	for _, state := range []PodState{PodUnknown, PodPending, PodRunning, PodTerminating, PodEnded, PodGone} {
		for _, never := range []bool{false, true} {
			for _, since := range []time.Duration{0, startPatience, 100 * time.Hour} {
				for _, steps := range []func(*Snapshot){reported, func(*Snapshot) {}} {
					w := snapshot(applying, ownPod, cancel, later(since), steps)
					w.Pod = Pod{State: state}
					if never && state == PodPending {
						broken(&w)
					}
					s, d := Settle(w)
					over, gone := runinfo.Current(&s).FinishedAt != nil, state == PodEnded || state == PodGone
					if state == PodGone { // its runner may be left for a while
						w.Run.Status, w.Now = s, w.Now.Add(stateGracePeriod)
						s, d = Settle(w)
					}
					if over != gone || (s.Phase == v1alpha1.PhaseCanceled) != gone || d.NeedsPod() {
						t.Errorf("pod %q, broken %v, after %s: the attempt is over: %v, the Run %s", state, never,
							since, over, s.Phase)
					}
				}
			}
		}
	}
}

// A Run that ends closes its remaining steps and sets the condition that kubectl wait reads.
func TestCanceledRunClosesItsSteps(t *testing.T) {
	w := snapshot(planning, pod(PodPending), cancel, func(w *Snapshot) {
		w.Run.Status.Attempts[0].Steps = []v1alpha1.Step{{Name: "fetch", State: v1alpha1.StepSucceeded},
			{Name: "init", State: v1alpha1.StepRunning}, {Name: "plan", State: v1alpha1.StepWaiting}}
	})
	s, _ := Settle(w)
	var steps []string
	for _, st := range s.Attempts[0].Steps {
		steps = append(steps, string(st.State))
	}
	if diff := cmp.Diff([]string{"Succeeded", "Failed", "Skipped"}, steps); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if c := s.Conditions[0]; c.Status != metav1.ConditionFalse || s.FinishedAt == nil ||
		!strings.Contains(c.Message, "bob") {
		t.Errorf("%+v, finished at %v", c, s.FinishedAt)
	}
}
