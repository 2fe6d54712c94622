package decision

import (
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// MaxMessage is how long the message of a condition may be.
const MaxMessage = 4096

// maxAttempts is how many attempts a Run's status keeps.
const maxAttempts = 20

// withImage is the status with the image of the pod that planned, if another pod may apply that plan.
func withImage(w Snapshot) v1alpha1.RunStatus {
	if LacksImage(&w.Run.Status) {
		w.Run.Status.Plan.Image = w.Pod.Image
	}
	return w.Run.Status
}

// LacksImage reports whether the status has a plan that a new pod may have to apply, and not the image that it was
// created in: the current attempt is a plan that succeeded, and nothing follows from it yet.
func LacksImage(s *v1alpha1.RunStatus) bool {
	a, plan := runinfo.Current(s), s.Plan
	return a != nil && a.Phase == v1alpha1.AttemptPlan && a.FinishedAt != nil && a.Failure == nil &&
		plan != nil && plan.Changes && plan.Image == "" && !s.Phase.Finished()
}

// Begin is the status once the pod that the decision asked for is there.
func Begin(s v1alpha1.RunStatus, d Decision, generation int64, pod string, uid types.UID,
	now time.Time) v1alpha1.RunStatus {
	return enact(s, d, generation, attemptPod{pod, uid}, now)
}

// Record is the status with a decision that begins no attempt.
func Record(s v1alpha1.RunStatus, d Decision, generation int64, now time.Time) v1alpha1.RunStatus {
	return enact(s, d, generation, attemptPod{}, now)
}

// attemptPod is the pod that an attempt is given to.
type attemptPod struct {
	name string
	uid  types.UID
}

// enact puts a decision into the status.
func enact(s v1alpha1.RunStatus, d Decision, generation int64, pod attemptPod, now time.Time) v1alpha1.RunStatus {
	if a := runinfo.Current(&s); d.End != nil && a != nil {
		a.Failure = d.End
		a.FinishedAt = &metav1.MicroTime{Time: now}
		CloseSteps(a, now)
	}
	if a := runinfo.Current(&s); d.Explain != nil && a != nil {
		a.Failure = d.Explain
	}
	if !d.RetryAt.IsZero() {
		s.NextAttempt = &metav1.Time{Time: d.RetryAt}
	}
	if d.Begin != "" {
		if d.Image != nil {
			s.Image = d.Image.DeepCopy()
		}
		if s.NextAttempt != nil {
			s.NextAttempt = nil
			s.Retries++
		}
		s.Attempts = append(s.Attempts, v1alpha1.Attempt{
			Number: runinfo.NextNumber(&s), Phase: d.Begin, Pod: pod.name, PodUID: pod.uid,
			StartedAt: metav1.MicroTime{Time: now},
		})
		s.Attempts = trim(s.Attempts)
	}
	if d.Phase != "" {
		s.Phase = d.Phase
	}
	if s.Phase != v1alpha1.PhaseAwaitingApproval {
		s.Approval = nil
	}
	if s.Phase.Finished() && s.FinishedAt == nil {
		s.NextAttempt = nil
		s.FinishedAt = &metav1.Time{Time: now}
	}
	if d.Reason != "" {
		s.WindowOpensAt = nil
		if !d.OpensAt.IsZero() {
			s.WindowOpensAt = &metav1.Time{Time: d.OpensAt}
		}
		describe(&s, d, generation, now)
	}
	return s
}

// describe puts the reason of a decision into the conditions: Succeeded for users, Reconciling and Stalled for tools
// that compute a status by the rules of kstatus (docs/contributing/decisions/0043-status-for-gitops-tools.md).
func describe(s *v1alpha1.RunStatus, d Decision, generation int64, now time.Time) {
	if apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionSucceeded) == nil {
		s.Conditions = nil // the default of the CRD, whose time is no transition
	}
	condition := metav1.Condition{
		Reason: d.Reason, Message: runinfo.Clip(d.Message, MaxMessage), ObservedGeneration: generation,
		LastTransitionTime: metav1.Time{Time: now},
	}
	set := func(kind string, status metav1.ConditionStatus) {
		condition.Type, condition.Status = kind, status
		apimeta.SetStatusCondition(&s.Conditions, condition)
	}
	set(v1alpha1.ConditionSucceeded, succeeded(s.Phase))
	setWhile := func(kind string, holds bool) {
		if holds {
			set(kind, metav1.ConditionTrue)
		} else {
			apimeta.RemoveStatusCondition(&s.Conditions, kind)
		}
	}
	setWhile(v1alpha1.ConditionReconciling, !s.Phase.Finished())
	setWhile(v1alpha1.ConditionStalled, s.Phase == v1alpha1.PhaseFailed || s.Phase == v1alpha1.PhaseCanceled)
}

// trim drops the oldest attempts past those that are kept, but not the newest that may have changed resources: that the
// Run began to apply is known from it alone.
func trim(attempts []v1alpha1.Attempt) []v1alpha1.Attempt {
	n := len(attempts) - maxAttempts
	if n <= 0 {
		return attempts
	}
	rest := attempts[n:]
	for _, a := range slices.Backward(attempts[:n]) {
		if runinfo.Changes(a) && !slices.ContainsFunc(rest, runinfo.Changes) {
			return slices.Concat([]v1alpha1.Attempt{a}, rest[1:])
		}
	}
	return rest
}

// CloseSteps ends the steps that no runner will report on any more.
func CloseSteps(a *v1alpha1.Attempt, now time.Time) {
	for i := range a.Steps {
		switch st := &a.Steps[i]; st.State {
		case v1alpha1.StepRunning:
			st.State = v1alpha1.StepFailed
			st.FinishedAt = &metav1.MicroTime{Time: now}
		case v1alpha1.StepWaiting:
			st.State = v1alpha1.StepSkipped
		}
	}
}

func succeeded(p v1alpha1.RunPhase) metav1.ConditionStatus {
	switch p {
	case v1alpha1.PhaseSucceeded:
		return metav1.ConditionTrue
	case v1alpha1.PhaseFailed, v1alpha1.PhaseCanceled, v1alpha1.PhaseSuperseded:
		return metav1.ConditionFalse
	default:
		return metav1.ConditionUnknown
	}
}
