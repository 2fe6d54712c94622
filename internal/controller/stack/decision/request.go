package decision

import (
	"fmt"
	"slices"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// The rules for the requests of users in annotations: a Run now, a plan, or a destroy of everything while the Stack
// stays.
//
//	annotation ──► pending ──► accepted: recorded in the write of the status that names the Run ──► the Run is created
//	                  │                                                         │
//	                  │                                                         └──► another rule prevents it: the name stays, and it waits
//	                  └──► rejected: recorded in the status too, and an event has the reason

// PendingRequest is the request to create a Run for: one that was not handled yet, or one that was and whose Run is
// reserved but not created.
func PendingRequest(w Snapshot) (runinfo.Request, bool) {
	q, ok := runinfo.Requested(w.Stack, w.Now)
	if !ok && isReservedNotCreated(w) {
		q, ok = runinfo.LastRequested(w.Stack), true
	}
	return q, ok && rejection(w, q) == ""
}

// isReservedNotCreated reports whether the status reserves a Run for a request and the Run was not created: the
// operator stopped in between, or the API server or the bucket rejected it. Until it is created, the request is
// pending.
func isReservedNotCreated(w Snapshot) bool {
	s, at := w.Stack.Status, w.Stack.Annotations[v1alpha1.RequestedAtAnnotation]
	n := s.ReservedRun
	if w.ActiveRun() != nil || !runinfo.Settled(s.LastHandledRequest, at) || s.LastHandledRequest.Rejected ||
		n == nil ||
		n.Name != s.CurrentRun || runinfo.Number(n.Name) <= highestCreatedNumber(w) ||
		n.Cause != v1alpha1.CauseManual || n.StateVersion != 0 {
		return false
	}
	switch q := runinfo.LastRequested(w.Stack).Operation; {
	case w.Stack.DeletionTimestamp != nil:
		return n.Operation == v1alpha1.OperationDestroy
	case q == v1alpha1.OperationApply: // it may only have been planned, by spec.apply
		return n.Operation == v1alpha1.OperationApply || n.Operation == v1alpha1.OperationPlan
	default:
		return n.Operation == q
	}
}

// rejection is why a request cannot create a Run; empty when it can.
func rejection(w Snapshot, q runinfo.Request) string {
	if q.Rejected == "" && q.Operation == v1alpha1.OperationShell && !w.AllowShell {
		return "this install allows no shells (cairn-controller operator --allow-shell)"
	}
	if q.Rejected == "" && q.Operation == v1alpha1.OperationDestroy && w.Stack.DeletionTimestamp == nil &&
		(w.ActiveRun() == nil || !begun(w.ActiveRun())) && (w.State == nil || w.State.Status.InputsDigest == "") {
		return "no apply of Cairn has created anything that could be destroyed"
	}
	if q.Rejected == "" && q.Options != nil {
		return optionsRejection(w, q.Options)
	}
	return q.Rejected
}

// optionsRejection is why the plan of the Stack cannot have the options of a request; empty when it can.
func optionsRejection(w Snapshot, o *v1alpha1.PlanOptions) string {
	switch name := w.Inputs.Engine.Name; {
	case w.Stack.DeletionTimestamp != nil:
		return "the Stack is being deleted, and a destroy has no options"
	case len(o.Excludes) > 0 && name == v1alpha1.EngineTerraform:
		return "Terraform has no -exclude: name what to plan with targets"
	}
	return ""
}

// RejectedRequest is a pending request that cannot create a Run, and why. It is not kept: it would be dangerous if it
// created a Run long after.
func RejectedRequest(w Snapshot) (q runinfo.Request, why string) {
	if q, ok := runinfo.Requested(w.Stack, w.Now); ok {
		return q, rejection(w, q)
	}
	return runinfo.Request{}, ""
}

// requestIsPending starts the Run that a user requested, whether or not anything changed, or reports what it waits for.
func requestIsPending(w Snapshot, stands Decision) (Decision, bool) {
	q, ok := PendingRequest(w)
	if !ok {
		return Decision{}, false
	}
	if d, ok := first(w, fences); ok {
		return d, true
	}
	if q.Operation == v1alpha1.OperationDestroy {
		if d, ok := requestedDestroy(w, q); ok {
			return d, true
		}
	}
	if d, ok := first(w, obstacles, []rule{dependencyGoesFirst}); ok {
		return d, true
	}
	return beside(w, requestedRun(w, q), stands), true
}

// requestedDestroy destroys everything while the Stack stays, with the inputs that were last applied.
func requestedDestroy(w Snapshot, q runinfo.Request) (Decision, bool) {
	if r := w.ActiveRun(); r != nil {
		return destroyIsNext(w, q, r)
	}
	if d, waits := dependentsGoFirst(w); waits {
		d.Message += "; the destroy that was " + q.Who() + " waits for that"
		d.RequeueAfter = time.Minute
		return d, true
	}
	return startRequested(w, q, v1alpha1.RunSpec{Operation: v1alpha1.OperationDestroy,
		InputsDigest: w.State.Status.InputsDigest})
}

// destroyIsNext reports a requested destroy while a Run is under way.
func destroyIsNext(w Snapshot, q runinfo.Request, r *v1alpha1.Run) (Decision, bool) {
	if wait, waits := dependentsGoFirst(w); waits { // the Run continues as without the request
		d, _ := runProgress(r)
		d.Message += fmt.Sprintf("; the destroy that was %s waits: %s", q.Who(), wait.Message)
		d.RequeueAfter = time.Minute
		return d, true
	}
	if w.State == nil || w.State.Status.InputsDigest == "" { // there may be a state when it has ended
		return Decision{}, false
	}
	return progressing(v1alpha1.ReasonDestroyPending, "Run %s is superseded, or ends first: the destroy that was "+
		"%s is next", r.Name, q.Who())
}

// requestedRun is the start of a Run that a user requested.
func requestedRun(w Snapshot, q runinfo.Request) Decision {
	spec := v1alpha1.RunSpec{Operation: q.Operation, InputsDigest: w.Digest, Revision: w.Revision,
		PlanOptions: q.Options}
	if q.Operation == v1alpha1.OperationApply {
		spec.Operation = operation(w)
	}
	d, _ := startRequested(w, q, spec)
	return d
}

// startRequested starts a Run that accepts a request.
func startRequested(w Snapshot, q runinfo.Request, spec v1alpha1.RunSpec) (Decision, bool) {
	spec.Cause = v1alpha1.Cause{Type: v1alpha1.CauseManual, Message: q.Who(), By: q.By}
	if change := changeOfRequest(w, spec); change != "" {
		spec.Cause.Message += "; " + change
	}
	d, ok := startRun(w, spec)
	addRequest(d.Start, q.By)
	d.Request = q.At
	return d, ok
}

// changeOfRequest describes the change that a requested Run plans, for its reviewers; empty when what it plans is
// applied. If a Run tried the inputs before, the change is the cause of that Run, and not of another retry.
func changeOfRequest(w Snapshot, spec v1alpha1.RunSpec) string {
	switch spec.Operation {
	case v1alpha1.OperationShell:
		return ""
	case v1alpha1.OperationDestroy:
		if w.Stack.DeletionTimestamp == nil {
			return ""
		}
		return describeCause(deletionCause())
	}
	if version, by := userVersion(w); version != 0 && isAsDeclared(w) {
		return writtenBy(version, by)
	}
	last := w.lastDeployRun()
	if last == nil || last.Spec.InputsDigest != spec.InputsDigest {
		if appliedInputs(w) == spec.InputsDigest {
			return ""
		}
		return describeCause(causeOf(w))
	}
	for _, r := range slices.Backward(w.Runs) {
		switch {
		case !w.isDeploy(&r):
		case r.Spec.InputsDigest != spec.InputsDigest, r.Status.Phase == v1alpha1.PhaseSucceeded:
			return ""
		case r.Spec.Cause.Type != v1alpha1.CauseManual:
			return describeCause(r.Spec.Cause)
		}
	}
	return ""
}

// describeCause formats a cause as in "Commit by alice: 1f3c Widen the subnet".
func describeCause(c v1alpha1.Cause) string {
	return runinfo.DoneBy(string(c.Type), c.By) + ": " + c.Message
}

// lastHandledRequest is the last request that was accepted or rejected. One that was there when the Stack was created
// counts as accepted.
func lastHandledRequest(w Snapshot, d Decision) *v1alpha1.HandledRequest {
	last := w.Stack.Status.LastHandledRequest
	if d.Request != "" {
		return runinfo.Handled(last, d.Request, false, w.Now)
	}
	if !w.Stack.Status.Observed() {
		return runinfo.Handled(last, w.Stack.Annotations[v1alpha1.RequestedAtAnnotation], false, w.Now)
	}
	if q, why := RejectedRequest(w); why != "" {
		return runinfo.Handled(last, q.At, true, w.Now)
	}
	return last
}
