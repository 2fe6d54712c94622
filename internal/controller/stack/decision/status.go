package decision

import (
	"fmt"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// longestMessage is how long the message of a condition may be.
const longestMessage = 32 << 10

// Status is the Stack's status after a decision.
func Status(w Snapshot, d Decision) v1alpha1.StackStatus {
	s := *w.Stack.Status.DeepCopy()
	s.ObservedGeneration = w.Stack.Generation
	if w.ActiveRun() == nil { // its end is recorded once
		s.Resources = resources(w)
	}
	if w.Problem == nil && w.Digest != "" {
		if s.InputsDigest != w.Digest || !isLater(w.Revision, s.Revision) {
			s.Revision = w.Revision
		}
		s.InputsDigest, s.Release = w.Digest, knownRelease(w)
		if w.Effective != nil {
			s.VariableSets, s.StackPolicies = w.Effective.Status.VariableSets, w.Effective.Status.StackPolicies
		}
	}
	// the name of a Run stays reserved while its request is pending
	if _, waits := PendingRequest(w); !waits || !isReservedNotCreated(w) {
		s.CurrentRun = ""
	}
	if last := w.LatestRun(); last != nil {
		if runinfo.Number(last.Name) > runinfo.Number(s.LastRun) {
			s.LastRun = last.Name
		}
		if !last.Status.Phase.Finished() {
			s.CurrentRun = last.Name
		}
	}
	s.Hold, s.EndedHold = w.Hold, endedHold(w)
	s.Image, s.AppliedImage, s.Source = builtImage(w), appliedImage(w), appliedOrigin(w)
	s.Unapplied = unapplied(w)
	s.AppliedInputsDigest, s.Outputs, s.Drift = appliedInputs(w), outputs(w), withStarts(w, driftStatus(w))
	if s.Drift != nil { // a copy
		s.Drift.CheckedBy = checkedBy(w)
	}
	if d.Start != nil {
		s.CurrentRun, s.LastRun = d.Name, d.Name
		s.ReservedRun = &v1alpha1.ReservedRun{
			Name: s.CurrentRun, Operation: d.Start.Operation, Cause: d.Start.Cause.Type, StateVersion: d.StateVersion,
		}
		s.PlannedState = plannedState(w, d)
	}
	s.Units = w.CodeUnits()
	s.DriftChecks = driftChecks(w, d)
	s.LastHandledRequest, s.DestroyedByRun, s.Retry = lastHandledRequest(w, d), destroyedBy(w), retry(w, d)
	s.History = nextHistory(w)
	setWhile := func(kind string, c *metav1.Condition) {
		if c != nil {
			apimeta.SetStatusCondition(&s.Conditions, *c)
		} else {
			apimeta.RemoveStatusCondition(&s.Conditions, kind)
		}
	}
	setWhile(v1alpha1.ConditionDrifted, driftCondition(w, s.Drift))
	setWhile(v1alpha1.ConditionContended, contendedCondition(w, s.Drift))
	setWhile(v1alpha1.ConditionUntrackedResources, untrackedCondition(w))
	setWhile(v1alpha1.ConditionEnvironmentIgnored, environmentCondition(w))
	if w.CodeRead { // otherwise what is known stays
		s.Engine = w.Engine
		setWhile(v1alpha1.ConditionWholeRepository, wholeRepositoryCondition(w))
	}
	set := func(kind string, value metav1.ConditionStatus) {
		apimeta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: d.Reason, Message: runinfo.Clip(d.Message, longestMessage),
			ObservedGeneration: w.Stack.Generation, LastTransitionTime: metav1.Time{Time: w.Now},
		})
	}
	if d.Reason != "" {
		set(v1alpha1.ConditionReady, d.Ready)
		if d.Stalled {
			set(v1alpha1.ConditionStalled, metav1.ConditionTrue)
		} else {
			apimeta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionStalled)
		}
	}
	return s
}

// appliedInputs is the digest of the inputs that the resources were created from; empty when an apply of others began
// and did not succeed, or was deleted before its end was known. The status has the results of all Runs whose end it
// records, and perhaps of newer ones that are gone.
func appliedInputs(w Snapshot) string {
	last := w.LatestRun()
	switch {
	case w.reservedApplyMissing():
		return ""
	case last == nil || w.ActiveRun() != nil || w.latestRunMissing() || w.isReadOnly(last) || w.isRecorded(last):
		return w.Stack.Status.AppliedInputsDigest
	case last.Status.Phase != v1alpha1.PhaseSucceeded:
		if begun(last) {
			return ""
		}
		return w.Stack.Status.AppliedInputsDigest
	case last.Spec.Operation == v1alpha1.OperationDestroy, appliedAPart(last):
		return ""
	case last.Spec.Operation == v1alpha1.OperationPlan && last.Status.Plan.Changes:
		return w.Stack.Status.AppliedInputsDigest
	}
	return last.Spec.InputsDigest
}

// builtImage is the newest image that was built for the Stack. It comes from the end of a Run, when the status is
// written anyway.
func builtImage(w Snapshot) *v1alpha1.BuiltImage {
	last := w.LatestRun()
	if last == nil || w.ActiveRun() != nil || last.Status.Image == nil || last.Status.Image.Digest == "" {
		return w.Stack.Status.Image
	}
	return last.Status.Image
}

// appliedImage is the image that what is there was applied with.
func appliedImage(w Snapshot) *v1alpha1.BuiltImage {
	last := w.LatestRun()
	switch {
	case last == nil || w.ActiveRun() != nil || w.latestRunMissing() || w.isRecorded(last) || w.isReadOnly(last) ||
		last.Status.Phase != v1alpha1.PhaseSucceeded,
		last.Spec.Operation == v1alpha1.OperationPlan && last.Status.Plan.Changes:
		return w.Stack.Status.AppliedImage
	case last.Spec.Operation == v1alpha1.OperationDestroy:
		return nil
	}
	return last.Status.Image
}

const (
	// mostOpen is how many of Snapshot.Open the condition names, and longestOpen how many bytes each may take.
	mostOpen    = 3
	longestOpen = 300
)

// wholeRepositoryCondition is WholeRepository; nil when nothing of the code is open, or it was not read.
func wholeRepositoryCondition(w Snapshot) *metav1.Condition {
	git := w.Stack.Spec.Source.Git
	if len(w.UnknownReads) == 0 || git == nil {
		return nil
	}
	var named []string
	for _, open := range w.UnknownReads[:min(len(w.UnknownReads), mostOpen)] {
		named = append(named, runinfo.Clip(open, longestOpen))
	}
	more := ""
	if n := len(w.UnknownReads) - mostOpen; n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	return &metav1.Condition{
		Type: v1alpha1.ConditionWholeRepository, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReadsUnknown,
		Message: fmt.Sprintf("the code names what is not known before the engine runs (%s%s), so every commit to "+
			"Repository %s plans this Stack; literal paths limit that to commits which change what it uses",
			strings.Join(named, "; "), more, git.Repository.Name),
		ObservedGeneration: w.Stack.Generation, LastTransitionTime: metav1.Time{Time: w.Now},
	}
}

// environmentCondition is EnvironmentIgnored; nil when the engine gets all variables of spec.env. The log of a Run
// names those of spec.envFrom and of the image.
func environmentCondition(w Snapshot) *metav1.Condition {
	if len(w.IgnoredEnv) == 0 {
		return nil
	}
	message := "remove from spec.env what the engine does not get: " + strings.Join(w.IgnoredEnv, "; ")
	return &metav1.Condition{
		Type: v1alpha1.ConditionEnvironmentIgnored, Status: metav1.ConditionTrue,
		Reason:             v1alpha1.ReasonVariablesWithheld,
		Message:            runinfo.Clip(message, longestMessage),
		ObservedGeneration: w.Stack.Generation, LastTransitionTime: metav1.Time{Time: w.Now},
	}
}

// untrackedCondition is UntrackedResources; nil when it is to go.
func untrackedCondition(w Snapshot) *metav1.Condition {
	r := lastRunWithOrphans(w)
	if r == nil {
		return nil
	}
	return &metav1.Condition{
		Type: v1alpha1.ConditionUntrackedResources, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonNotImported,
		Message:            runinfo.Orphans(r.Status.Plan) + "; the log of Run " + r.Name + " has its ID",
		ObservedGeneration: w.Stack.Generation, LastTransitionTime: metav1.Time{Time: w.Now},
	}
}

// lastRunWithOrphans is the newest Run whose plan left out a resource that a killed apply had created; nil when there
// is none. An apply that succeeded ends it: the user who approved it was warned.
func lastRunWithOrphans(w Snapshot) *v1alpha1.Run {
	last := w.newestRun(func(r *v1alpha1.Run) bool { return r.Status.Plan != nil })
	if last == nil || len(last.Status.Plan.Untracked) == 0 ||
		(last.Status.Phase == v1alpha1.PhaseSucceeded && begun(last)) {
		return nil
	}
	return last
}

// ReadyReason is the reason of the Ready condition; empty when there is none.
func ReadyReason(s v1alpha1.StackStatus) string { return ReadyOf(s).Reason }

// ReadyOf is the Ready condition; an empty one when there is none.
func ReadyOf(s v1alpha1.StackStatus) metav1.Condition {
	if c := apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{}
}
