package decision

import (
	"k8s.io/utils/ptr"

	"cairn.dev/cairn/internal/controller/run/runtest"

	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

var now = runtest.Now

// startPatience is how long a pod that cannot start is given here.
const startPatience = 20 * time.Second

func micro(t time.Time) *metav1.MicroTime { return runtest.Micro(t) }

// snapshot is that of a queued Run, of a Stack that applies without approval. The options change it.
func snapshot(options ...func(*Snapshot)) Snapshot {
	w := Snapshot{Now: now, Stack: runtest.Stack(), Run: runtest.Run()}
	for _, o := range options {
		o(&w)
	}
	return w
}

func manual(w *Snapshot)    { w.Stack.Spec.Apply = v1alpha1.ApplyManual }
func suspended(w *Snapshot) { w.Stack.Spec.Suspend = true }
func destroy(w *Snapshot)   { w.Run.Spec.Operation = v1alpha1.OperationDestroy }
func planOnly(w *Snapshot)  { w.Run.Spec.Operation = v1alpha1.OperationPlan }
func changed(w *Snapshot)   { w.Stack.Status.InputsDigest = "sha256:other" }
func deleting(w *Snapshot)  { w.Stack.DeletionTimestamp = &metav1.Time{Time: now} }
func stackGone(w *Snapshot) { w.Stack = nil }

// broken is a pod that no kubelet can ever start.
func broken(w *Snapshot) {
	w.Pod.Class, w.Pod.Patience = v1alpha1.FailureConfigurationError, startPatience
}

func later(d time.Duration) func(*Snapshot) {
	return func(w *Snapshot) { w.Now = w.Now.Add(d) }
}

func pod(state PodState) func(*Snapshot) {
	return func(w *Snapshot) { w.Pod = Pod{State: state, Message: "so it is"} }
}

func planning(w *Snapshot) {
	runtest.Planning(w.Run)
	w.Pod.State = PodRunning
}

func planned(w *Snapshot) {
	runtest.Planned(w.Run)
	w.Pod.State = PodRunning
}

func applying(w *Snapshot) {
	runtest.Applying(w.Run)
	w.Pod.State = PodRunning
}

// plansAgain is the plan of the next try.
func plansAgain(w *Snapshot) {
	w.Run.Status.Phase = v1alpha1.PhasePlanning
	w.Run.Status.Attempts = append(w.Run.Status.Attempts, v1alpha1.Attempt{
		Number: 3, Phase: v1alpha1.AttemptPlan, Pod: "net-7-plan-3", PodUID: "uid-3", StartedAt: *micro(now),
	})
}

func inBuild(w *Snapshot) { runinfo.Current(&w.Run.Status).Phase = v1alpha1.AttemptBuild }

func applyEnded(w *Snapshot) {
	applying(w)
	w.Run.Status.Attempts[1].FinishedAt = micro(now)
}

func noChanges(w *Snapshot) { w.Run.Status.Plan = &v1alpha1.Plan{Digest: "sha256:plan"} }

func waiting(w *Snapshot) {
	manual(w)
	planned(w)
	w.Run.Status.Phase = v1alpha1.PhaseAwaitingApproval
}

func approvedFor(digest string) func(*Snapshot) {
	return func(w *Snapshot) { w.Run.Spec.Approval = &v1alpha1.Approval{PlanDigest: digest, By: "alice"} }
}

func failed(class v1alpha1.FailureClass) func(*Snapshot) {
	return func(w *Snapshot) { runtest.Failed(class)(w.Run) }
}

func leftOut(w *Snapshot) {
	w.Run.Status.Plan.Untracked = []v1alpha1.UntrackedResource{{Address: "aws_vpc.a", Reason: "it has no importer"},
		{Address: "aws_vpc.b", Reason: "why"}}
}

func drift(w *Snapshot) {
	planOnly(w)
	w.Run.Spec.Cause.Type = v1alpha1.CauseDrift
}

// closed is a window that keeps an operation from beginning, all the time.
func closed(operation v1alpha1.Operation) func(*Snapshot) {
	return func(w *Snapshot) {
		w.Stack.Spec.Windows = []v1alpha1.Window{{Kind: v1alpha1.WindowDeny, Schedule: "0 12 * * *",
			Duration: metav1.Duration{Duration: time.Hour}, Operations: []v1alpha1.Operation{operation}}}
	}
}

// freeze is closed for applies, by a StackPolicy for the Stacks with labels.
func freeze(labels map[string]string) func(*Snapshot) {
	return func(w *Snapshot) {
		closed(v1alpha1.OperationApply)(w)
		w.StackPolicies = []v1alpha1.StackPolicy{{ObjectMeta: metav1.ObjectMeta{Name: "freeze"},
			Spec: v1alpha1.StackPolicySpec{
				StackSelector: metav1.LabelSelector{MatchLabels: labels}, Windows: w.Stack.Spec.Windows,
			}}}
		w.Stack.Spec.Windows, w.Stack.Labels = nil, map[string]string{"env": "prod"}
	}
}

func retried(n int32) func(*Snapshot) { return func(w *Snapshot) { w.Run.Status.Retries = n } }

func nextTry(at time.Time) func(*Snapshot) {
	return func(w *Snapshot) { w.Run.Status.NextAttempt = &metav1.Time{Time: at} }
}

// settled is what is expected of a snapshot.
type settled struct {
	snapshot Snapshot
	phase    v1alpha1.RunPhase
	// begin is the attempt that is started, with "in pod" when it is given to the pod that lives.
	begin   string
	reason  string
	message string
	requeue time.Duration
	delete  bool
}

func TestSettle(t *testing.T) {
	settle(t, map[string]settled{
		"a queued Run starts a pod for its plan": {
			snapshot: snapshot(), phase: "Planning", begin: "Plan 1", reason: "Planning",
		},
		"a queued Run waits for an older one": {
			snapshot: snapshot(func(w *Snapshot) { w.Older = "net-6" }), phase: "Queued", reason: "Queued",
			message: "net-6",
		},
		"a suspended Stack starts no pod": {
			snapshot: snapshot(suspended), phase: "Queued", reason: "Suspended",
		},
		"a destroy whose credentials are missing says which": {
			snapshot: snapshot(destroy, func(w *Snapshot) { w.Missing = "Secret aws is missing" }), phase: "Queued",
			reason: "InputsNotFound", message: "Secret aws",
		},
		"a queued Run of old inputs is superseded": {
			snapshot: snapshot(changed), phase: "Superseded", reason: "Superseded",
		},
		"a queued Run is not judged by a Stack as it was before": {
			snapshot: snapshot(changed, func(w *Snapshot) { w.Stack.Status.LastRun = "net-6" }), phase: "Planning",
			begin: "Plan 1", reason: "Planning",
		},
		"a queued Run of a deleted Stack is superseded": {
			snapshot: snapshot(deleting), phase: "Superseded", reason: "Superseded",
		},
		"a destroy of a deleted Stack starts, whatever the inputs are now": {
			snapshot: snapshot(deleting, destroy, changed), phase: "Planning", begin: "Plan 1", reason: "Planning",
		},
		"a queued Run whose Stack is gone is superseded": {
			snapshot: snapshot(stackGone), phase: "Superseded", reason: "Superseded",
		},
		"a plan under way goes on although the inputs changed": {
			snapshot: snapshot(planning, changed), phase: "Planning", reason: "Planning", requeue: time.Hour + overdue,
		},
		"a plan whose pod is not known goes on": {
			snapshot: snapshot(planning, pod(PodUnknown)), phase: "Planning", reason: "Planning",
			requeue: time.Hour + overdue,
		},
		"a pending pod says why": {
			snapshot: snapshot(planning, pod(PodPending)), phase: "Planning", reason: "PodPending", message: "so it is",
			requeue: time.Hour + overdue,
		},
		"a pod that cannot start may do so in a moment": {
			snapshot: snapshot(planning, pod(PodPending), broken), phase: "Planning", reason: "PodPending",
			requeue: startPatience,
		},
		"what a journal could not take in keeps a plan from being applied by itself": {
			snapshot: snapshot(planned, leftOut), phase: "AwaitingApproval", reason: "AwaitingApproval",
			message: "3 to add; an apply that was killed created aws_vpc.a and 1 more, which could not be taken into " +
				"the state (it has no importer), and this plan may create it a second time: import or delete it " +
				"first, or approve with cairn approve net",
		},
		"a plan with resources left out of the journal can be approved": {
			snapshot: snapshot(planned, leftOut, approvedFor("sha256:plan")), phase: "Applying",
			begin: "Apply 2 in pod", reason: "Applying", requeue: time.Hour + overdue,
		},
		"a pod that never started is superseded by newer inputs": {
			snapshot: snapshot(planning, pod(PodPending), changed), phase: "Superseded", reason: "Superseded",
			delete: true,
		},
		"a plan at work ends when its Stack is deleted, and the destroy does not wait for it": {
			snapshot: snapshot(planning, deleting), phase: "Superseded", reason: "Superseded",
			message: "the Stack is being deleted", delete: true,
		},
		"a plan whose pod is not known ends when its Stack is deleted": {
			snapshot: snapshot(planning, deleting, pod(PodUnknown)), phase: "Superseded", reason: "Superseded",
			delete: true,
		},
		"a plan whose pod is terminating ends when its Stack is deleted": {
			snapshot: snapshot(planning, deleting, pod(PodTerminating)), phase: "Superseded", reason: "Superseded",
			delete: true,
		},
		"a plan of a suspended Stack ends when its Stack is deleted": {
			snapshot: snapshot(planning, deleting, suspended), phase: "Superseded", reason: "Superseded", delete: true,
		},
		"an image that is built is not needed then either": {
			snapshot: snapshot(planning, deleting, inBuild), phase: "Superseded", reason: "Superseded", delete: true,
		},
		"an apply at work goes on when its Stack is deleted": {
			snapshot: snapshot(applying, deleting), phase: "Applying", reason: "Applying", requeue: time.Hour + overdue,
		},
		"an apply whose pod is pending continues when its Stack is deleted": {
			snapshot: snapshot(applying, ownPod, deleting, pod(PodPending)), phase: "Applying", reason: "PodPending",
			requeue: time.Hour + overdue,
		},
		"the plan of a destroy goes on, since it is what the deletion asks for": {
			snapshot: snapshot(planning, destroy, deleting), phase: "Planning", reason: "Planning",
			requeue: time.Hour + overdue,
		},
		"the plan of a destroy ends when spec.deletionPolicy is Protect by then": {
			snapshot: snapshot(planning, destroy, deleting, func(w *Snapshot) {
				w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionProtect
			}),
			phase: "Superseded", reason: "Superseded", message: "spec.deletionPolicy is Protect", delete: true,
		},
		"a plan after an apply that failed ends too, and the Run says that it failed": {
			snapshot: snapshot(applying, failed(v1alpha1.FailureTransient), plansAgain, deleting), phase: "Failed",
			reason:  "Transient",
			message: "not tried again since the Stack is being deleted", delete: true,
		},
		"a drift check is superseded by a change in the middle: it only plans": {
			snapshot: snapshot(planning, drift, changed), phase: "Superseded", reason: "Superseded", delete: true,
		},
		"a drift check whose pod is not known does not": {
			snapshot: snapshot(planning, drift, changed, pod(PodUnknown)), phase: "Planning", reason: "Planning",
			requeue: time.Hour + overdue,
		},
		"a plan does not begin while a window keeps it": {
			snapshot: snapshot(closed("Plan")), phase: "Queued", reason: "WindowClosed",
			message: "spec.windows[0] denies Plan until", requeue: time.Hour,
		},
		"a plan begins while a window keeps applies": {
			snapshot: snapshot(closed("Apply")), phase: "Planning", begin: "Plan 1", reason: "Planning",
		},
		"an apply waits for the window, in an idle pod too": {
			snapshot: snapshot(planned, closed("Apply")), phase: "AwaitingApproval", reason: "WindowClosed",
			message: "spec.windows[0] denies Apply until", requeue: time.Hour,
		},
		"an apply waits for the window without a pod": {
			snapshot: snapshot(planned, pod(PodGone), closed("Apply")), phase: "AwaitingApproval",
			reason: "WindowClosed", requeue: time.Hour,
		},
		"a window for applies keeps no destroy": {
			snapshot: snapshot(destroy, planned, pod(PodGone), closed("Apply")), phase: "Applying", begin: "Apply 2",
			reason: "Applying",
		},
		"one for destroys does": {
			snapshot: snapshot(destroy, planned, closed("Destroy")), phase: "AwaitingApproval", reason: "WindowClosed",
			requeue: time.Hour,
		},
		"a window does not end what has begun": {
			snapshot: snapshot(applying, closed("Apply")), phase: "Applying", reason: "Applying",
			requeue: time.Hour + overdue,
		},
		"an approval comes before the window": {
			snapshot: snapshot(waiting, closed("Apply")), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"a window that cannot be read lets nothing begin": {
			snapshot: snapshot(func(w *Snapshot) {
				w.Stack.Spec.Windows = []v1alpha1.Window{{Kind: v1alpha1.WindowDeny, Schedule: "now and then"}}
			}), phase: "Queued", reason: "WindowInvalid", message: "spec.windows[0]",
		},
		"a window of a StackPolicy keeps an apply": {
			snapshot: snapshot(planned, pod(PodGone), freeze(map[string]string{"env": "prod"})),
			phase:    "AwaitingApproval", reason: "WindowClosed", message: "StackPolicy freeze", requeue: time.Hour,
		},
		"one for other Stacks does not": {
			snapshot: snapshot(planned, pod(PodGone), freeze(map[string]string{"env": "dev"})), phase: "Applying",
			begin: "Apply 2", reason: "Applying",
		},
		"a pod that is leaving is given no work": {
			snapshot: snapshot(waiting, pod(PodTerminating), approvedFor("sha256:plan")), phase: "Applying",
			begin: "Apply 2", reason: "Applying",
		},
		"a pod that can never start ends the Run": {
			snapshot: snapshot(planning, pod(PodPending), later(startPatience), broken), phase: "Failed",
			reason: "ConfigurationError", message: "cannot start", delete: true,
		},
		"a plan whose pod is gone is tried again later": {
			snapshot: snapshot(planning, pod(PodGone)), phase: "Planning", reason: "Retrying",
			requeue: 15 * time.Second,
		},
		"an apply whose pod ended without a report is tried again later": {
			snapshot: snapshot(applying, pod(PodEnded)), phase: "Applying", reason: "Retrying",
			requeue: 15 * time.Second,
		},
		"an apply whose state is nowhere but in its pod's log is not tried again": {
			snapshot: snapshot(applying, pod(PodEnded), func(w *Snapshot) { w.Pod.Stranded = true }), phase: "Failed",
			reason: "StateNotSaved", message: "in the log of pod net-7-plan-1",
		},
		"an apply that reports a stranded state is not tried again": {
			snapshot: snapshot(applying, failed(v1alpha1.FailureStateNotSaved)), phase: "Failed",
			reason: "StateNotSaved",
		},
		"a pod long past its timeout is deleted": {
			snapshot: snapshot(planning, later(2*time.Hour)), phase: "Planning", reason: "TimeoutExceeded",
			requeue: time.Minute, delete: true,
		},
		"a plan without changes is the end": {
			snapshot: snapshot(planned, noChanges), phase: "Succeeded", reason: "NoChanges",
		},
		"a plan that is only to be shown is the end": {
			snapshot: snapshot(planned, planOnly), phase: "Succeeded", reason: "Planned", message: "3 to add",
		},
		"an automatic apply follows in the pod of the plan": {
			snapshot: snapshot(planned), phase: "Applying", begin: "Apply 2 in pod", reason: "Applying",
			requeue: time.Hour + overdue,
		},
		"an automatic apply needs a new pod when that of the plan is gone": {
			snapshot: snapshot(planned, pod(PodGone)), phase: "Applying", begin: "Apply 2", reason: "Applying",
		},
		"a plan of old inputs is not applied": {
			snapshot: snapshot(planned, changed), phase: "Superseded", reason: "Superseded",
		},
		"a manual apply waits for an approval": {
			snapshot: snapshot(planned, manual), phase: "AwaitingApproval", reason: "AwaitingApproval",
			message: "approve with cairn approve net --digest plan",
		},
		"a destroy of a manual Stack waits for one too": {
			snapshot: snapshot(planned, manual, destroy, deleting), phase: "AwaitingApproval",
			reason: "AwaitingApproval",
		},
		"an approved plan is applied in the pod that waits": {
			snapshot: snapshot(waiting, approvedFor("sha256:plan"), later(10*time.Second)), phase: "Applying",
			begin: "Apply 2 in pod", reason: "Applying", requeue: time.Hour + overdue - 10*time.Second + 10*time.Second,
		},
		"an approved plan is applied in a new pod when the old one is about to leave": {
			snapshot: snapshot(waiting, approvedFor("sha256:plan"), later(29*time.Second)), phase: "Applying",
			begin: "Apply 2", reason: "Applying",
		},
		"an approval of another plan lets nothing happen, and the Run says so": {
			snapshot: snapshot(waiting, approvedFor("sha256:other")), phase: "AwaitingApproval",
			reason: "AwaitingApproval", message: "by alice was for another plan",
		},
		"an approval is worth nothing once the inputs changed": {
			snapshot: snapshot(waiting, approvedFor("sha256:plan"), changed), phase: "Superseded", reason: "Superseded",
		},
		"nothing is applied where apply became Never": {
			snapshot: snapshot(waiting, approvedFor("sha256:plan"), func(w *Snapshot) {
				w.Stack.Spec.Apply = v1alpha1.ApplyNever
			}), phase: "AwaitingApproval", reason: "AwaitingApproval", message: "Never",
		},
		"an approved apply does not start while suspended": {
			snapshot: snapshot(waiting, approvedFor("sha256:plan"), suspended), phase: "AwaitingApproval",
			reason: "Suspended",
		},
		"an apply under way goes on, whatever changed": {
			snapshot: snapshot(applying, changed, suspended), phase: "Applying", reason: "Applying",
			requeue: time.Hour + overdue,
		},
		"an apply that is done is the end, although the inputs changed meanwhile": {
			snapshot: snapshot(applyEnded, changed), phase: "Succeeded", reason: "Applied", message: "3 added",
		},
		"an apply that is done is the end, although the Stack is gone": {
			snapshot: snapshot(applyEnded, stackGone), phase: "Succeeded", reason: "Applied",
		},
		"a mistake in the code is not tried again": {
			snapshot: snapshot(planning, failed(v1alpha1.FailureConfigurationError)), phase: "Failed",
			reason: "ConfigurationError", message: "plan: boom",
		},
		"a plan that a policy denies is not made again": {
			snapshot: snapshot(planned, failed(v1alpha1.FailurePolicyDenied)), phase: "Failed", reason: "PolicyDenied",
			message: "boom",
		},
		"what policies warn of is counted": {
			snapshot: snapshot(waiting, func(w *Snapshot) {
				w.Run.Status.Plan.Policy = &v1alpha1.PolicyResult{Warned: 2}
			}), phase: "AwaitingApproval", reason: "AwaitingApproval", message: "3 to add; 2 warnings; approve with " +
				"cairn approve net",
		},
		"a script is reported to the reviewer": {
			snapshot: snapshot(waiting, func(w *Snapshot) { w.Run.Status.Plan.Script = true }),
			phase:    "AwaitingApproval", reason: "AwaitingApproval",
			message: "3 to add; a script runs in place of the engine (spec.commands.apply); approve with cairn " +
				"approve net",
		},
		"a script is reported to the reviewer of a destroy": {
			snapshot: snapshot(destroy, waiting, func(w *Snapshot) {
				w.Run.Status.Plan.Script = true
			}), phase: "AwaitingApproval", reason: "AwaitingApproval",
			message: "; a script runs in place of the engine (spec.commands.destroy); approve with",
		},
		"a passing failure is tried again later": {
			snapshot: snapshot(planning, failed(v1alpha1.FailureTransient)), phase: "Planning", reason: "Retrying",
			message: "retry 1 of 2 at 12:00:15Z", requeue: 15 * time.Second,
		},
		"a suspended Stack has no next try": {
			snapshot: snapshot(suspended, planning, failed(v1alpha1.FailureTransient)), phase: "Planning",
			reason: "Suspended",
		},
		"a suspended Stack has no retry after a clock that was ahead": {
			snapshot: snapshot(suspended, planning, failed(v1alpha1.FailureTransient), later(-time.Minute),
				nextTry(now)),
			phase: "Planning", reason: "Suspended",
		},
		"a Stack that is resumed waits for the rest of the time": {
			snapshot: snapshot(planning, failed(v1alpha1.FailureTransient), later(5*time.Second),
				nextTry(now.Add(15*time.Second))),
			phase: "Planning", reason: "Retrying", message: "retry 1 of 2 at 12:00:15Z", requeue: 10 * time.Second,
		},
		"a failure that is final ends the Run of a suspended Stack": {
			snapshot: snapshot(suspended, planning, failed(v1alpha1.FailureConfigurationError)), phase: "Failed",
			reason: "ConfigurationError",
		},
		"a failed apply is followed by a new plan, never by the old one": {
			snapshot: snapshot(applying, failed(v1alpha1.FailureTransient), later(15*time.Second), func(w *Snapshot) {
				w.Run.Status.NextAttempt = &metav1.Time{Time: now.Add(15 * time.Second)}
			}),
			phase: "Planning", begin: "Plan 3", reason: "Planning",
		},
		"a retry is not delayed by a year after a clock that was a year ahead": {
			snapshot: snapshot(planning, failed(v1alpha1.FailureTransient), func(w *Snapshot) {
				w.Run.Status.NextAttempt = &metav1.Time{Time: now.Add(365 * 24 * time.Hour)}
			}),
			phase: "Planning", begin: "Plan 2", reason: "Planning",
		},
		"a lost runner is not waited for by a clock that was a year ahead": {
			snapshot: snapshot(applying, failed(v1alpha1.FailurePodLost), later(-365*24*time.Hour), func(w *Snapshot) {
				runinfo.Current(&w.Run.Status).Failure.Reason = v1alpha1.FailurePodVanished
			}),
			phase: "Planning", begin: "Plan 3", reason: "Planning",
		},
		"the wait doubles": {
			snapshot: snapshot(planning, failed(v1alpha1.FailureTransient), retried(1)), phase: "Planning",
			reason: "Retrying", requeue: 30 * time.Second,
		},
		"the wait has an end": {
			snapshot: snapshot(planning, failed(v1alpha1.FailureTransient), retried(5), func(w *Snapshot) {
				w.Stack.Spec.Retry.Limit = ptr.To(int32(9))
			}), phase: "Planning", reason: "Retrying", requeue: time.Minute,
		},
		"a limit of tries is kept": {
			snapshot: snapshot(planning, failed(v1alpha1.FailureTransient), retried(2)), phase: "Failed",
			reason: "Transient", message: "tried 3 times",
		},
		"a limit of zero never tries again": {
			snapshot: snapshot(planning, failed(v1alpha1.FailureTransient), func(w *Snapshot) {
				w.Stack.Spec.Retry.Limit = ptr.To(int32(0))
			}), phase: "Failed", reason: "Transient",
		},
		"a failed plan of old inputs is superseded": {
			snapshot: snapshot(planning, failed(v1alpha1.FailureTransient), changed), phase: "Superseded",
			reason: "Superseded",
		},
		"a failed apply of old inputs is not said to have done nothing": {
			snapshot: snapshot(applying, failed(v1alpha1.FailureTransient), changed), phase: "Failed",
			reason: "Transient", message: "the inputs changed",
		},
		"a Run that applied before its last plan failed is not reported as unchanged": {
			snapshot: snapshot(applying, failed(v1alpha1.FailureTransient), func(w *Snapshot) {
				w.Run.Status.Attempts = append(w.Run.Status.Attempts,
					v1alpha1.Attempt{Number: 3, Phase: v1alpha1.AttemptPlan, PodUID: "uid-3"})
			}, failed(v1alpha1.FailureTransient), changed), phase: "Failed", reason: "Transient",
		},
		"a finished Run stays as it is": {
			snapshot: snapshot(changed, func(w *Snapshot) {
				w.Run.Status.Phase = v1alpha1.PhaseSucceeded
			}), phase: "Succeeded",
		},
	})
}

// settle compares what comes of snapshots with what is expected.
func settle(t *testing.T, tests map[string]settled) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := tt.snapshot.Run.DeepCopy()
			attempts := len(before.Status.Attempts)
			s, d := Settle(tt.snapshot)
			begin := ""
			if d.NeedsPod() {
				s = Begin(s, d, 1, "new", "uid-new", tt.snapshot.Now)
			}
			if len(s.Attempts) > attempts {
				a := runinfo.Current(&s)
				begin = string(a.Phase) + " " + string(rune('0'+a.Number))
				if a.PodUID == "uid-1" {
					begin += " in pod"
				}
			}
			type outcome struct {
				Phase         v1alpha1.RunPhase
				Begin, Reason string
				Requeue       time.Duration
				Delete        bool
			}
			got := outcome{s.Phase, begin, d.Reason, d.RequeueAfter, d.DeletePod}
			want := outcome{tt.phase, tt.begin, tt.reason, tt.requeue, tt.delete}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !strings.Contains(d.Message, tt.message) {
				t.Errorf("message %q does not contain %q", d.Message, tt.message)
			}
			if diff := cmp.Diff(before, tt.snapshot.Run); diff != "" {
				t.Errorf("the snapshot was changed:\n%s", diff)
			}
			if s.Phase.Finished() && s.FinishedAt == nil && before.Status.Phase != s.Phase {
				t.Error("a finished Run has no time of its end")
			}
		})
	}
}

// An apply of a Stack that is being deleted stays the current attempt, and its pod stays, until that pod is known to be
// gone or to have ended.
func TestDeletedStackDoesNotEndAnApply(t *testing.T) {
	for _, state := range []PodState{PodUnknown, PodPending, PodRunning, PodTerminating, PodEnded, PodGone} {
		for _, more := range [][]func(*Snapshot){nil, {ownPod}, {ownPod, reported}, {reported}, {destroy}} {
			w := snapshot(append([]func(*Snapshot){applying, deleting}, more...)...)
			w.Pod = Pod{State: state}
			s, d := Settle(w)
			over, gone := runinfo.Current(&s).FinishedAt != nil, state == PodEnded || state == PodGone
			if over != gone || (d.DeletePod && !gone) {
				t.Errorf("pod %q: the apply is over: %v, and its pod is deleted: %v", state, over, d.DeletePod)
			}
		}
	}
}
