package repository

import (
	"fmt"
	"hash/fnv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// Decision is the next action for a Repository, and its Ready condition meanwhile.
type Decision struct {
	// Fetch now.
	Fetch bool
	// Ready, Reason and Message are the condition; an empty Reason leaves it as it is.
	Ready           metav1.ConditionStatus
	Reason, Message string
	// Stalled: nothing will change until a user acts.
	Stalled bool
	// RequeueAfter reconciles again after this time; 0 waits for an event.
	RequeueAfter time.Duration
}

// A rule decides, or leaves it to the next one.
type rule func(Snapshot) (Decision, bool)

// Decide returns the next action. The first rule that has an answer wins.
func Decide(w Snapshot) Decision {
	for _, r := range []rule{
		cannotFetch,
		isFirstFetch,
		isFetching,
		fetchIsDue,
		fetchFailed,
		refIsMissing,
		isFetched,
	} {
		if d, ok := r(w); ok {
			return d
		}
	}
	return Decision{}
}

func cannotFetch(w Snapshot) (Decision, bool) {
	if w.Problem == nil {
		return Decision{}, false
	}
	return Decision{
		Ready: metav1.ConditionFalse, Reason: w.Problem.Reason, Message: w.Problem.Message, Stalled: true,
		RequeueAfter: w.Problem.Again,
	}, true
}

// isFirstFetch: nothing is known yet. A process that has just started continues to report what the last one
// reported.
func isFirstFetch(w Snapshot) (Decision, bool) {
	if w.Last != nil {
		return Decision{}, false
	}
	d := Decision{Fetch: !w.Fetching}
	if w.Repository.Status.LastFetch == nil {
		d.Ready, d.Reason = metav1.ConditionUnknown, v1alpha1.ReasonFetching
		d.Message = "the first fetch of " + w.Repository.Spec.URL + " is under way"
	}
	return d, true
}

func isFetching(w Snapshot) (Decision, bool) { return Decision{}, w.Fetching }

// fetchIsDue: a fetch was requested, or would be of other refs or from another URL, or the interval is over.
func fetchIsDue(w Snapshot) (Decision, bool) {
	due := w.Ask != w.Last.Ask
	if at := nextFetch(w); !at.IsZero() && !w.Now.Before(at) {
		due = true
	}
	return Decision{Fetch: due}, due
}

// lasting are the reasons of failures that only a user ends.
var lasting = map[string]bool{
	v1alpha1.ReasonAuthenticationFailed: true, v1alpha1.ReasonHostKeyUnknown: true,
	v1alpha1.ReasonCertificateUntrusted: true, v1alpha1.ReasonRedirected: true,
	v1alpha1.ReasonRemoteNotFound: true, v1alpha1.ReasonConfigurationInvalid: true, v1alpha1.ReasonAddressDenied: true,
	v1alpha1.ReasonMirrorTooLarge: true,
}

func fetchFailed(w Snapshot) (Decision, bool) {
	if w.Last.Reason == "" {
		return Decision{}, false
	}
	d := Decision{Ready: metav1.ConditionFalse, Reason: w.Last.Reason, Message: w.Last.Message,
		Stalled: lasting[w.Last.Reason]}
	d.RequeueAfter = untilNextFetch(w)
	return d, true
}

// refIsMissing: the default ref of Stacks is not found. Stacks themselves report a ref that they name.
func refIsMissing(w Snapshot) (Decision, bool) {
	want := defaultRef(w.Repository)
	for _, ref := range w.Refs {
		if ref.Name == want && ref.Revision == "" {
			message := fmt.Sprintf("%s has no branch, tag or commit %s: correct spec.ref", w.Repository.Spec.URL, want)
			if want == Head {
				message = w.Repository.Spec.URL + " has no default branch: name one in spec.ref"
			}
			return Decision{Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonRefNotFound, Message: message,
				Stalled: true, RequeueAfter: untilNextFetch(w)}, true
		}
	}
	return Decision{}, false
}

func isFetched(w Snapshot) (Decision, bool) {
	d := Decision{Ready: metav1.ConditionTrue, Reason: v1alpha1.ReasonFetched, Message: "fetched",
		RequeueAfter: untilNextFetch(w)}
	for _, ref := range w.Refs {
		if ref.Name == defaultRef(w.Repository) {
			d.Message = fmt.Sprintf("%s %s", short(ref.Revision), w.Subject)
		}
	}
	if w.WebhookProblem != "" { // it is fetched all the same, in its interval
		d.Message += "; " + w.WebhookProblem
	}
	return d, true
}

// tooLargeWait is when a mirror that is too large is fetched again without a request.
const tooLargeWait = time.Hour

// nextFetch is when the mirror is fetched without being asked; zero for never. After a failure it is tried again
// soon, and less and less often up to the interval.
func nextFetch(w Snapshot) time.Time {
	const first, longest = 10 * time.Second, 5 * time.Minute
	interval := w.Repository.Spec.Interval.Duration
	if w.Last.Reason != "" {
		if w.Last.Reason == v1alpha1.ReasonMirrorTooLarge { // each fetch would download as much as the limit
			return w.Last.At.Add(max(interval, tooLargeWait))
		}
		wait := min(first<<min(w.Last.Failures-1, 10), longest)
		if interval > 0 {
			wait = min(wait, interval)
		}
		return w.Last.At.Add(wait)
	}
	if w.Unknown && (interval == 0 || interval > longest) {
		return w.Last.At.Add(longest) // a missing commit may be pushed yet
	}
	if interval == 0 {
		return time.Time{}
	}
	return w.Last.At.Add(interval + jitter(w.Repository, interval))
}

func untilNextFetch(w Snapshot) time.Duration {
	at := nextFetch(w)
	if at.IsZero() {
		return 0
	}
	return max(at.Sub(w.Now), time.Millisecond)
}

// jitter keeps Repositories that began together from staying together: up to a tenth of the interval, less rather
// than more.
func jitter(r *v1alpha1.Repository, interval time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.UID)) // never fails
	return -time.Duration(uint64(h.Sum32()) * 1000 % uint64(max(interval/10, 1)))
}
