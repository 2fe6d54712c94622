// Package automerge decides when Cairn merges a pull request that is applied before its merge. It is pure: no client,
// no clock and no log.
//
//	Waiting ──► Merging ──► Accepted
//	   ▲           ▲  └───► Failed ──► no other attempt
//	   └───────────┴───────────┘
package automerge

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// Facts are what the merge is decided on.
type Facts struct {
	Now time.Time
	// Method of the merge; empty if Cairn does not merge.
	Method v1alpha1.MergeMethod
	// Head is the newest head of the pull request, and Base the branch that it is merged into.
	Head, Base string
	// Open, Draft and Fork are of the pull request.
	Open, Draft, Fork bool
	// Planned: all plans are of the head, and succeeded.
	Planned bool
	// Stacks are those that the pull request affects.
	Stacks []Stack
	// Holds are the Stacks to which the pull request is applied.
	Holds []Hold
	// Requirements of the Repository as they were evaluated, and RequirementsRead reports that all were.
	Requirements     []v1alpha1.PullRequestRequirement
	RequirementsRead bool
	// CommandAt is when the newest command was read that applies the pull request.
	CommandAt metav1.Time
	// Known is the result before; nil for none.
	Known *v1alpha1.PullRequestAutomaticMerge
}

// Stack is a Stack that the pull request affects.
type Stack struct {
	// Key is the namespace and the name. Example: web/net.
	Key string
	// Unchanged: its plan has no changes.
	Unchanged bool
	// AfterMerge is why it cannot be applied before the merge; empty if it can.
	AfterMerge string
	// Same: the code that is applied is that of the merge into the newest base.
	Same bool
}

// Hold is a Stack to which the pull request is applied.
type Hold struct {
	// Key is the namespace and the name.
	Key string
	// Head is the commit of the command, and Branch the base; empty if it is not known.
	Head, Branch string
	Phase        v1alpha1.StackApplyPhase
}

const (
	// maxAttempts is the maximum number of requests to merge a head after a command.
	maxAttempts = 10
	// firstDelay and longestDelay are the times after the first failure and after many. Gitea rejects a merge for some
	// seconds after a review or a push, while it computes whether there are conflicts.
	firstDelay, longestDelay = 15 * time.Second, 30 * time.Minute
	// maxMessage is the maximum length of a message in bytes.
	maxMessage = 500
)

// Next returns the state of the merge; nil if Cairn does not merge. It is to be written before a request is sent, which
// is due if the state is Merging.
func Next(f Facts) *v1alpha1.PullRequestAutomaticMerge {
	if f.Method == "" {
		return nil
	}
	next := &v1alpha1.PullRequestAutomaticMerge{
		Head: f.Head, Method: f.Method, CommandAt: f.CommandAt, State: v1alpha1.AutomaticMergeWaiting,
	}
	known := f.Known
	isSame := known != nil && known.Head == f.Head && known.Method == f.Method && known.CommandAt.Equal(&f.CommandAt)
	if isSame {
		next.Attempts = known.Attempts
	}
	if why := f.waits(); why != "" {
		next.Message = runinfo.Clip(why, maxMessage)
		return next
	}
	switch {
	case isSame && known.State != v1alpha1.AutomaticMergeWaiting && !f.isDueAgain():
		return known.DeepCopy()
	case next.Attempts >= maxAttempts:
		next.State = v1alpha1.AutomaticMergeFailed
		next.Message = fmt.Sprintf("the Git provider rejected it %d times: merge it there, or comment /cairn "+
			"apply again",
			next.Attempts)
		return next
	}
	next.State = v1alpha1.AutomaticMergeMerging
	next.Attempts++
	return next
}

// isDueAgain reports whether the last request failed, and the time of the next one has come.
func (f Facts) isDueAgain() bool {
	k := f.Known
	return k.State == v1alpha1.AutomaticMergeFailed && k.NextAttemptAt != nil && !f.Now.Before(k.NextAttemptAt.Time)
}

// Result returns the state after a request that the Git provider accepted (nil) or rejected.
func Result(m v1alpha1.PullRequestAutomaticMerge, now time.Time, rejection error) *v1alpha1.PullRequestAutomaticMerge {
	m.Message, m.NextAttemptAt = "", nil
	if rejection == nil {
		m.State = v1alpha1.AutomaticMergeAccepted
		return &m
	}
	m.State = v1alpha1.AutomaticMergeFailed
	m.Message = runinfo.Clip(rejection.Error(), maxMessage-100) + "; " + remedy(pulls.KindOf(rejection))
	if m.Attempts < maxAttempts {
		delay := min(firstDelay<<max(m.Attempts-1, 0), longestDelay)
		m.NextAttemptAt = &metav1.Time{Time: now.Add(delay)}
	}
	return &m
}

// remedy returns what a user can do about a rejection.
func remedy(k pulls.Kind) string {
	switch k {
	case pulls.Unauthorized, pulls.Forbidden, pulls.NotFound:
		return "an administrator has to let the user of the token of the Repository merge"
	case pulls.Conflict:
		return "apply the newest head, or merge at the Git provider"
	}
	return "correct that, or merge at the Git provider"
}

// waits returns why the pull request is not merged; empty if it is to be merged. What is not known is not fine.
func (f Facts) waits() string {
	switch {
	case !f.Open:
		return "the pull request is not open"
	case f.Fork:
		return "its head is in another repository"
	case f.Draft:
		return "it is a draft"
	case !f.Planned:
		return "not each plan of the newest head has succeeded"
	case !f.RequirementsRead:
		return "what the Repository requires is not known"
	}
	for _, r := range f.Requirements {
		if r.State != v1alpha1.RequirementMet {
			return "the Repository requires " + r.Text()
		}
	}
	for _, h := range f.Holds {
		if why := f.left(h); why != "" {
			return "Stack " + h.Key + " " + why
		}
	}
	return f.missing()
}

// left returns what a Stack that the pull request holds lacks.
func (f Facts) left(h Hold) string {
	switch {
	case h.Head != f.Head:
		return fmt.Sprintf("has head %.12s: comment /cairn apply, or /cairn unlock if it is not affected any more",
			h.Head)
	case h.Branch != f.Base:
		return "is not applied for the base " + f.Base
	case h.Phase == v1alpha1.StackApplyApplied:
		return ""
	case h.Phase == v1alpha1.StackApplyFailed:
		return "failed: retry it, or push a correction and apply that"
	}
	return "is not applied yet"
}

// missing returns which affected Stacks are not applied.
func (f Facts) missing() string {
	var open []string
	for _, s := range f.Stacks {
		isHeld := false
		for _, h := range f.Holds { // each of them is applied
			isHeld = isHeld || h.Key == s.Key
		}
		switch {
		case s.AfterMerge != "":
			return fmt.Sprintf("Stack %s is applied after the merge only, since %s: a user has to merge", s.Key,
				s.AfterMerge)
		case isHeld && !s.Same:
			return fmt.Sprintf("the base has newer code of Stack %s than what is applied: comment /cairn apply again",
				s.Key)
		case !isHeld && !s.Unchanged:
			open = append(open, s.Key)
		}
	}
	switch {
	case len(open) > 0:
		return fmt.Sprintf("%d of the affected Stacks not applied: %s", len(open), strings.Join(open, ", "))
	case len(f.Holds) == 0:
		return "no Stack is applied"
	}
	return ""
}
