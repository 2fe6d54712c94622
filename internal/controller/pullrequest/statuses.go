package pullrequest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// maxStackStatuses is the maximum number of statuses of Stacks of a commit.
const maxStackStatuses = 20

// dueStatuses are the statuses that a commit should have.
type dueStatuses struct {
	all []comment.Status
	// shared is the digest of the statuses of the other pull requests that this follows from; empty if there are none.
	shared string
}

// dueStatuses returns the statuses that the head should have. A commit has one status for each name, so of several open pull requests
// with the same head the worst one counts (atlantis #5228). Each of them sends it, again after each change of another.
func (r *Reconciler) dueStatuses(ctx context.Context, pull *v1alpha1.PullRequest, repo *v1alpha1.Repository) (due dueStatuses, err error) {
	ended := pull.Status.Phase == v1alpha1.PullRequestEnded
	head := pull.Status.Head
	if ended {
		head = pull.Status.Delivered.Head
	}
	others, err := withHead(ctx, r.Client, pull, head)
	switch {
	case err != nil:
		return due, err
	case !ended:
		due.all = r.statusesOf(pull, repo)
	case !slices.ContainsFunc(others, func(o *v1alpha1.PullRequest) bool { return o.Spec.Head.Commit == head }): // these send theirs
		for _, s := range pull.Status.Delivered.Statuses {
			if s.Pending {
				due.all = append(due.all, comment.Status{Context: s.Context, State: comment.Failure, Description: "Not planned: the pull request was closed."})
			}
		}
	}
	var facts []byte
	for _, other := range others {
		facts = fmt.Appendf(facts, "%s %s\n", other.UID, other.Spec.Head.Commit)
		if other.Spec.Head.Commit != head || other.Status.Phase == "" || other.Status.Phase == v1alpha1.PullRequestEnded {
			continue
		}
		for _, s := range r.statusesOf(other, repo) {
			facts = fmt.Appendf(facts, "%s %s\n", s.Context, recordOf(s).Digest)
			i := slices.IndexFunc(due.all, func(own comment.Status) bool { return own.Context == s.Context })
			if i >= 0 && severity(s.State) > severity(due.all[i].State) {
				due.all[i] = s
			}
		}
	}
	if len(others) > 0 {
		due.shared = inputs.Digest(facts)
	}
	return due, nil
}

func severity(s comment.State) int {
	switch s {
	case comment.Failure:
		return 2
	case comment.Pending:
		return 1
	}
	return 0
}

// statusesOf returns the statuses of an open pull request.
func (r *Reconciler) statusesOf(pull *v1alpha1.PullRequest, repo *v1alpha1.Repository) []comment.Status {
	var earlier []string
	for _, s := range pull.Status.Delivered.Statuses {
		earlier = append(earlier, s.Context)
	}
	return comment.Statuses(r.reportOf(pull, repo), repo.Spec.PullRequests.StatusContext, maxStackStatuses, earlier)
}

// withHead returns the other pull requests of the Repository of which one of some commits is the head, or has the statuses, by name.
// They must not be changed.
func withHead(ctx context.Context, cache client.Reader, pull *v1alpha1.PullRequest, heads ...string) (others []*v1alpha1.PullRequest, err error) {
	var all v1alpha1.PullRequestList
	of := client.MatchingFields{repository.PullRequestIndex: pull.Spec.Repository.Name}
	if err := cache.List(ctx, &all, client.InNamespace(pull.Namespace), of, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	for i := range all.Items {
		other := &all.Items[i]
		delivered := other.Status.Delivered.Head // empty before there are statuses
		has := slices.Contains(heads, other.Spec.Head.Commit) || delivered != "" && slices.Contains(heads, delivered)
		if has && other.UID != pull.UID && other.DeletionTimestamp == nil {
			others = append(others, other)
		}
	}
	slices.SortFunc(others, func(a, b *v1alpha1.PullRequest) int { return cmp.Compare(a.Name, b.Name) })
	return others, nil
}

// announceStatuses records which statuses the head may have after the next request.
func announceStatuses(pull *v1alpha1.PullRequest, due dueStatuses) {
	delivered := &pull.Status.Delivered
	if pull.Status.Phase != v1alpha1.PullRequestEnded && delivered.Head != pull.Status.Head {
		delivered.Head, delivered.Statuses = pull.Status.Head, nil
	}
	sendAll := delivered.Shared != due.shared
	delivered.Shared = due.shared
	for _, s := range due.all {
		next, i := recordOf(s), find(delivered, s.Context)
		switch {
		case i < 0:
			delivered.Statuses = append(delivered.Statuses, v1alpha1.PullRequestCommitStatus{Context: s.Context, Pending: next.Pending})
		case sendAll, delivered.Statuses[i] != next:
			delivered.Statuses[i].Digest = ""
			delivered.Statuses[i].Pending = delivered.Statuses[i].Pending || next.Pending
		}
	}
}

// recordOf returns what status.delivered has of a status that was sent.
func recordOf(s comment.Status) v1alpha1.PullRequestCommitStatus {
	return v1alpha1.PullRequestCommitStatus{
		Context: s.Context, Pending: s.State == comment.Pending, Digest: inputs.Digest(fmt.Appendf(nil, "%s\n%s\n%s", s.State, s.Description, s.URL)),
	}
}

// find returns the index of the status with a context; -1 if it has none.
func find(delivered *v1alpha1.PullRequestDelivered, context string) int {
	return slices.IndexFunc(delivered.Statuses, func(known v1alpha1.PullRequestCommitStatus) bool { return known.Context == context })
}

// sendStatuses sends the statuses that were announced, unless the head has them.
func sendStatuses(ctx context.Context, pull *v1alpha1.PullRequest, provider Provider, due dueStatuses) error {
	delivered := &pull.Status.Delivered
	for _, s := range due.all {
		next, i := recordOf(s), find(delivered, s.Context)
		if delivered.Statuses[i] == next {
			continue
		}
		status := pulls.Status{Context: s.Context, State: stateOf(s.State), Description: s.Description, URL: s.URL}
		if err := provider.SetStatus(ctx, cmp.Or(delivered.Head, pull.Status.Head), status); err != nil {
			return err
		}
		delivered.Statuses[i] = next
	}
	return nil
}

// stateOf returns the state for a Git provider. None of their commit statuses has a neutral state.
func stateOf(s comment.State) pulls.StatusState {
	switch s {
	case comment.Pending:
		return pulls.Pending
	case comment.Failure:
		return pulls.Failure
	}
	return pulls.Success
}
