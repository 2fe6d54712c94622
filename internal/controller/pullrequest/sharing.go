package pullrequest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
)

// withHead returns the pull requests of which one of some commits is the head, or has the statuses.
func withHead(all []*v1alpha1.PullRequest, heads ...string) (found []*v1alpha1.PullRequest) {
	for _, p := range all {
		delivered := p.Status.Delivered.Head // empty before there are statuses
		if slices.Contains(heads, p.Spec.Head.Commit) || delivered != "" && slices.Contains(heads, delivered) {
			found = append(found, p)
		}
	}
	return found
}

// atHead returns the open pull requests of which a commit is the head.
func atHead(all []*v1alpha1.PullRequest, commit string) (found []*v1alpha1.PullRequest) {
	for _, p := range all {
		if p.Spec.Head.Commit == commit && p.Spec.State == v1alpha1.PullRequestOpen {
			found = append(found, p)
		}
	}
	return found
}

// isSettled reports whether a pull request ended, and nothing of it remains to be sent to its head.
func isSettled(p *v1alpha1.PullRequest) bool {
	return p.Status.Phase.Ended() && p.Status.EndedAt != nil &&
		!slices.ContainsFunc(p.Status.Delivered.Statuses, func(s v1alpha1.PullRequestCommitStatus) bool {
			return s.Pending
		})
}

// sharing returns the other pull requests of the Repository that have, or had, a head of one, by name, without those
// that are settled. They have the statuses of this commit in common. They must not be changed.
func sharing(ctx context.Context, cache client.Reader, pull *v1alpha1.PullRequest) ([]*v1alpha1.PullRequest, error) {
	var all v1alpha1.PullRequestList
	var others []*v1alpha1.PullRequest
	of := client.MatchingFields{repository.PullRequestIndex: pull.Spec.Repository.Name}
	if err := cache.List(ctx, &all, client.InNamespace(pull.Namespace), of, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	for i := range all.Items {
		if other := &all.Items[i]; other.UID != pull.UID && other.DeletionTimestamp == nil && !isSettled(other) {
			others = append(others, other)
		}
	}
	slices.SortFunc(others, func(a, b *v1alpha1.PullRequest) int { return cmp.Compare(a.Name, b.Name) })
	return withHead(others, pull.Spec.Head.Commit, pull.Status.Delivered.Head), nil
}

// sharing returns the requests for the other PullRequests that share the statuses of one.
func (l lookups) sharing(ctx context.Context, o client.Object) (requests []reconcile.Request) {
	others, _ := sharing(ctx, l.cache, o.(*v1alpha1.PullRequest)) // an error only from a cache that is stopping
	for _, other := range others {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(other)})
	}
	return requests
}

// resend is a patch after which everything is sent to the Git provider again.
var resend = client.RawPatch(types.MergePatchType,
	[]byte(`{"status":{"delivered":{"commentDigest":null,"head":null}}}`))

// resendAll is resend for a pull request that may be merged.
func resendAll(pull *v1alpha1.PullRequest) client.Patch {
	delivered := map[string]any{"commentDigest": nil, "head": nil}
	if pull.Status.Delivered.Apply != nil {
		delivered["apply"] = map[string]any{"digest": ""}
	}
	if pull.Status.Delivered.Result != nil {
		delivered["result"] = map[string]any{"digest": nil}
	}
	data, _ := json.Marshal(map[string]any{"status": map[string]any{"delivered": delivered}}) // strings always can be
	return client.RawPatch(types.MergePatchType, data)
}

// resends passes the updates by these patches.
func resends() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*v1alpha1.PullRequest), e.ObjectNew.(*v1alpha1.PullRequest)
			return before.Status.Delivered.Head != "" && after.Status.Delivered.Head == ""
		},
	}
}
