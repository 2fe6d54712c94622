package pullrequest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/outbox"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/source/git"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// Discovery creates a PullRequest for each open pull request of a Repository, and updates its spec.
type Discovery struct {
	Client client.Client
	// Provider returns the Provider of a Repository; a ConfigError if a user has to correct something.
	Provider func(context.Context, *v1alpha1.Repository) (Provider, error)
	// Mine reports whether this operator manages a namespace; nil for all.
	Mine func(namespace string) bool
	// Clock returns the time; time.Now when nil.
	Clock func() time.Time

	lists cache[types.NamespacedName, list]
}

// list is the last list of open pull requests of a Repository.
type list struct {
	of      types.UID
	version pulls.Version
	// at is when it was requested, for which generation and request of the Repository.
	at         time.Time
	generation int64
	request    string
	failures   int
	// complete is when a list was compared with all PullRequests, even if nothing changed at the Git provider.
	complete time.Time
}

const (
	// retryFirst is the delay after the first failed request to a Git provider.
	retryFirst = 10 * time.Second
	// requestTimeout is the maximum duration of all requests of one reconcile.
	requestTimeout = time.Minute
	// relist is the longest time between two comparisons of the list with all PullRequests.
	relist = 10 * time.Minute
	// cacheDelay is the time that a cache gets to receive the newest version of an object.
	cacheDelay = time.Second
)

// Reconcile lists the open pull requests of a Repository if that is due.
func (d *Discovery) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	repo := &v1alpha1.Repository{}
	err := d.Client.Get(ctx, req.NamespacedName, repo)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if d.Mine != nil && !d.Mine(req.Namespace) {
		return ctrl.Result{}, nil
	}
	if err != nil || repo.DeletionTimestamp != nil || repo.Spec.PullRequests == nil {
		if err == nil {
			err = d.report(ctx, repo, nil)
		}
		return ctrl.Result{}, errors.Join(client.IgnoreNotFound(err), d.deleteAll(ctx, req.NamespacedName))
	}
	last, _ := d.lists.get(req.NamespacedName)
	if last.of != repo.UID {
		last = list{}
	}
	interval := repo.Spec.PullRequests.Interval.Duration
	asked := last.generation != repo.Generation || last.request != repo.Annotations[v1alpha1.RequestedAtAnnotation]
	if wait := last.at.Add(last.delay(interval)).Sub(now(d.Clock)); !asked && wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	next := list{of: repo.UID, version: last.version, at: now(d.Clock), generation: repo.Generation,
		request: repo.Annotations[v1alpha1.RequestedAtAnnotation]}
	if last.generation != repo.Generation {
		next.version = ""
	}
	if now(d.Clock).Sub(last.complete) < relist {
		next.complete = last.complete
	} else {
		next.version, next.complete = "", next.at
	}
	err = d.update(ctx, repo, &next)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err): // the cache is not up to date
		return ctrl.Result{RequeueAfter: cacheDelay}, nil
	case apierrors.IsAlreadyExists(err): // or a user created an object of that name, which stays
		return ctrl.Result{RequeueAfter: retryFirst}, nil
	}
	if failure := failureOf(err); err != nil && failure == nil {
		return ctrl.Result{}, err
	} else if failure != nil {
		next.failures = last.failures + 1
	}
	d.lists.add(req.NamespacedName, next)
	delay := cmp.Or(retryAfter(err), next.delay(interval))
	return ctrl.Result{RequeueAfter: delay}, ignoreConflict(client.IgnoreNotFound(d.report(ctx, repo, listed(err))))
}

// delay is the time until the next request.
func (l list) delay(interval time.Duration) time.Duration {
	if l.failures == 0 {
		return interval
	}
	return min(outbox.Backoff(l.failures), max(interval, retryFirst))
}

// retryAfter returns the time that the Git provider requested to wait; 0 for none.
func retryAfter(err error) time.Duration {
	if response, ok := errors.AsType[*pulls.Error](err); ok {
		return response.RetryAfter
	}
	return 0
}

// failureOf returns an error that is reported as a condition; nil for one of the API server.
func failureOf(err error) error {
	config, response := (*ConfigError)(nil), (*pulls.Error)(nil)
	if errors.As(err, &config) || errors.As(err, &response) || errors.Is(err, pulls.ErrTooMany) {
		return err
	}
	return nil
}

// update lists the open pull requests and writes the PullRequests that changed.
func (d *Discovery) update(ctx context.Context, repo *v1alpha1.Repository, next *list) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := d.contextInUse(ctx, repo); err != nil {
		return err
	}
	provider, err := d.Provider(ctx, repo)
	if err != nil {
		return err
	}
	open, version, err := provider.Open(ctx, next.version)
	if errors.Is(err, pulls.ErrUnchanged) {
		return nil
	}
	if err != nil {
		return err
	}
	var known v1alpha1.PullRequestList
	if err := d.Client.List(ctx, &known, client.InNamespace(repo.Namespace),
		client.MatchingFields{repository.PullRequestIndex: repo.Name}); err != nil {
		return err
	}
	rest := map[int64]*v1alpha1.PullRequest{}
	for i := range known.Items {
		rest[known.Items[i].Spec.Number] = &known.Items[i]
	}
	for _, p := range open {
		err := d.write(ctx, repo, provider, rest[int64(p.Number)], p)
		if apierrors.IsInvalid(err) { // one without commits, for example, which does not hold up the others
			ctrl.LoggerFrom(ctx).Info("pull request ignored", "number", p.Number, "error", err.Error())
		} else if err != nil {
			return err
		}
		delete(rest, int64(p.Number))
	}
	for number, pull := range rest { // it is no longer open
		if pull.Spec.State != v1alpha1.PullRequestOpen {
			continue
		}
		p, err := provider.Get(ctx, int(number))
		if pulls.KindOf(err) == pulls.NotFound {
			p, err = pulls.PullRequest{Number: int(number), State: pulls.Closed,
				Head: pulls.Ref{Commit: pull.Spec.Head.Commit}, Base: pulls.Ref{Branch: pull.Spec.Base}}, nil
		}
		if err != nil {
			return err
		}
		p.Head.Commit = cmp.Or(p.Head.Commit, pull.Spec.Head.Commit) // Bitbucket Cloud has none of a deleted fork
		if err := d.write(ctx, repo, provider, pull, p); err != nil {
			return err
		}
	}
	next.version = version
	return nil
}

// contextInUse returns a ConfigError if an earlier Repository reports on the same pull requests with the same
// statuses: of two, the last one counts at the Git provider, also a success after a failure. What this one reported
// before is deleted.
func (d *Discovery) contextInUse(ctx context.Context, repo *v1alpha1.Repository) error {
	var all v1alpha1.RepositoryList
	if err := d.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range all.Items {
		if !reportsBefore(&all.Items[i], repo) {
			continue
		}
		if err := d.deleteAll(ctx, client.ObjectKeyFromObject(repo)); err != nil {
			return err
		}
		return &ConfigError{v1alpha1.ReasonStatusContextInUse,
			fmt.Sprintf("another Repository of this installation reports on these pull "+
				"requests with the status %s: set another spec.pullRequests.statusContext",
				repo.Spec.PullRequests.StatusContext)}
	}
	return nil
}

// reportsBefore reports whether a Repository has the statuses of the pull requests of a later one. One whose pull
// requests cannot be listed has none.
func reportsBefore(other, repo *v1alpha1.Repository) bool {
	theirs := other.Spec.PullRequests
	if other.UID == repo.UID || theirs == nil || other.DeletionTimestamp != nil ||
		theirs.StatusContext != repo.Spec.PullRequests.StatusContext ||
		!apimeta.IsStatusConditionTrue(other.Status.Conditions, v1alpha1.ConditionPullRequests) ||
		cmp.Or(other.CreationTimestamp.Compare(repo.CreationTimestamp.Time),
			cmp.Compare(other.Namespace, repo.Namespace),
			cmp.Compare(other.Name, repo.Name)) > 0 {
		return false
	}
	base, path, err := locate(repo)
	otherBase, otherPath, wrong := locate(other)
	return err == nil && wrong == nil && strings.EqualFold(base.Host, otherBase.Host) &&
		strings.EqualFold(strings.Join(path, "/"), strings.Join(otherPath, "/"))
}

// write creates or updates a PullRequest.
func (d *Discovery) write(ctx context.Context, repo *v1alpha1.Repository, provider Provider,
	known *v1alpha1.PullRequest, p pulls.PullRequest) error {
	spec := specOf(repo, provider, p)
	if known != nil {
		if equality.Semantic.DeepEqual(known.Spec, spec) {
			return nil
		}
		before := known.DeepCopy()
		known.Spec = spec
		return d.Client.Patch(ctx, known, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	made := &v1alpha1.PullRequest{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: repo.Namespace, Name: fmt.Sprintf("%s-%d", repo.Name, p.Number),
			Labels:     map[string]string{v1alpha1.ManagedByLabel: v1alpha1.ManagedBy},
			Finalizers: []string{v1alpha1.Finalizer},
		},
		Spec: spec,
	}
	return d.Client.Create(ctx, made)
}

// specOf returns the spec of a PullRequest.
func specOf(repo *v1alpha1.Repository, provider Provider, p pulls.PullRequest) v1alpha1.PullRequestSpec {
	return v1alpha1.PullRequestSpec{
		Repository: v1alpha1.ObjectRef{Name: repo.Name}, Number: int64(p.Number), URL: runinfo.Clip(p.URL, 2000),
		Title: runinfo.Clip(p.Title, 255), Author: provider.User(p.Author), State: v1alpha1.PullRequestState(p.State),
		MergeCommit: mergeCommit(p), Draft: p.Draft, Fork: p.Fork,
		Head: v1alpha1.PullRequestHead{Branch: runinfo.Clip(p.Head.Branch, 255), Commit: p.Head.Commit},
		Base: p.Base.Branch, UpdatedAt: metav1.NewTime(p.Updated).Rfc3339Copy(),
	}
}

// mergeCommit returns the commit of a merge; empty if it is none of SHA-1.
func mergeCommit(p pulls.PullRequest) string {
	if len(p.MergeCommit) != 40 || !git.IsCommitID(p.MergeCommit) {
		return ""
	}
	return p.MergeCommit
}

// deleted requests the list again after a PullRequest was deleted, since it may still be open.
func (d *Discovery) deleted(_ context.Context, o client.Object) []reconcile.Request {
	repo := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.(*v1alpha1.PullRequest).Spec.Repository.Name}
	d.lists.add(repo, list{})
	return []reconcile.Request{{NamespacedName: repo}}
}

// deleteAll deletes the PullRequests of a Repository that is deleted or does not plan pull requests any more.
func (d *Discovery) deleteAll(ctx context.Context, repo types.NamespacedName) error {
	var known v1alpha1.PullRequestList
	if err := d.Client.List(ctx, &known, client.InNamespace(repo.Namespace),
		client.MatchingFields{repository.PullRequestIndex: repo.Name}); err != nil {
		return err
	}
	var errs []error
	for i := range known.Items {
		if known.Items[i].DeletionTimestamp == nil {
			errs = append(errs, client.IgnoreNotFound(d.Client.Delete(ctx, &known.Items[i])))
		}
	}
	return errors.Join(errs...)
}

// listed returns the condition about the last list.
func listed(err error) *metav1.Condition {
	c := &metav1.Condition{Type: v1alpha1.ConditionPullRequests, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonListed, Message: "the open pull requests are known"}
	if err == nil {
		return c
	}
	c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonProviderFailed,
		runinfo.Clip(err.Error(), maxMessage)
	if config := (*ConfigError)(nil); errors.As(err, &config) {
		c.Reason = config.Reason
	}
	return c
}

// report writes the condition about pull requests, nil for none, if it changed.
func (d *Discovery) report(ctx context.Context, repo *v1alpha1.Repository, c *metav1.Condition) error {
	before := repo.DeepCopy()
	if c == nil {
		apimeta.RemoveStatusCondition(&repo.Status.Conditions, v1alpha1.ConditionPullRequests)
	} else {
		c.ObservedGeneration = repo.Generation
		if was := apimeta.FindStatusCondition(repo.Status.Conditions, c.Type); was != nil && was.Reason == c.Reason {
			c.Message = runinfo.KeepIfEquivalent(was.Message, c.Message)
		}
		apimeta.SetStatusCondition(&repo.Status.Conditions, *c)
	}
	if equality.Semantic.DeepEqual(before.Status, repo.Status) {
		return nil
	}
	return d.Client.Status().Patch(ctx, repo, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}
