package repository

import (
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// Head is what the status calls the remote's default branch.
const Head = "HEAD"

// mostRefs is how many refs a status has.
const mostRefs = 200

// defaultRef is what Stacks get that name no ref, by its name in the status.
func defaultRef(r *v1alpha1.Repository) string {
	if r.Spec.Ref == "" {
		return Head
	}
	return r.Spec.Ref
}

// short shortens the commit in a revision for users: main@1f3c2ab.
func short(revision string) string {
	ref, commit, ok := strings.Cut(revision, "@sha1:")
	if !ok || len(commit) < 7 {
		return revision
	}
	return ref + "@" + commit[:7]
}

// status is the Repository's status after a decision.
func status(w Snapshot, d Decision) v1alpha1.RepositoryStatus {
	s := *w.Repository.Status.DeepCopy()
	if d.Reason != "" { // otherwise the condition is about an earlier one
		s.ObservedGeneration = w.Repository.Generation
	}
	if len(w.Refs) > 0 && w.Last != nil {
		s.Refs = w.Refs[:min(len(w.Refs), mostRefs)]
	}
	if w.Last != nil && w.Last.Ask == w.Ask {
		s.LastHandledRequest = runinfo.Handled(s.LastHandledRequest, w.Ask.Request, false, w.Now)
	}
	before := apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	if w.Last != nil && !w.Fetching && (s.LastFetch == nil || w.Last.Moved || outcome(before) != w.Last.Reason) {
		s.LastFetch = &v1alpha1.FetchStatus{FinishedAt: metav1.Time{Time: w.Last.At}.Rfc3339Copy(),
			Duration: metav1.Duration{Duration: w.Last.Took}}
	}
	if d.Reason == "" {
		return s
	}
	set := func(kind string, value metav1.ConditionStatus) {
		apimeta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: d.Reason, Message: runinfo.Clip(d.Message, 4096),
			ObservedGeneration: w.Repository.Generation, LastTransitionTime: metav1.Time{Time: w.Now},
		})
	}
	set(v1alpha1.ConditionReady, d.Ready)
	if d.Stalled {
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue)
	} else {
		apimeta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionStalled)
	}
	return s
}

// outcome is the reason of the failure that a condition reports; empty when the last fetch succeeded.
func outcome(c *metav1.Condition) string {
	if c == nil || c.Status == metav1.ConditionTrue || c.Reason == v1alpha1.ReasonRefNotFound ||
		c.Reason == v1alpha1.ReasonFetching {
		return ""
	}
	return c.Reason
}
