// Package pullrequest has the controllers of pull requests: Discovery creates a PullRequest for each that is open at
// the Git provider; Reconciler plans the Stacks that it affects, and reports to the Git provider.
//
// What is to be reported is derived from the status each time, and status.delivered is the ledger of package outbox:
// what the Git provider has received. So nothing is lost by a restart or while the Git provider does not respond.
package pullrequest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/outbox"
	"cairn.dev/cairn/internal/controller/statuswrite"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// Merger merges the heads of pull requests into their bases.
type Merger interface {
	// Merge merges the head into the base and finds the affected Stacks, with their inputs if they are to be planned.
	// The snapshot gets the result, whether the pull request is restricted, or why the merge is not known.
	Merge(ctx context.Context, w *Snapshot, repo *v1alpha1.Repository, provider Provider) error
	// Merged returns the history of a base with the commit of a merge.
	Merged(ctx context.Context, repo *v1alpha1.Repository, base, commit string) (Merged, error)
	// SameInputs reports whether the plan of a pull request and that of a Run of the Stack, each named by the digest of
	// its inputs, are of the same code, values and engine.
	SameInputs(ctx context.Context, ofPull, ofRun string) (bool, error)
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

	readings cache[types.UID, reading]
	// reviewed is the last time when the reviews were read.
	reviewed cache[types.UID, reading]
	// evaluated is the last time when the requirements of an apply were evaluated.
	evaluated cache[types.UID, evaluation]
	// commented is when the comment was written last.
	commented cache[types.UID, time.Time]
	receivers outbox.Receivers
}

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
	// no request to the Git provider
	if isSettled(pull) && isReported(pull) && pull.Spec.State != v1alpha1.PullRequestOpen {
		if acts := r.act(ctx, pull, pull, Snapshot{}); acts.err != nil {
			return ctrl.Result{}, acts.err
		}
		return r.keep(ctx, pull)
	}
	provider, err := r.Provider(ctx, repo)
	if config := (*ConfigError)(nil); errors.As(err, &config) { // the Repository reports it
		if pull.Status.Phase.Ended() && pull.Status.EndedAt != nil {
			return r.keep(ctx, pull)
		}
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.reconcile(ctx, pull, repo, provider)
}

func (r *Reconciler) reconcile(
	ctx context.Context, pull *v1alpha1.PullRequest, repo *v1alpha1.Repository, provider Provider,
) (ctrl.Result, error) {
	w, err := r.gather(ctx, pull, repo, provider)
	if err != nil {
		return r.retry(ctx, pull, err)
	}
	r.receivers.Succeeded(string(pull.UID)) // which retry names
	d := Decide(w)
	persisted, err := r.persist(ctx, pull, d)
	if err != nil {
		return statuswrite.Failed(err, cacheDelay)
	}
	runs := r.act(ctx, pull, persisted, w)
	runs.err = errors.Join(runs.err, r.carry(ctx, d.Carried), r.writeRequired(ctx, w.Required))
	if errors.Is(runs.err, errGone) {
		return ctrl.Result{}, nil
	}
	clock := func() time.Time { return now(r.Clock) }
	var got received
	sent := outbox.Send(ctx, clock, d.Messages, &r.receivers, r.sender(persisted, provider, &got))
	if sent.Lost != nil {
		ctrl.LoggerFrom(ctx).Info("reaction not sent", "error", sent.Lost.Error()) // the comment has the answer
	}
	acknowledged := acknowledge(persisted.Status, runs, sent)
	got.merge.record(&acknowledged)
	if repo.Spec.PullRequests.CarryApproval.Accepts(v1alpha1.ApprovalReviews) {
		show(&acknowledged, got.written)
	}
	if err := r.acknowledge(ctx, persisted, acknowledged); err != nil {
		return statuswrite.Failed(err, cacheDelay)
	}
	switch {
	case runs.err != nil:
		return ctrl.Result{}, runs.err
	case sent.Wait > 0:
		return ctrl.Result{RequeueAfter: sent.Wait}, nil
	case d.Status.Phase.Ended():
		result, err := r.keep(ctx, persisted)
		if err == nil && result.RequeueAfter > 0 {
			result.RequeueAfter = sooner(result.RequeueAfter, d.Again)
		}
		return result, err
	}
	if got.merge != nil { // of which the comment has the answer
		d.Again = sooner(d.Again, cacheDelay)
	}
	return ctrl.Result{RequeueAfter: d.Again}, nil
}

// kept is how long a PullRequest and its plans stay after the pull request is merged or closed: statuses and the
// comment link to them.
const kept = 14 * 24 * time.Hour

// keep deletes a PullRequest whose pull request ended when that is due.
func (r *Reconciler) keep(ctx context.Context, pull *v1alpha1.PullRequest) (ctrl.Result, error) {
	if wait := pull.Status.EndedAt.Add(kept).Sub(now(r.Clock)); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(r.Client.Delete(ctx, pull))
}

// gather reads what the decision needs. What a comment requested is in the status of the snapshot; the reactions to
// it are due once that is written.
func (r *Reconciler) gather(
	ctx context.Context, pull *v1alpha1.PullRequest, repo *v1alpha1.Repository, provider Provider,
) (w Snapshot, err error) {
	w = Snapshot{
		Now: now(r.Clock), PullRequest: pull.DeepCopy(), Repository: repo, Settings: repo.Spec.PullRequests,
		WebURL: r.WebURL,
	}
	w.CommentedAt, _ = r.commented.get(pull.UID)
	if phase, _ := w.phase(); phase == v1alpha1.PullRequestMerging { // the others need no merge
		if err := r.merge(ctx, &w, repo, provider); err != nil {
			return w, err
		}
	}
	if w.Reactions, w.ReadAgain, err = r.commands(ctx, &w, provider); err != nil {
		return w, fmt.Errorf("read comments: %w", err)
	}
	if len(w.Reactions) > 0 { // what was requested needs inputs
		if err := r.merge(ctx, &w, repo, provider); err != nil {
			return w, err
		}
	}
	if w.Others, err = sharing(ctx, r.Client, pull); err != nil {
		return w, err
	}
	if err := r.gatherAfter(ctx, &w, repo); err != nil {
		return w, err
	}
	if err := r.gatherHolds(ctx, &w, repo); err != nil {
		return w, err
	}
	if err := r.gatherHolders(ctx, &w, repo); err != nil {
		return w, err
	}
	if err := r.gatherReviews(ctx, &w, provider); err != nil {
		return w, fmt.Errorf("read reviews: %w", err)
	}
	r.gatherRequirements(ctx, &w, provider)
	r.gatherRequired(ctx, &w, provider)
	if err := r.gatherCarried(ctx, &w, provider); err != nil {
		return w, fmt.Errorf("read whether approvals count: %w", err)
	}
	if err := r.gatherRuns(ctx, &w); err != nil {
		return w, err
	}
	return w, r.gatherReaders(ctx, &w)
}

// merge merges the head into the base. If the pull request may be merged already, it reads whether it is: the merge
// of one that is not open is not used.
func (r *Reconciler) merge(ctx context.Context, w *Snapshot, repo *v1alpha1.Repository, provider Provider) error {
	if err := r.Merger.Merge(ctx, w, repo, provider); err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	if !w.mayBeMerged() {
		return nil
	}
	p, err := provider.Get(ctx, int(w.PullRequest.Spec.Number))
	if pulls.KindOf(err) == pulls.NotFound {
		p, err = pulls.PullRequest{State: pulls.Closed}, nil
	}
	if err != nil {
		return fmt.Errorf("read the pull request: %w", err)
	}
	if p.State != pulls.Open {
		w.Merge, w.PullRequest.Spec.State = nil, v1alpha1.PullRequestState(p.State)
		w.PullRequest.Spec.MergeCommit = mergeCommit(p)
	}
	return nil
}

// mayBeMerged reports whether a new merge changes nothing, or plans less than the one before. The reason may be that
// the pull request is merged, and that the base was fetched since the list that has it as open.
func (w *Snapshot) mayBeMerged() bool {
	known := cmp.Or(w.PullRequest.Status.Merge, &v1alpha1.PullRequestMerge{})
	if w.Merge == nil || known.Base == w.Merge.Base && known.Head == w.Merge.Head {
		return false
	}
	return w.Merge.Empty || slices.ContainsFunc(w.PullRequest.Status.Stacks, func(s v1alpha1.PullRequestStack) bool {
		return !slices.ContainsFunc(w.Merge.Affected, func(a Affected) bool {
			return a.Key == Key{s.Namespace, s.Name}
		})
	})
}

// gatherRuns reads the Runs of the status that are not finished there.
func (r *Reconciler) gatherRuns(ctx context.Context, w *Snapshot) error {
	w.Runs, w.Unapplied = map[Key]*v1alpha1.Run{}, map[Key]string{}
	for _, s := range w.PullRequest.Status.Stacks {
		if s.Run == "" || s.Phase.Finished() {
			continue
		}
		run := &v1alpha1.Run{}
		key := client.ObjectKey{Namespace: s.Namespace, Name: s.Run}
		err := r.Client.Get(ctx, key, run)
		if apierrors.IsNotFound(err) || err == nil && hasFindings(run) { // which the cache does not have
			err = r.Live.Get(ctx, key, run)
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err != nil {
			continue
		}
		w.Runs[Key{s.Namespace, s.Run}] = run
		if !run.Status.Phase.Finished() {
			continue
		}
		stack := &v1alpha1.Stack{}
		if err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name},
			stack); client.IgnoreNotFound(err) != nil {
			return err
		}
		if run := unappliedRun(stack); run != "" {
			w.Unapplied[Key{s.Namespace, s.Name}] = run
		}
	}
	return nil
}

// unappliedRun returns the Run of a Stack with changes that are not applied; empty if there is none.
func unappliedRun(stack *v1alpha1.Stack) string {
	status := stack.Status
	if status.InputsDigest == status.AppliedInputsDigest {
		return ""
	}
	return cmp.Or(status.CurrentRun, status.LastRun)
}

// hasFindings reports whether policies have findings about the plan of a finished Run.
func hasFindings(run *v1alpha1.Run) bool {
	plan := run.Status.Plan
	return run.Status.Phase.Finished() && plan != nil && plan.Policy != nil &&
		plan.Policy.Denied+plan.Policy.ApprovalRequired+plan.Policy.Warned > 0
}

// retry records an error of the Git provider while facts were gathered, and retries later and later, since it may not
// respond for hours, or after the time that it requests. Other errors are returned.
func (r *Reconciler) retry(ctx context.Context, pull *v1alpha1.PullRequest, err error) (ctrl.Result, error) {
	if failureOf(err) == nil {
		return ctrl.Result{}, err
	}
	failed := pull.DeepCopy()
	failed.Status.Delivered.Failure = messageOf(err, pull.Status.Delivered.Failure)
	wait := r.receivers.Failed(now(r.Clock), string(pull.UID), retryAfter(err))
	return ctrl.Result{RequeueAfter: wait},
		ignoreConflict(client.IgnoreNotFound(statuswrite.Patch(ctx, r.Client, pull, failed)))
}

// persist writes the status of a decision, and before it, to the pull requests whose head was left, that they send
// again.
func (r *Reconciler) persist(ctx context.Context, pull *v1alpha1.PullRequest, d Decision) (*v1alpha1.PullRequest,
	error) {
	for _, other := range d.Left {
		if err := r.Client.Status().Patch(ctx, other.DeepCopy(), resend); client.IgnoreNotFound(err) != nil {
			return nil, err
		}
	}
	persisted := pull.DeepCopy()
	persisted.Status = d.Status
	return persisted, statuswrite.Patch(ctx, r.Client, pull, persisted)
}

// acknowledge writes what was done. If the PullRequest changed meanwhile, what was sent may have replaced what
// another process sent, so that everything is sent again.
func (r *Reconciler) acknowledge(
	ctx context.Context, persisted *v1alpha1.PullRequest, status v1alpha1.PullRequestStatus,
) error {
	done := persisted.DeepCopy()
	done.Status = status
	err := statuswrite.Patch(ctx, r.Client, persisted, done)
	if apierrors.IsConflict(err) {
		return cmp.Or(r.Client.Status().Patch(ctx, done, resendAll(persisted)), err)
	}
	return client.IgnoreNotFound(err)
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
