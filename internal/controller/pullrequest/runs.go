package pullrequest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// Runs deletes the objects of a Run in the bucket.
type Runs interface {
	Forget(ctx context.Context, r *v1alpha1.Run) error
}

// LabelPullRequest is the label of Runs with the UID of their PullRequest.
const LabelPullRequest = "cairn.dev/pull-request"

// act creates the Runs of the persisted status, and ends those that it does not have but an earlier one had. A Run
// that cannot be created delays no other.
func (r *Reconciler) act(ctx context.Context, before, pull *v1alpha1.PullRequest, w Snapshot) (acts acts) {
	acts.created = map[Key]types.UID{}
	acts.rejected = map[Key]error{}
	current := map[Key]bool{}
	for _, s := range pull.Status.Stacks {
		current[Key{s.Namespace, s.Run}] = true
		if s.Run == "" || s.Phase.Finished() || w.Merge == nil || w.Runs[Key{s.Namespace, s.Run}] != nil {
			continue // also one that a user deleted is created
		}
		for _, a := range w.Merge.Affected {
			if a.Key != (Key{s.Namespace, s.Name}) {
				continue
			}
			uid, err := r.create(ctx, pull, s, a)
			if err != nil {
				acts.rejected[a.Key] = err
			}
			acts.created[a.Key], acts.err = uid, errors.Join(acts.err, err)
		}
	}
	var others []Key
	for _, s := range before.Status.Stacks {
		if s.Run != "" {
			others = append(others, Key{s.Namespace, s.Run})
		}
	}
	var unfinished v1alpha1.RunList // also those whose names were never written to the status
	of := client.MatchingFields{index.PullRequestField: string(pull.UID)}
	if err := r.Client.List(ctx, &unfinished, of, client.UnsafeDisableDeepCopy); err != nil {
		acts.err = errors.Join(acts.err, err)
		return acts
	}
	for i := range unfinished.Items {
		// else it is of a newer status
		if run := &unfinished.Items[i]; run.Spec.PullRequest.PlanNumber <= pull.Status.Plans {
			others = append(others, Key{run.Namespace, run.Name})
		}
	}
	for _, key := range others {
		if current[key] {
			continue
		}
		current[key] = true // once
		_, err := r.end(ctx, key, pull)
		acts.err = errors.Join(acts.err, err)
	}
	return acts
}

// create creates the Run that plans a Stack, unless it exists. It cannot belong to the PullRequest, which may be in
// another namespace, so it belongs to the Stack, unless that does not exist. It returns the UID, empty if there is no
// Run.
func (r *Reconciler) create(ctx context.Context, pull *v1alpha1.PullRequest, s v1alpha1.PullRequestStack,
	a Affected) (types.UID, error) {
	isController := true
	owner := metav1.OwnerReference{Kind: "Stack", Name: s.Name, UID: types.UID(a.UID)}
	if a.New {
		owner = metav1.OwnerReference{Kind: "PullRequest", Name: pull.Name, UID: pull.UID}
	}
	owner.APIVersion, owner.Controller = v1alpha1.GroupVersion.String(), &isController
	run := &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: s.Run,
			Labels: map[string]string{runinfo.LabelStack: runinfo.LabelValue(s.Name),
				LabelPullRequest: string(pull.UID)},
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: v1alpha1.RunSpec{
			Stack: v1alpha1.ObjectRef{Name: s.Name}, Operation: v1alpha1.OperationPlan, InputsDigest: s.InputsDigest,
			Cause: v1alpha1.Cause{
				Type: v1alpha1.CausePullRequest, By: runinfo.Clip(pull.Spec.Author, 253),
				Message: runinfo.Clip(fmt.Sprintf("pull request %d: %s", pull.Spec.Number, pull.Spec.Title), 1000),
			},
			Revision: runinfo.Clip(a.Revision, 300), Source: a.Source,
			PullRequest: &v1alpha1.RunPullRequest{
				Namespace: pull.Namespace, Name: pull.Name, UID: pull.UID, PlanNumber: s.PlanNumber,
				DestroyInputsDigest: a.DestroyInputsDigest,
				NewStack:            a.New,
			},
		},
	}
	err := r.Client.Create(ctx, run)
	if apierrors.IsAlreadyExists(err) {
		err = r.Live.Get(ctx, client.ObjectKeyFromObject(run), run)
	}
	if err != nil {
		return "", fmt.Errorf("create Run %s/%s: %w", s.Namespace, s.Run, err)
	}
	return run.UID, r.deleteIfGone(ctx, pull, run)
}

// errGone: the PullRequest is being deleted, or is gone.
var errGone = errors.New("the PullRequest is gone")

// deleteIfGone deletes a Run that was created although the PullRequest is being deleted, so that nothing ends it:
// another process is the leader.
func (r *Reconciler) deleteIfGone(ctx context.Context, pull *v1alpha1.PullRequest, run *v1alpha1.Run) error {
	newest := &v1alpha1.PullRequest{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(pull), newest)
	if client.IgnoreNotFound(err) != nil || (err == nil && newest.UID == pull.UID && newest.DeletionTimestamp == nil) {
		return err
	}
	err = r.Client.Delete(ctx, run, client.Preconditions{UID: &run.UID}, client.DisableReadYourWritesConsistency)
	return cmp.Or(client.IgnoreNotFound(err), errGone)
}

// end cancels a Run that is not finished, and deletes one that is. It returns whether the Run is gone.
func (r *Reconciler) end(ctx context.Context, key Key, pull *v1alpha1.PullRequest) (gone bool, err error) {
	run := &v1alpha1.Run{}
	err = r.Live.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, run)
	if apierrors.IsNotFound(err) ||
		(err == nil && (run.Spec.PullRequest == nil || run.Spec.PullRequest.UID != pull.UID)) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if !run.Status.Phase.Finished() {
		if run.Spec.Cancel {
			return false, nil
		}
		before := run.DeepCopy()
		run.Spec.Cancel = true
		change := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		return false, ignoreConflict(
			client.IgnoreNotFound(r.Client.Patch(ctx, run, change, client.DisableReadYourWritesConsistency)))
	}
	if err := r.Runs.Forget(ctx, run); err != nil {
		return false, err
	}
	return true, ignoreConflict(client.IgnoreNotFound(r.Client.Delete(ctx, run, client.Preconditions{UID: &run.UID},
		client.DisableReadYourWritesConsistency))) // a cache that has no such Runs never hears that one is gone
}

// finishAgain is when the end of the Runs of a deleted PullRequest is checked again.
const finishAgain = 2 * time.Second

// finish ends all Runs of a PullRequest that is being deleted, then removes its finalizer.
func (r *Reconciler) finish(ctx context.Context, pull *v1alpha1.PullRequest) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(pull, v1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	namespaces, err := r.namespaces(ctx, pull)
	if err != nil {
		return ctrl.Result{}, err
	}
	left := false
	for namespace := range namespaces {
		var runs v1alpha1.RunList
		if err := r.Live.List(ctx, &runs, client.InNamespace(namespace),
			client.MatchingLabels{LabelPullRequest: string(pull.UID)}); err != nil {
			return ctrl.Result{}, err
		}
		for _, run := range runs.Items {
			gone, err := r.end(ctx, Key{run.Namespace, run.Name}, pull)
			if err != nil {
				return ctrl.Result{}, err
			}
			left = left || !gone
		}
	}
	if left {
		return ctrl.Result{RequeueAfter: finishAgain}, nil
	}
	r.Merger.Forget(pull.UID)
	before := pull.DeepCopy()
	controllerutil.RemoveFinalizer(pull, v1alpha1.Finalizer)
	return ctrl.Result{}, client.IgnoreNotFound(r.Client.Patch(ctx, pull, client.MergeFrom(before)))
}

// namespaces returns the namespaces in which a PullRequest can have Runs.
func (r *Reconciler) namespaces(ctx context.Context, pull *v1alpha1.PullRequest) (map[string]bool, error) {
	namespaces := map[string]bool{pull.Namespace: true}
	for _, s := range pull.Status.Stacks {
		namespaces[s.Namespace] = true
	}
	var stacks v1alpha1.StackList
	reads := client.MatchingFields{repository.StackIndex: pull.Namespace + "/" + pull.Spec.Repository.Name}
	err := r.Client.List(ctx, &stacks, reads, client.UnsafeDisableDeepCopy)
	for i := range stacks.Items {
		namespaces[stacks.Items[i].Namespace] = true
	}
	return namespaces, err
}
