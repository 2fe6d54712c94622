package pullrequest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
)

// Merged is the history of a base with the commit of a merge.
type Merged interface {
	// InBase reports whether the base has the merge. known is false if that cannot be found in what is fetched.
	InBase() (has, known bool)
	// Has reports whether a revision has the merge in its history.
	Has(ctx context.Context, revision string) (bool, error)
	// IsSame reports whether the code of a Stack at a revision is that of the base, which has the merge.
	IsSame(ctx context.Context, stack *v1alpha1.Stack, revision string) (bool, error)
	// IsRead reports whether the last reconcile of a Stack read what the base has now.
	IsRead(ctx context.Context, stack *v1alpha1.Stack) (bool, error)
}

// Merged implements Merger.
func (g *Gatherer) Merged(ctx context.Context, repo *v1alpha1.Repository, base, commit string) (Merged, error) {
	m, err := g.Codes.Merged(ctx, repo, base, commit)
	return mergedCode{m, g.Client}, err
}

// mergedCode is a Merged that reads Stacks with what VariableSets and StackPolicies add to them.
type mergedCode struct {
	*code.Merged
	client client.Reader
}

// InBase implements Merged.
func (m mergedCode) InBase() (has, known bool) { return m.Merged.InBase, m.Known }

// IsSame implements Merged.
func (m mergedCode) IsSame(ctx context.Context, stack *v1alpha1.Stack, revision string) (bool, error) {
	effective, problem, err := snapshot.Effective(ctx, m.client, stack)
	if err != nil || problem != nil {
		return false, err
	}
	return m.Merged.IsSame(ctx, effective, revision), nil
}

// IsRead implements Merged.
func (m mergedCode) IsRead(ctx context.Context, stack *v1alpha1.Stack) (bool, error) {
	effective, problem, err := snapshot.Effective(ctx, m.client, stack)
	if err != nil || problem != nil { // which no commit is the reason of
		return false, err
	}
	return m.Merged.IsRead(ctx, effective), nil
}

// applyOf returns the Stacks that a merged pull request affected, as the status has them: those of the last plan if the
// merge was not known before. It is nil if nothing is reported about the merge.
func (w *Snapshot) applyOf() *v1alpha1.PullRequestApply {
	spec, status := w.PullRequest.Spec, &w.PullRequest.Status
	switch {
	case w.Settings == nil || spec.State != v1alpha1.PullRequestMerged:
		return nil
	case status.EndedAt == nil:
		return affectedStacks(status)
	}
	return status.Apply
}

// gatherAfter reads what the Stacks did with the merge of a pull request, unless all is final.
func (r *Reconciler) gatherAfter(ctx context.Context, w *Snapshot, repo *v1alpha1.Repository) error {
	apply, spec := w.applyOf(), w.PullRequest.Spec
	if apply == nil || spec.MergeCommit == "" || len(unfinished(apply)) == 0 {
		return nil
	}
	merged, err := r.Merger.Merged(ctx, repo, spec.Base, spec.MergeCommit)
	if err != nil {
		return fmt.Errorf("find the merge in the base: %w", err)
	}
	after := &After{Stacks: map[Key]AfterStack{}}
	after.InBase, after.Known = merged.InBase()
	for _, of := range unfinished(apply) {
		stack, err := r.stackOf(ctx, of)
		if err != nil {
			return err
		}
		if stack == nil {
			continue
		}
		if after.Stacks[of], err = r.afterStack(ctx, merged, stack); err != nil {
			return fmt.Errorf("read what Stack %s did with the merge: %w", of, err)
		}
	}
	w.After = after
	return nil
}

// stackOf returns a Stack; nil if there is none. That it is deleted is final, so the API server decides that.
func (r *Reconciler) stackOf(ctx context.Context, of Key) (*v1alpha1.Stack, error) {
	stack := &v1alpha1.Stack{}
	key := client.ObjectKey{Namespace: of.Namespace, Name: of.Name}
	err := r.Client.Get(ctx, key, stack)
	if apierrors.IsNotFound(err) {
		err = r.Live.Get(ctx, key, stack)
	}
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return stack, nil
}

// isReported reports whether nothing remains to be read or sent about the merge of a pull request that ended.
func isReported(p *v1alpha1.PullRequest) bool {
	s := &p.Status
	if holdsAny(s) {
		return false
	}
	if s.Apply == nil || p.Spec.MergeCommit == "" {
		return true
	}
	sent := s.Delivered.CommentDigest != "" && s.Delivered.Apply != nil && s.Delivered.Apply.Digest != "" &&
		(!hasResult(s) || s.Delivered.Result != nil && s.Delivered.Result.Digest != "")
	return sent && s.Phase == v1alpha1.PullRequestApplied
}

// unfinished returns the Stacks whose phase is not final.
func unfinished(apply *v1alpha1.PullRequestApply) (keys []Key) {
	for _, s := range apply.Stacks {
		if !isFinal(s.Phase) {
			keys = append(keys, Key{s.Namespace, s.Name})
		}
	}
	return keys
}

// afterStack reads what a Stack did with a merge.
func (r *Reconciler) afterStack(ctx context.Context, merged Merged, stack *v1alpha1.Stack) (AfterStack, error) {
	s, err := r.revisionsOf(ctx, stack, merged.Has)
	if err != nil || s.Merged[stack.Status.Revision] {
		return s, err
	}
	if s.Same, err = merged.IsSame(ctx, stack, stack.Status.Revision); err != nil || s.Same {
		return s, err
	}
	s.Read, err = merged.IsRead(ctx, stack)
	return s, err
}

// revisionsOf reads the revisions of a Stack, and which of them have what a pull request changes.
func (r *Reconciler) revisionsOf(
	ctx context.Context, stack *v1alpha1.Stack, has func(ctx context.Context, revision string) (bool, error),
) (AfterStack, error) {
	s, status := AfterStack{Stack: stack, Merged: map[string]bool{}}, stack.Status
	revisions := []string{status.Revision}
	for _, past := range status.History {
		if past.Details != nil {
			revisions = append(revisions, past.Details.Revision)
		}
	}
	if name := cmp.Or(status.CurrentRun, status.LastRun); name != "" {
		run := &v1alpha1.Run{} // one that succeeded is not in the cache, and in the history of the Stack
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: stack.Namespace, Name: name}, run)
		if client.IgnoreNotFound(err) != nil {
			return s, err
		}
		if err == nil {
			s.Run, revisions = run, append(revisions, run.Spec.Revision)
		}
	}
	for _, revision := range revisions {
		if _, known := s.Merged[revision]; known || revision == "" {
			continue
		}
		var err error
		if s.Merged[revision], err = has(ctx, revision); err != nil {
			return s, err
		}
	}
	return s, nil
}

// AppliesIndex is the field by which the cache finds the PullRequests that report what a Stack does.
const AppliesIndex = "status.apply.stacks"

// IndexApplies returns the values of AppliesIndex: the Stacks that it holds, and of a merged one those whose phase is
// not final, as namespace/name.
func IndexApplies(o client.Object) (stacks []string) {
	pull := o.(*v1alpha1.PullRequest)
	for _, h := range pull.Status.Holds {
		if h.Released == "" {
			stacks = append(stacks, h.Namespace+"/"+h.Name)
		}
	}
	if pull.Status.Apply == nil || pull.Spec.MergeCommit == "" {
		return stacks
	}
	for _, key := range unfinished(pull.Status.Apply) {
		if !slices.Contains(stacks, key.String()) {
			stacks = append(stacks, key.String())
		}
	}
	return stacks
}

// waitingFor returns the PullRequests that report what a Stack does.
func (l lookups) waitingFor(ctx context.Context, o client.Object) (requests []reconcile.Request) {
	var pulls v1alpha1.PullRequestList
	of := client.MatchingFields{AppliesIndex: client.ObjectKeyFromObject(o).String()}
	_ = l.cache.List(ctx, &pulls, of, client.UnsafeDisableDeepCopy) // an error only from a cache that is stopping
	for i := range pulls.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&pulls.Items[i])})
	}
	return requests
}

// waitsForMore passes the updates after which a merged pull request waits for another Stack: that may have changed
// before the index had the pull request.
func waitsForMore() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before := IndexApplies(e.ObjectOld)
			isNew := func(stack string) bool { return !slices.Contains(before, stack) }
			return slices.ContainsFunc(IndexApplies(e.ObjectNew), isNew)
		},
	}
}

// progresses passes the changes of a Stack that a merged pull request may report. Without one that waits, they cost a
// lookup in the index.
func progresses() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := &e.ObjectOld.(*v1alpha1.Stack).Status, &e.ObjectNew.(*v1alpha1.Stack).Status
			return before.Revision != after.Revision || before.InputsDigest != after.InputsDigest ||
				before.AppliedInputsDigest != after.AppliedInputsDigest || before.CurrentRun != after.CurrentRun ||
				before.LastRun != after.LastRun || !equality.Semantic.DeepEqual(before.Hold, after.Hold) ||
				len(before.History) != len(after.History) ||
				readyReason(before) != readyReason(after)
		},
	}
}

func readyReason(s *v1alpha1.StackStatus) string {
	if c := apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Reason
	}
	return ""
}
