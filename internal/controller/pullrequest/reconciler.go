// Package pullrequest has the controllers of pull requests: Discovery creates a PullRequest for each that is open at the Git
// provider; Reconciler plans the Stacks that it affects, and reports to the Git provider.
//
// What is to be reported is derived from the status each time, and status.delivered has what the Git provider has received.
// So nothing is lost by a restart or while the Git provider does not respond, and nothing is sent twice.
package pullrequest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// Runs deletes the objects of a Run in the bucket.
type Runs interface {
	Forget(ctx context.Context, r *v1alpha1.Run) error
}

// Merger merges the heads of pull requests into their bases.
type Merger interface {
	// Merge merges the head into the base and finds the affected Stacks, with their inputs if they are to be planned. The
	// snapshot gets the result, whether the pull request is restricted, or why the merge is not known.
	Merge(ctx context.Context, w *Snapshot, repo *v1alpha1.Repository, provider Provider) error
	// Forget drops what is in memory about a PullRequest.
	Forget(pull types.UID)
}

// Reconciler plans the Stacks that a pull request affects, and reports to the Git provider.
type Reconciler struct {
	Client client.Client
	// Live reads Runs that the cache does not have: it has none that succeeded.
	Live   client.Reader
	Merger Merger
	// Access decides what users may do.
	Access Access
	// Provider returns the Provider of a Repository; a ConfigError if a user has to correct something.
	Provider func(context.Context, *v1alpha1.Repository) (Provider, error)
	Runs     Runs
	Plans    Plans
	// WebURL is where users find the web UI; empty for no links to it.
	WebURL string
	// Clock returns the time; time.Now when nil.
	Clock func() time.Time

	failures cache[types.UID, int]
	readings cache[types.UID, reading]
	// sent is when a comment was written last.
	sent cache[types.UID, time.Time]
}

// fetchFirst and fetchLongest bound the time until a pull request in progress is checked again. There may be no event when
// the head is fetched, when what a plan waits for exists, or for a Run that ends before the cache has it. In between, it is as
// long as the pull request has waited.
const fetchFirst, fetchLongest = 2 * time.Second, time.Minute

// LabelPullRequest is the label of Runs with the UID of their PullRequest.
const LabelPullRequest = "cairn.dev/pull-request"

// Reconcile gathers, decides, creates Runs, writes the status, and reports to the Git provider.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pull := &v1alpha1.PullRequest{}
	if err := r.Client.Get(ctx, req.NamespacedName, pull); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if pull.DeletionTimestamp != nil {
		return r.finish(ctx, pull)
	}
	repo := &v1alpha1.Repository{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: pull.Namespace, Name: pull.Spec.Repository.Name}, repo)
	if apierrors.IsNotFound(err) || (err == nil && repo.Spec.PullRequests == nil) {
		return ctrl.Result{}, client.IgnoreNotFound(r.Client.Delete(ctx, pull))
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	provider, err := r.Provider(ctx, repo)
	if config := (*ConfigError)(nil); errors.As(err, &config) {
		return ctrl.Result{}, nil // the Repository reports it
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.reconcile(ctx, pull, repo, provider)
}

func (r *Reconciler) reconcile(ctx context.Context, pull *v1alpha1.PullRequest, repo *v1alpha1.Repository, provider Provider) (ctrl.Result, error) {
	before := pull.DeepCopy()
	w := Snapshot{Now: now(r.Clock), PullRequest: pull, Settings: repo.Spec.PullRequests}
	reactions, again, err := r.gather(ctx, &w, repo, provider)
	if err != nil {
		pull.Status = before.Status
		return r.retry(ctx, before, pull, err)
	}
	pull.Status = Decide(w)
	if err := r.leave(ctx, pull); err != nil {
		return ctrl.Result{}, err
	}
	report := r.reportOf(pull, repo)
	due, err := r.dueStatuses(ctx, pull, repo)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := announce(pull, report, due); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.report(ctx, before, pull); apierrors.IsConflict(err) { // with an annotation, for example, which is no event here
		return ctrl.Result{RequeueAfter: cacheDelay}, nil
	} else if err != nil { // the names of Runs are written before these are created
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	reported := pull.DeepCopy()
	acted := r.act(ctx, before, pull, w)
	if errors.Is(acted, errGone) {
		return ctrl.Result{}, nil
	}
	for _, reaction := range reactions {
		if err := provider.React(ctx, int(pull.Spec.Number), reaction.comment, reaction.reaction); err != nil {
			ctrl.LoggerFrom(ctx).Info("reaction not sent", "comment", reaction.comment, "error", err.Error()) // the comment has the answer
		}
	}
	later, err := r.deliver(ctx, pull, report, due, provider)
	if err != nil && (pull.Status.Phase != v1alpha1.PullRequestEnded || !rejects(err)) {
		result, err := r.retry(ctx, reported, pull, err)
		return result, errors.Join(acted, err)
	}
	pull.Status.Delivered.Failure = ""
	r.failures.add(pull.UID, 0)
	if err := r.record(ctx, reported, pull); apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: cacheDelay}, nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	if acted != nil {
		return ctrl.Result{}, acted
	}
	if pull.Status.Phase == v1alpha1.PullRequestEnded {
		return ctrl.Result{}, client.IgnoreNotFound(r.Client.Delete(ctx, pull))
	}
	ready := apimeta.FindStatusCondition(pull.Status.Conditions, v1alpha1.ConditionReady)
	if ready.Status == metav1.ConditionUnknown {
		waited := now(r.Clock).Sub(ready.LastTransitionTime.Time)
		if next := min(max(waited, fetchFirst), fetchLongest); later == 0 || next < later {
			later = next
		}
	}
	if again == 0 || (later > 0 && later < again) {
		again = later
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// rejects reports whether the Git provider rejected a request that it would not accept later either: for example the commit or the
// repository is gone, or the repository is archived.
func rejects(err error) bool {
	switch pulls.KindOf(err) {
	case pulls.NotFound, pulls.Forbidden, pulls.NotAllowed, pulls.Invalid:
		return true
	}
	return false
}

// gather reads what the decision needs. What a comment requested is in the status of the snapshot; the reactions to it are due once
// that is written.
func (r *Reconciler) gather(ctx context.Context, w *Snapshot, repo *v1alpha1.Repository, provider Provider) (reactions []result, again time.Duration, err error) {
	if phase, _ := w.phase(); phase == v1alpha1.PullRequestMerging { // the others need no merge
		if err := r.Merger.Merge(ctx, w, repo, provider); err != nil {
			return nil, 0, fmt.Errorf("merge: %w", err)
		}
	}
	reactions, again, err = r.commands(ctx, w, provider)
	if err != nil {
		return nil, 0, fmt.Errorf("read comments: %w", err)
	}
	if len(reactions) > 0 { // what was requested needs inputs
		if err := r.Merger.Merge(ctx, w, repo, provider); err != nil {
			return nil, 0, fmt.Errorf("merge: %w", err)
		}
	}
	return reactions, again, r.gatherRuns(ctx, w)
}

// gatherRuns reads the Runs of the status that are not finished there.
func (r *Reconciler) gatherRuns(ctx context.Context, w *Snapshot) error {
	w.Runs = map[Key]*v1alpha1.Run{}
	for _, s := range w.PullRequest.Status.Stacks {
		if s.Run == "" || s.Phase.Finished() {
			continue
		}
		run := &v1alpha1.Run{}
		key := client.ObjectKey{Namespace: s.Namespace, Name: s.Run}
		err := r.Client.Get(ctx, key, run)
		if apierrors.IsNotFound(err) {
			err = r.Live.Get(ctx, key, run)
		}
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return err
		default:
			w.Runs[Key{s.Namespace, s.Run}] = run
		}
	}
	return nil
}

// retry records an error of the Git provider, and retries later and later, since it may not respond for hours, or after the time
// that it requests. Other errors are returned.
func (r *Reconciler) retry(ctx context.Context, before, pull *v1alpha1.PullRequest, err error) (ctrl.Result, error) {
	response := (*pulls.Error)(nil)
	if errors.Is(err, pulls.ErrTooMany) {
		response = &pulls.Error{}
	} else if !errors.As(err, &response) {
		return ctrl.Result{}, errors.Join(err, r.record(ctx, before, pull))
	}
	pull.Status.Delivered.Failure = runinfo.KeepIfEquivalent(pull.Status.Delivered.Failure, runinfo.Clip(err.Error(), maxMessage))
	failures, _ := r.failures.get(pull.UID)
	r.failures.add(pull.UID, failures+1)
	wait := min(retryFirst<<min(failures, 10), retryLongest)
	return ctrl.Result{RequeueAfter: max(wait, response.RetryAfter)}, ignoreConflict(r.record(ctx, before, pull))
}

// act creates the Runs of the next status, and ends those that it does not have. A Run that cannot be created delays no other, and
// the status has the reason.
func (r *Reconciler) act(ctx context.Context, before, pull *v1alpha1.PullRequest, w Snapshot) error {
	current := map[Key]bool{}
	var errs []error
	for i := range pull.Status.Stacks {
		s := &pull.Status.Stacks[i]
		current[Key{s.Namespace, s.Run}] = true
		if s.Run == "" || s.Phase.Finished() || w.Merge == nil || w.Runs[Key{s.Namespace, s.Run}] != nil {
			continue // also one that a user deleted is created
		}
		for _, a := range w.Merge.Affected {
			if a.Key == (Key{s.Namespace, s.Name}) {
				err := r.create(ctx, pull, s, a)
				if err != nil {
					s.Message = runinfo.KeepIfEquivalent(s.Message, runinfo.Clip(err.Error(), maxMessage))
				}
				errs = append(errs, err)
			}
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
		return errors.Join(append(errs, err)...)
	}
	for i := range unfinished.Items {
		if run := &unfinished.Items[i]; run.Spec.PullRequest.PlanNumber <= pull.Status.Plans { // else it is of a newer status
			others = append(others, Key{run.Namespace, run.Name})
		}
	}
	for _, key := range others {
		if current[key] {
			continue
		}
		current[key] = true // once
		_, err := r.end(ctx, key, pull)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// create creates the Run that plans a Stack, unless it exists. It cannot belong to the PullRequest, which may be in another
// namespace, so it belongs to the Stack.
func (r *Reconciler) create(ctx context.Context, pull *v1alpha1.PullRequest, s *v1alpha1.PullRequestStack, a Affected) error {
	isController := true
	run := &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: s.Run,
			Labels: map[string]string{runinfo.LabelStack: runinfo.LabelValue(s.Name), LabelPullRequest: string(pull.UID)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "Stack", Name: s.Name, UID: types.UID(a.UID), Controller: &isController,
			}},
		},
		Spec: v1alpha1.RunSpec{
			Stack: v1alpha1.ObjectRef{Name: s.Name}, Operation: v1alpha1.OperationPlan, InputsDigest: s.InputsDigest,
			Cause: v1alpha1.Cause{
				Type: v1alpha1.CausePullRequest, By: runinfo.Clip(pull.Spec.Author, 253),
				Message: runinfo.Clip(fmt.Sprintf("pull request %d: %s", pull.Spec.Number, pull.Spec.Title), 1000),
			},
			Revision: runinfo.Clip(a.Revision, 300), Source: a.Source,
			PullRequest: &v1alpha1.RunPullRequest{
				Namespace: pull.Namespace, Name: pull.Name, UID: pull.UID, PlanNumber: s.PlanNumber, DestroyInputsDigest: a.DestroyInputsDigest,
			},
		},
	}
	err := r.Client.Create(ctx, run)
	if apierrors.IsAlreadyExists(err) {
		err = r.Live.Get(ctx, client.ObjectKeyFromObject(run), run)
	}
	if err != nil {
		return fmt.Errorf("create Run %s/%s: %w", s.Namespace, s.Run, err)
	}
	s.RunUID = run.UID
	return r.deleteIfGone(ctx, pull, run)
}

// errGone: the PullRequest is being deleted, or is gone.
var errGone = errors.New("the PullRequest is gone")

// deleteIfGone deletes a Run that was created although the PullRequest is being deleted, so that nothing ends it: another
// process is the leader.
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
	if apierrors.IsNotFound(err) || (err == nil && (run.Spec.PullRequest == nil || run.Spec.PullRequest.UID != pull.UID)) {
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
		return false, ignoreConflict(client.IgnoreNotFound(r.Client.Patch(ctx, run, change, client.DisableReadYourWritesConsistency)))
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
		if err := r.Live.List(ctx, &runs, client.InNamespace(namespace), client.MatchingLabels{LabelPullRequest: string(pull.UID)}); err != nil {
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

// report writes the status if it changed.
func (r *Reconciler) report(ctx context.Context, before, pull *v1alpha1.PullRequest) error {
	if equality.Semantic.DeepEqual(before.Status, pull.Status) {
		return nil
	}
	return r.Client.Status().Patch(ctx, pull, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// resend is a patch after which everything is sent to the Git provider again.
var resend = client.RawPatch(types.MergePatchType, []byte(`{"status":{"delivered":{"commentDigest":null,"head":null}}}`))

// leave lets the pull requests whose head this one had send their statuses again: it may have replaced them, and they may not have
// been reconciled while it had their head.
func (r *Reconciler) leave(ctx context.Context, pull *v1alpha1.PullRequest) error {
	head := pull.Status.Delivered.Head
	if head == "" || head == pull.Status.Head || pull.Status.Phase == v1alpha1.PullRequestEnded {
		return nil
	}
	others, err := withHead(ctx, r.Client, pull, head)
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.Spec.Head.Commit == head {
			if err := r.Client.Status().Patch(ctx, other.DeepCopy(), resend); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return nil
}

// record writes what the Git provider received. If the PullRequest changed meanwhile, what was sent may have replaced what
// another process sent, so that everything is sent again.
func (r *Reconciler) record(ctx context.Context, before, pull *v1alpha1.PullRequest) error {
	err := r.report(ctx, before, pull)
	if !apierrors.IsConflict(err) {
		return client.IgnoreNotFound(err)
	}
	if patched := r.Client.Status().Patch(ctx, pull, resend); patched != nil {
		return client.IgnoreNotFound(patched)
	}
	return err
}

func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil // the newer version is on its way as an event
	}
	return err
}

// now returns the time of a clock; that of this machine if it is nil.
func now(clock func() time.Time) time.Time {
	if clock != nil {
		return clock()
	}
	return time.Now()
}
