package stackset

import (
	"cmp"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"cairn.dev/cairn/internal/controller/apierror"
	"cairn.dev/cairn/internal/controller/stackset/decision"
)

// The intervals between two tries of a write that failed. Each is twice the one before.
const (
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
)

// failed is a write that failed, and is not tried again for some time.
type failed struct {
	decision.Failure
	// write identifies the action and what was to be written.
	write string
	// tries is how often it was tried, the last time at at.
	tries int
	at    time.Time
}

// due is when the write is tried again.
func (f failed) due() time.Time {
	wait := firstRetry
	for i := 1; i < f.tries && wait < lastRetry; i++ {
		wait *= 2
	}
	return f.at.Add(min(wait, lastRetry))
}

func identity(one decision.Write) string {
	if one.Rendered != nil {
		return string(one.Action) + " " + one.Rendered.Digest
	}
	return string(one.Action)
}

// fail keeps the error of a write. It returns false for one after which it is decided again: the Stack changed.
func (k *known) fail(one decision.Write, err error, now time.Time) bool {
	// Where a Stack is created, what is not found is its namespace.
	class, hasNamespace := apierror.Of(err), one.Action != decision.Create || !apierrors.IsNotFound(err)
	if class == apierror.Stopped || class == apierror.Outdated && hasNamespace {
		return false
	}
	next := failed{write: identity(one), tries: 1, at: now}
	if last, ok := k.failed[one.Name]; ok && last.write == next.write {
		next.tries += last.tries
	}
	next.Failure = decision.Failure{
		Name: one.Name, Action: one.Action, Rejected: class != apierror.Failed,
		Message: err.Error(), Advice: advice(one.Action, err, class),
	}
	k.failed[one.Name] = next
	return true
}

// advice is what a user can do about an error. A Stack that is gone does not get the template any more.
func advice(action decision.Action, err error, class apierror.Class) string {
	switch {
	case class == apierror.Rejected && action != decision.Create && action != decision.Change:
		return "correct the Stack itself: it does not get changes of spec.template any more"
	case apierrors.IsForbidden(err):
		return "change what forbids it: a ResourceQuota, an admission policy or webhook, or the permissions of Cairn"
	case apierrors.IsNotFound(err):
		return "create the namespace"
	case class == apierror.Rejected:
		return "correct spec.template, or the settings file of the directory"
	}
	return "check the API server, and the admission webhook if the message names one"
}

// waits reports that a write failed a short time ago.
func (k *known) waits(w decision.Snapshot, one decision.Write) bool {
	last, ok := k.failed[one.Name]
	return ok && last.write == identity(one) && w.Now.Before(last.due())
}

// failures are those of the writes that are decided on. Others are forgotten.
func (k *known) failures(decided []decision.Write) (all []decision.Failure) {
	left := map[string]failed{}
	for _, one := range decided {
		if last, ok := k.failed[one.Name]; ok && last.write == identity(one) {
			left[one.Name] = last
			all = append(all, last.Failure)
		}
	}
	k.failed = left
	slices.SortFunc(all, func(a, b decision.Failure) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// nextTry is the time until the first failed write is tried again, and at least a second.
func (k *known) nextTry(now time.Time) time.Duration {
	next := lastRetry
	for _, f := range k.failed {
		next = min(next, f.due().Sub(now))
	}
	return max(next, time.Second)
}
