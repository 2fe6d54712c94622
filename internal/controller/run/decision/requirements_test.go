package decision

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// requires is a Run that would apply pull request 12 before its merge.
func requires(w *Snapshot) {
	w.Run.Spec.Requirements = &v1alpha1.RunRequirements{
		Types:       []v1alpha1.Requirement{v1alpha1.RequirementApproved, v1alpha1.RequirementMergeable},
		PullRequest: v1alpha1.CarriedFrom{Namespace: "web", Name: "infra-12", Number: 12},
	}
}

// evaluated has both requirements met. The options change that.
func evaluated(options ...func(*v1alpha1.EvaluatedRequirements)) func(*Snapshot) {
	return func(w *Snapshot) {
		e := &v1alpha1.EvaluatedRequirements{PlanDigest: "sha256:plan", At: metav1.Time{Time: now},
			Results: []v1alpha1.PullRequestRequirement{
				{Type: v1alpha1.RequirementApproved, State: v1alpha1.RequirementMet},
				{Type: v1alpha1.RequirementMergeable, State: v1alpha1.RequirementMet},
			}}
		for _, o := range options {
			o(e)
		}
		w.Run.Status.Requirements = e
	}
}

// A pull request is applied only while it has what is required, whatever starts the apply (atlantis #6535): a
// user who approves, spec.apply, a window that opens, or a new pod.
func TestRequirementsOfAnApply(t *testing.T) {
	type evaluation = v1alpha1.EvaluatedRequirements
	const waits = "waits until Cairn has read whether pull request 12 has what its Repository requires"
	applies := func(s Snapshot) settled {
		return settled{snapshot: s, begin: "Apply 2 in pod", phase: "Applying", reason: "Applying",
			requeue: time.Hour + overdue}
	}
	inNewPod := func(s Snapshot) settled {
		return settled{snapshot: s, begin: "Apply 2", phase: "Applying", reason: "Applying"}
	}
	stays := func(s Snapshot, message string) settled {
		return settled{snapshot: s, phase: "AwaitingApproval", reason: "AwaitingRequirements", message: message}
	}
	noReview := func(e *evaluation) {
		e.Results[0].State, e.Results[0].Message = v1alpha1.RequirementMissing, "no review approves it"
	}
	notRead := func(e *evaluation) { e.Results[0].State, e.Results[0].Message = v1alpha1.RequirementUnknown, "502" }
	settle(t, map[string]settled{
		"they are met":      applies(snapshot(planned, requires, evaluated())),
		"in a new pod":      inNewPod(snapshot(planned, requires, evaluated(), pod(PodGone))),
		"none is required":  applies(snapshot(planned)),
		"not evaluated yet": stays(snapshot(planned, requires), waits),
		"not in a new pod":  stays(snapshot(planned, requires, pod(PodGone)), waits),
		"a review is missing": stays(snapshot(planned, requires, evaluated(noReview)),
			"pull request 12 lacks what its Repository requires: Approved is missing: no review approves it"),
		"it cannot be read": stays(snapshot(planned, requires, evaluated(notRead)),
			"Approved is unknown: 502"),
		"a state of a newer version": stays(snapshot(planned, requires, evaluated(func(e *evaluation) {
			e.Results[1].State = "Other"
		})), "Mergeable is other"),
		"one has no result": stays(snapshot(planned, requires, evaluated(func(e *evaluation) {
			e.Results = e.Results[:1]
		})), "Mergeable is unknown"),
		"of another plan": stays(snapshot(planned, requires, evaluated(func(e *evaluation) {
			e.PlanDigest = "sha256:other"
		})), waits),
		"almost a minute old": inNewPod(snapshot(planned, requires, evaluated(), later(requirementsFor-time.Second))),
		"a minute old":        stays(snapshot(planned, requires, evaluated(), later(requirementsFor)), waits),
		"of a clock far ahead": stays(snapshot(planned, requires, evaluated(func(e *evaluation) {
			e.At.Time = now.Add(runinfo.MaxClockSkew + time.Second)
		})), waits),
		"a user approves": stays(snapshot(waiting, requires, approvedFor("sha256:plan")), waits),
		"a user approves, and all is met": applies(snapshot(waiting, requires, approvedFor("sha256:plan"),
			evaluated())),
		"all is met, and no user approves": {snapshot: snapshot(waiting, requires, evaluated()),
			phase: "AwaitingApproval", reason: "AwaitingApproval"},
		"a window is closed": {snapshot: snapshot(planned, requires, closed("Apply")), phase: "AwaitingApproval",
			reason: "WindowClosed", requeue: time.Hour},
		"it is canceled": {snapshot: snapshot(planned, requires, func(w *Snapshot) {
			w.Run.Spec.Cancel = true
		}), phase: "Canceled", reason: "Canceled"},
		"a plan needs none": {snapshot: snapshot(planned, requires, planOnly), phase: "Succeeded", reason: "Planned"},
	})
}

// The base can have the code of a pull request that is closed: its Run must not wait for what it can never have.
func TestRunOfAnEndedHoldIsSuperseded(t *testing.T) {
	ended := func(number int64) func(*Snapshot) {
		return func(w *Snapshot) {
			w.Stack.Status.EndedHold = &v1alpha1.EndedHold{Number: number, Reason: v1alpha1.HoldClosed}
		}
	}
	held := func(number int64) func(*Snapshot) {
		return func(w *Snapshot) { w.Stack.Status.Hold = &v1alpha1.StackHold{Number: number} }
	}
	stays := func(s Snapshot) settled {
		return settled{snapshot: s, phase: "AwaitingApproval", reason: "AwaitingRequirements"}
	}
	ends := func(s Snapshot) settled {
		return settled{snapshot: s, phase: "Superseded", reason: "Superseded",
			message: "it is of pull request 12, which was closed without a merge"}
	}
	settle(t, map[string]settled{
		"it ended": ends(snapshot(planned, requires, ended(12))),
		"it ended, and an approval is not enough": ends(snapshot(waiting, requires, approvedFor("sha256:plan"),
			evaluated(), ended(12))),
		"another pull request has the same code":     ends(snapshot(planned, requires, ended(12), held(13))),
		"it holds the Stack":                         stays(snapshot(planned, requires, held(12))),
		"it is merged":                               stays(snapshot(planned, requires)),
		"it was closed before, and is applied again": stays(snapshot(planned, requires, ended(12), held(12))),
		"another one ended":                          stays(snapshot(planned, requires, ended(11))),
		"an older view of the Stack decides nothing": stays(snapshot(planned, requires, ended(12), func(w *Snapshot) {
			w.Stack.Status.LastRun = "net-6"
		})),
		"a Run of the base continues": {snapshot: snapshot(waiting, ended(12)), phase: "AwaitingApproval",
			reason: "AwaitingApproval"},
		"an apply in progress continues": {
			snapshot: snapshot(applying, requires, ended(12)), phase: "Applying", reason: "Applying",
			requeue: time.Hour + overdue,
		},
	})
}
