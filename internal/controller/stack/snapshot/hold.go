package snapshot

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
)

// HoldIndex is the field by which the cache finds the PullRequests that hold a Stack, or held it.
const HoldIndex = "status.holds"

// IndexHolds returns the values of HoldIndex: Stacks, as namespace/name.
func IndexHolds(o client.Object) (stacks []string) {
	for _, h := range o.(*v1alpha1.PullRequest).Status.Holds {
		stacks = append(stacks, h.Namespace+"/"+h.Name)
	}
	return stacks
}

// gatherHold finds the pull request whose code the Stack has.
func (g *Gatherer) gatherHold(ctx context.Context, w *decision.Snapshot) error {
	var pulls v1alpha1.PullRequestList
	of := client.MatchingFields{HoldIndex: client.ObjectKeyFromObject(w.Stack).String()}
	if err := g.Client.List(ctx, &pulls, of, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	var requests []decision.HoldRequest
	for i := range pulls.Items {
		requests = append(requests, requestsOf(w.Stack, &pulls.Items[i])...)
	}
	known := w.Stack.Status.Hold
	applying := decision.IsApplying(*w)
	next, ended := decision.NextHold(w.Now, applying, known, w.EndedHold, requests)
	if known != nil && (next == nil || next.UID != known.UID) { // the cache may be older than the hold
		pull := &v1alpha1.PullRequest{}
		err := g.Live.Get(ctx, client.ObjectKey{Namespace: known.Namespace, Name: known.Name}, pull)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		requests = withoutPull(requests, known)
		if !apierrors.IsNotFound(err) {
			requests = append(requests, requestsOf(w.Stack, pull)...)
		}
		next, ended = decision.NextHold(w.Now, applying, known, w.EndedHold, requests)
	}
	w.Hold, w.EndedHold = next, ended
	return nil
}

func withoutPull(all []decision.HoldRequest, known *v1alpha1.StackHold) (others []decision.HoldRequest) {
	for _, r := range all {
		if r.UID != known.UID {
			others = append(others, r)
		}
	}
	return others
}

// requestsOf returns what the status of a pull request has about a Stack: one of another Repository than that of the
// Stack cannot hold it.
func requestsOf(stack *v1alpha1.Stack, pull *v1alpha1.PullRequest) (requests []decision.HoldRequest) {
	repo, ok := stack.RepositoryKey()
	if !ok || repo != (client.ObjectKey{Namespace: pull.Namespace, Name: pull.Spec.Repository.Name}) {
		return nil
	}
	for _, h := range pull.Status.Holds {
		if h.Namespace != stack.Namespace || h.Name != stack.Name {
			continue
		}
		requests = append(requests, decision.HoldRequest{Released: h.Released, StackHold: v1alpha1.StackHold{
			Namespace: pull.Namespace, Name: pull.Name, UID: pull.UID, Number: pull.Spec.Number,
			Head: h.Head, Base: h.Base, By: h.By, Since: h.At, Deadline: h.Deadline,
		}})
	}
	return requests
}

// requirements returns what a pull request needs to be applied to a Stack, whose Repository exists: an error if that is
// not known.
func (g *Gatherer) requirements(ctx context.Context, stack *v1alpha1.Stack) ([]v1alpha1.Requirement, error) {
	repo := &v1alpha1.Repository{}
	key, _ := stack.RepositoryKey()
	if err := g.Client.Get(ctx, key, repo); err != nil {
		return nil, fmt.Errorf("read what the Repository requires: %w", err)
	}
	if repo.Spec.PullRequests == nil {
		return nil, nil
	}
	return repo.Spec.PullRequests.Requirements, nil
}
