package repository

import (
	"fmt"
	"hash/fnv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// Decision is the one next thing for a Repository, and what its Ready condition says meanwhile.
type Decision struct {
	// Fetch now.
	Fetch bool
	// Ready, Reason and Message are the condition; an empty Reason leaves it as it is.
	Ready           metav1.ConditionStatus
	Reason, Message string
	// Stalled says that nothing will change until a person acts.
	Stalled bool
	// RequeueAfter looks again after this time; 0 waits for an event.
	RequeueAfter time.Duration
}

// A rule decides, or leaves it to the next one.
type rule func(World) (Decision, bool)

// Decide says the one next thing. The first rule that has an answer wins.
func Decide(w World) Decision {
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

func cannotFetch(w World) (Decision, bool) {
	if w.Problem == nil {
		return Decision{}, false
	}
	return Decision{Ready: metav1.ConditionFalse, Reason: w.Problem.Reason, Message: w.Problem.Message, Stalled: true}, true
}

// isFirstFetch: nothing is known yet. A process that has just started goes on to say what the last one said.
func isFirstFetch(w World) (Decision, bool) {
	if w.Last != nil {
		return Decision{}, false
	}
	d := Decision{Fetch: !w.Fetching}
	if w.Repository.Status.LastFetch == nil {
		d.Ready, d.Reason, d.Message = metav1.ConditionUnknown, v1alpha1.ReasonFetching, "the first fetch of "+w.Repository.Spec.URL+" is under way"
	}
	return d, true
}

func isFetching(w World) (Decision, bool) { return Decision{}, w.Fetching }

// fetchIsDue: somebody asks, what to ask for has changed, or the interval is over.
func fetchIsDue(w World) (Decision, bool) {
	due := w.Ask != w.Last.Ask
	if at := nextFetch(w); !at.IsZero() && !w.Now.Before(at) {
		due = true
	}
	return Decision{Fetch: due}, due
}

// lasting are the reasons of failures that only a person ends.
var lasting = map[string]bool{
	v1alpha1.ReasonAuthenticationFailed: true, v1alpha1.ReasonHostKeyUnknown: true, v1alpha1.ReasonCertificateUntrusted: true, v1alpha1.ReasonRedirected: true,
	v1alpha1.ReasonRemoteNotFound: true, v1alpha1.ReasonConfigurationInvalid: true,
}

func fetchFailed(w World) (Decision, bool) {
	if w.Last.Reason == "" {
		return Decision{}, false
	}
	d := Decision{Ready: metav1.ConditionFalse, Reason: w.Last.Reason, Message: w.Last.Message, Stalled: lasting[w.Last.Reason]}
	d.RequeueAfter = untilNextFetch(w)
	return d, true
}

// refIsMissing: the ref that Stacks get which name none is not there. A ref that a Stack names is that Stack's to tell.
func refIsMissing(w World) (Decision, bool) {
	want := defaultRef(w.Repository)
	for _, ref := range w.Refs {
		if ref.Name == want && ref.Revision == "" {
			message := fmt.Sprintf("%s has no branch, tag or commit %s: correct spec.ref", w.Repository.Spec.URL, want)
			if want == Head {
				message = w.Repository.Spec.URL + " has no default branch: name one in spec.ref"
			}
			return Decision{Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonRefNotFound, Message: message, Stalled: true, RequeueAfter: untilNextFetch(w)}, true
		}
	}
	return Decision{}, false
}

func isFetched(w World) (Decision, bool) {
	d := Decision{Ready: metav1.ConditionTrue, Reason: v1alpha1.ReasonFetched, Message: "fetched", RequeueAfter: untilNextFetch(w)}
	for _, ref := range w.Refs {
		if ref.Name == defaultRef(w.Repository) {
			d.Message = fmt.Sprintf("%s %s", short(ref.Revision), w.Subject)
		}
	}
	if w.Deaf != "" { // it is fetched all the same, in its interval
		d.Message += "; " + w.Deaf
	}
	return d, true
}

// nextFetch is when the mirror is fetched without being asked; zero for never. After a failure it is tried again soon, and
// less and less often up to the interval.
func nextFetch(w World) time.Time {
	const first, longest = 10 * time.Second, 5 * time.Minute
	interval := w.Repository.Spec.Interval.Duration
	if w.Last.Reason != "" {
		wait := min(first<<min(w.Last.Failures-1, 10), longest)
		if interval > 0 {
			wait = min(wait, interval)
		}
		return w.Last.At.Add(wait)
	}
	if w.Unknown {
		return w.Last.At.Add(longest) // a commit that is not there may be pushed yet
	}
	if interval == 0 {
		return time.Time{}
	}
	return w.Last.At.Add(interval + jitter(w.Repository, interval))
}

func untilNextFetch(w World) time.Duration {
	at := nextFetch(w)
	if at.IsZero() {
		return 0
	}
	return max(at.Sub(w.Now), time.Millisecond)
}

// jitter keeps Repositories that began together from staying together: up to a tenth of the interval, less rather than more.
func jitter(r *v1alpha1.Repository, interval time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.UID)) // never fails
	return -time.Duration(uint64(h.Sum32()) * 1000 % uint64(max(interval/10, 1)))
}
