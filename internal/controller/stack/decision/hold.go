package decision

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// A pull request holds a Stack from the command that applies it until it is merged or closed. Its status requests that,
// and the status of the Stack has the one request that counts:
//
//	/cairn apply ──► hold ──► merged: the base has the same code, no Run
//	                   └────► closed, unlocked, expired: endedHold, and plans wait for an approval ──► applied: forgotten

// HoldRequest is a pull request that holds the Stack, or held it, as the status of the pull request has it.
type HoldRequest struct {
	v1alpha1.StackHold
	// Released is why it does not hold the Stack any more; empty while it does.
	Released v1alpha1.HoldEnd
}

// NextHold returns the pull request that holds the Stack from now on, and the one that held it and was not merged. Of
// several the first one counts, until it ends. Applying reports that a Run has begun to apply and has not ended: its
// hold does not expire before that.
func NextHold(
	now time.Time, applying bool, known *v1alpha1.StackHold, ended *v1alpha1.EndedHold, requests []HoldRequest,
) (*v1alpha1.StackHold, *v1alpha1.EndedHold) {
	if known != nil {
		i := slices.IndexFunc(requests, func(r HoldRequest) bool { return r.UID == known.UID })
		switch {
		case i < 0:
			ended = &v1alpha1.EndedHold{Number: known.Number, Head: known.Head, Reason: v1alpha1.HoldDeleted}
		case requests[i].Released == "" && (applying || !requests[i].IsOver(now)):
			return &requests[i].StackHold, ended
		case requests[i].Released == "":
			ended = &v1alpha1.EndedHold{Number: known.Number, Head: known.Head, Reason: v1alpha1.HoldExpired}
		case requests[i].Released != v1alpha1.HoldMerged:
			ended = &v1alpha1.EndedHold{Number: known.Number, Head: known.Head, Reason: requests[i].Released}
		}
	}
	isOver := func(r HoldRequest) bool { return r.Released != "" || r.IsOver(now) }
	holds := slices.DeleteFunc(slices.Clone(requests), isOver)
	if len(holds) == 0 {
		return nil, ended
	}
	first := slices.MinFunc(holds, func(a, b HoldRequest) int {
		return cmp.Or(a.Since.Compare(b.Since.Time), strings.Compare(string(a.UID), string(b.UID)))
	})
	return &first.StackHold, ended
}

// IsApplying reports whether a Run has begun to apply, and has not ended.
func IsApplying(w Snapshot) bool {
	run := w.ActiveRun()
	return run != nil && (run.Status.Phase == v1alpha1.PhaseApplying || begun(run))
}

// holdEnds is how long the hold of the Stack may last; 0 without one, or while its end is an event.
func holdEnds(w Snapshot) time.Duration {
	if w.Hold == nil || w.Hold.IsOver(w.Now) {
		return 0
	}
	return until(w, w.Hold.Deadline)
}

// endedHold is the hold that ended without a merge, until what is declared without it is applied. What a Run in
// progress leaves is not known.
func endedHold(w Snapshot) *v1alpha1.EndedHold {
	if w.Problem == nil && w.Digest != "" && w.ActiveRun() == nil && appliedInputs(w) == w.Digest {
		return nil
	}
	return w.EndedHold
}

// upstreamIsHeld reports the first dependency to which another pull request is applied than to this Stack: what it has
// may never be in the base, and is not applied to others.
func upstreamIsHeld(w Snapshot) (Decision, bool) {
	var own types.UID
	if w.Hold != nil {
		own = w.Hold.UID
	}
	for _, one := range w.Dependencies {
		if by := one.Hold; by != nil && by.UID != own {
			return progressing(v1alpha1.ReasonUpstreamHeld,
				"waits for Stack %s, to which %s is applied before its merge",
				one.Name, by.Text())
		}
	}
	return Decision{}, false
}
