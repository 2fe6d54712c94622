package runinfo

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// Request is the Run that a user asks a Stack for, with annotations.
type Request struct {
	// At identifies the request. It is the value of the annotation, a time by convention.
	At string
	// Operation that is asked for.
	Operation v1alpha1.Operation
	// By is who asks; empty when that is not known.
	By string
	// Options of its plan; nil when there are none.
	Options *v1alpha1.PlanOptions
	// Rejected is why no Run is ever created for it; empty when one is.
	Rejected string
}

// MaxClockSkew is how far ahead of now a request's time may be: as much as clocks may differ.
const MaxClockSkew = 5 * time.Minute

// Requested is the request that waits to be taken up; false when there is none. What a Stack had at its creation is
// none: the first Run takes it up, and a Stack that comes back from a backup does not repeat what was asked for long
// ago.
func Requested(stack *v1alpha1.Stack, now time.Time) (Request, bool) {
	at, last := stack.Annotations[v1alpha1.RequestedAtAnnotation], stack.Status.LastHandledRequest
	if at == "" || !stack.Status.Observed() || Settled(last, at) || isOlder(at, last) {
		return Request{}, false
	}
	q := LastRequested(stack)
	if t, ahead := aheadOf(at, now); ahead {
		q.Rejected = fmt.Sprintf("%s is %s, and it is %s: check the clock of the client, and ask again",
			v1alpha1.RequestedAtAnnotation,
			t.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return q, true
}

// Handled is the status of a request that is handled now; the last one, when it is that. A request whose time is far
// ahead of now is rejected.
func Handled(last *v1alpha1.HandledRequest, at string, rejected bool, now time.Time) *v1alpha1.HandledRequest {
	switch _, ahead := aheadOf(at, now); {
	case at == "":
		return nil
	case Settled(last, at):
		return last
	default:
		return &v1alpha1.HandledRequest{Value: at, Time: metav1.Time{Time: now}.Rfc3339Copy(), Rejected: rejected ||
			ahead}
	}
}

// Settled reports whether a request is the last one that was handled.
func Settled(last *v1alpha1.HandledRequest, at string) bool { return last != nil && last.Value == at }

// aheadOf reports whether a request's time is too far ahead of now to be one.
func aheadOf(at string, now time.Time) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, at)
	return t, err == nil && t.After(now.Add(MaxClockSkew))
}

// timeOf is when the last request that was handled is from; zero when it is no time. One that was rejected for its time
// hides no later one: it counts from when it was rejected.
func timeOf(last *v1alpha1.HandledRequest) time.Time {
	if last == nil {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, last.Value)
	switch {
	case err != nil:
		return time.Time{}
	case last.Rejected && last.Time.Time.Before(t):
		return last.Time.Time
	default:
		return t
	}
}

// isOlder reports whether a request is from before the last one, where both are times: a user applied a manifest, or
// restored annotations, with an old request.
func isOlder(at string, last *v1alpha1.HandledRequest) bool {
	t, err := time.Parse(time.RFC3339, at)
	then := timeOf(last)
	return err == nil && !then.IsZero() && !t.After(then)
}

// LastRequested is what was asked for last, whether it waits or not.
func LastRequested(stack *v1alpha1.Stack) Request {
	q := Request{
		At:        stack.Annotations[v1alpha1.RequestedAtAnnotation],
		Operation: v1alpha1.Operation(stack.Annotations[v1alpha1.RequestedOperationAnnotation]),
		By:        Clip(stack.Annotations[v1alpha1.RequestedByAnnotation], 253),
	}
	if q.Operation == "" {
		q.Operation = v1alpha1.OperationApply
	}
	q.Rejected = rejection(stack, q.Operation)
	if text := stack.Annotations[v1alpha1.RequestedPlanOptionsAnnotation]; text != "" && q.Rejected == "" {
		q.Options, q.Rejected = requestedOptions(text, q)
	}
	return q
}

// rejection returns why a request is rejected. To keep it until it could be accepted would be dangerous.
func rejection(stack *v1alpha1.Stack, operation v1alpha1.Operation) string {
	switch operation {
	case v1alpha1.OperationPlan, v1alpha1.OperationApply:
		return ""
	case v1alpha1.OperationShell:
		if stack.DeletionTimestamp != nil {
			return "the Stack is being deleted"
		}
		return ""
	case v1alpha1.OperationDestroy:
	default:
		return fmt.Sprintf("%s is %q: it can be Plan, Apply, Destroy or Shell", v1alpha1.RequestedOperationAnnotation,
			Clip(string(operation), 100))
	}
	switch {
	case stack.DeletionTimestamp != nil: // that has reasons of its own to wait
		return ""
	case stack.Spec.DeletionPolicy == v1alpha1.DeletionProtect:
		return "nothing is destroyed while spec.deletionPolicy is Protect"
	case stack.Spec.Apply == v1alpha1.ApplyNever:
		return "nothing is destroyed while spec.apply is Never"
	case stack.Spec.Suspend: // a resume does not confirm the request
		return "nothing is destroyed while spec.suspend is true"
	}
	return ""
}

// Who names the user, as in "requested by alice".
func (q Request) Who() string { return DoneBy("requested", q.By) }

// DoneBy formats the name of the user who did it, if known.
func DoneBy(done, who string) string {
	if who == "" {
		return done
	}
	return done + " by " + who
}
