package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/tracing"
	"cairn.dev/cairn/internal/source/git"
)

// Reconciler fetches the mirrors of Repositories, and reports their status.
type Reconciler struct {
	Client client.Client
	// Live reads the Secrets with credentials, which no cache holds.
	Live    client.Reader
	Mirrors *Mirrors
	Events  events.EventRecorder
	// Traces receives a span for each commit that a fetch received; nil for none.
	Traces *tracing.Tracer
	// Mine reports whether this operator writes the status of Repositories of a namespace; nil for all. Of others
	// it only fetches the mirrors that its own Stacks read from.
	Mine func(namespace string) bool
	// Clock; time.Now when nil.
	Clock func() time.Time

	collected struct {
		sync.Mutex
		done bool
	}
}

// Reconcile gathers, decides, reports and begins a fetch. It does not wait for it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	repo := &v1alpha1.Repository{}
	err := r.Client.Get(ctx, req.NamespacedName, repo)
	if apierrors.IsNotFound(err) || (err == nil && repo.DeletionTimestamp != nil) {
		return ctrl.Result{}, r.Mirrors.Forget(req.NamespacedName, "")
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.tidy(ctx, repo); err != nil {
		return ctrl.Result{}, fmt.Errorf("remove old mirrors: %w", err)
	}
	w, auth, err := r.gather(ctx, repo)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("gather: %w", err)
	}
	if !r.mine(repo) {
		if used, err := r.used(ctx, repo); err != nil || !used {
			return ctrl.Result{}, errors.Join(err, r.Mirrors.Forget(req.NamespacedName, ""))
		}
	}
	d := Decide(w)
	if err := r.report(ctx, w, d); err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, nil // a newer version is on its way
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if d.Fetch {
		r.Mirrors.Fetch(repo, auth, w.Ask, commits(w))
	}
	return ctrl.Result{RequeueAfter: d.RequeueAfter}, nil
}

// tidy removes mirrors of Repositories that are gone: an earlier one of the same name and, once in the life of the
// process, all that were deleted before it.
func (r *Reconciler) tidy(ctx context.Context, repo *v1alpha1.Repository) error {
	if err := r.Mirrors.Forget(client.ObjectKeyFromObject(repo), repo.UID); err != nil {
		return err
	}
	r.collected.Lock()
	defer r.collected.Unlock()
	if r.collected.done {
		return nil
	}
	var all v1alpha1.RepositoryList
	if err := r.Client.List(ctx, &all); err != nil {
		return err
	}
	there := map[types.UID]bool{}
	for _, one := range all.Items {
		there[one.UID] = true
	}
	err := r.Mirrors.Keep(there)
	r.collected.done = err == nil
	return err
}

func (r *Reconciler) mine(repo *v1alpha1.Repository) bool {
	return r.Mine == nil || r.Mine(repo.Namespace)
}

// used reports whether Stacks or StackSets read from a Repository.
func (r *Reconciler) used(ctx context.Context, repo *v1alpha1.Repository) (bool, error) {
	stacks, err := r.stacks(ctx, repo)
	if err != nil || len(stacks) > 0 {
		return len(stacks) > 0, err
	}
	sets, err := r.stackSets(ctx, repo)
	return len(sets) > 0, err
}

// stackSets returns the StackSets that list the directories of a Repository, as the cache has them.
func (r *Reconciler) stackSets(ctx context.Context, repo *v1alpha1.Repository) ([]v1alpha1.StackSet, error) {
	var list v1alpha1.StackSetList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(s v1alpha1.StackSet) bool {
		key, ok := s.RepositoryKey()
		return !ok || key != client.ObjectKeyFromObject(repo) || !Allows(repo, s.Namespace)
	}), nil
}

// stacks returns the Stacks that read from a Repository, as the cache has them: they must not be changed.
func (r *Reconciler) stacks(ctx context.Context, repo *v1alpha1.Repository) ([]v1alpha1.Stack, error) {
	var list v1alpha1.StackList
	reads := client.MatchingFields{StackIndex: client.ObjectKeyFromObject(repo).String()}
	err := r.Client.List(ctx, &list, reads, client.UnsafeDisableDeepCopy)
	return slices.DeleteFunc(list.Items, func(s v1alpha1.Stack) bool { return !Allows(repo, s.Namespace) }), err
}

func (r *Reconciler) report(ctx context.Context, w Snapshot, d Decision) error {
	if !r.mine(w.Repository) {
		return nil
	}
	next := status(w, d)
	if equality.Semantic.DeepEqual(w.Repository.Status, next) {
		return nil
	}
	before := w.Repository.DeepCopy()
	w.Repository.Status = next
	if err := r.Client.Status().Patch(ctx, w.Repository,
		client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	r.recordEvent(before, w.Repository)
	r.Traces.Send(spans(before, w.Repository, w.Last)...)
	return nil
}

// recordEvent records the Ready condition as an event when it changed.
func (r *Reconciler) recordEvent(before, after *v1alpha1.Repository) {
	was := apimeta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady)
	is := apimeta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionReady)
	if is == nil || is.Status == metav1.ConditionUnknown ||
		(was != nil && was.Reason == is.Reason && was.Message == is.Message) {
		return
	}
	kind := corev1.EventTypeNormal
	if is.Status == metav1.ConditionFalse {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(after, nil, kind, is.Reason, "Reconcile", "%s", is.Message)
}

// StackIndex is the field by which the cache finds the Stacks that read from a Repository.
const StackIndex = "spec.source.git.repository"

// IndexStack returns the value of StackIndex.
func IndexStack(o client.Object) []string {
	if key, ok := o.(*v1alpha1.Stack).RepositoryKey(); ok {
		return []string{key.String()}
	}
	return nil
}

// PullRequestIndex is the field by which the cache finds the PullRequests of a Repository.
const PullRequestIndex = "spec.repository.name"

// IndexPullRequest returns the value of PullRequestIndex.
func IndexPullRequest(o client.Object) []string {
	return []string{o.(*v1alpha1.PullRequest).Spec.Repository.Name}
}

// SecretIndex is the field by which the cache finds the Repositories to which the change of a Secret is news.
const SecretIndex = "spec.credentials"

// IndexSecret returns the value of SecretIndex.
func IndexSecret(o client.Object) []string {
	var names []string
	spec := o.(*v1alpha1.Repository).Spec
	if spec.Credentials != nil {
		names = append(names, spec.Credentials.Secret.Name)
	}
	if spec.Webhook != nil {
		names = append(names, spec.Webhook.Secret.Name)
	}
	if spec.PullRequests != nil {
		names = append(names, spec.PullRequests.Credentials.Secret.Name)
	}
	return names
}

func (r *Reconciler) gather(ctx context.Context, repo *v1alpha1.Repository) (Snapshot, git.Auth, error) {
	w := Snapshot{Now: r.now(), Repository: repo}
	wanted, err := r.wantedRefs(ctx, repo)
	if err != nil {
		return w, git.Auth{}, err
	}
	w.Ask = Ask{Generation: repo.Generation, Request: repo.Annotations[v1alpha1.RequestedAtAnnotation]}
	w.Last, w.Fetching = r.Mirrors.LastFetch(repo.UID)
	if err := r.gatherRefs(ctx, &w, wanted); err != nil {
		return w, git.Auth{}, err
	}
	if err := r.gatherHook(ctx, &w); err != nil {
		return w, git.Auth{}, err
	}
	auth, err := r.gatherAuth(ctx, &w)
	return w, auth, err
}

// gatherHook checks the signing secrets of webhooks. The server reads them again for each webhook.
func (r *Reconciler) gatherHook(ctx context.Context, w *Snapshot) error {
	hook := w.Repository.Spec.Webhook
	if hook == nil {
		return nil
	}
	secret := &corev1.Secret{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: w.Repository.Namespace, Name: hook.Secret.Name}, secret)
	if apierrors.IsNotFound(err) {
		w.WebhookProblem = fmt.Sprintf("webhooks are denied: Secret %s was not found: create it, or correct "+
			"spec.webhook", hook.Secret.Name)
		return nil
	}
	if apierrors.IsForbidden(err) {
		w.WebhookProblem = "webhooks are denied: Cairn has no permission to read their Secret: " + err.Error()
		return nil
	}
	if err == nil {
		_, w.WebhookProblem = WebhookSecrets(hook, secret.Data)
	}
	return err
}

// wantedRefs are the refs that Stacks and StackSets read, and the default one, in order.
func (r *Reconciler) wantedRefs(ctx context.Context, repo *v1alpha1.Repository) ([]string, error) {
	refs := []string{defaultRef(repo)}
	stacks, err := r.stacks(ctx, repo)
	if err != nil {
		return nil, err
	}
	for _, s := range stacks {
		if ref := s.Spec.Source.Git.Ref; ref != "" {
			refs = append(refs, ref)
		}
	}
	sets, err := r.stackSets(ctx, repo)
	if err != nil {
		return nil, err
	}
	for _, s := range sets {
		if s.Spec.Ref != "" {
			refs = append(refs, s.Spec.Ref)
		}
	}
	slices.Sort(refs)
	return slices.Compact(refs), nil
}

// gatherRefs resolves what the wanted refs name in the mirror.
func (r *Reconciler) gatherRefs(ctx context.Context, w *Snapshot, wanted []string) error {
	var missing []string
	for _, name := range wanted {
		ref := name
		if name == Head {
			ref = ""
		}
		_, commit, err := r.Mirrors.Commit(ctx, w.Repository.UID, ref)
		status := v1alpha1.RefStatus{Name: name}
		switch {
		case err == nil:
			status.Revision = Revision(commit)
			if name == defaultRef(w.Repository) {
				w.Subject = commit.Subject
			}
		case errors.Is(err, ErrNotFetched): // nothing is known of any
			w.Refs = nil
			return nil
		case errors.Is(err, git.ErrMirrorTooLarge): // the Stacks that name the commit report it
			w.Refs = append(w.Refs, status)
			continue
		case !errors.Is(err, git.ErrNoRef):
			return err
		}
		if status.Revision == "" && git.IsCommitID(name) {
			missing = append(missing, name)
		}
		w.Refs = append(w.Refs, status)
	}
	heads, err := r.missingHeads(ctx, w.Repository)
	w.Ask.Commits, w.Unknown = strings.Join(append(missing, heads...), " "), len(missing)+len(heads) > 0
	return err
}

// missingHeads are the head commits of open pull requests that the mirror does not have.
func (r *Reconciler) missingHeads(ctx context.Context, repo *v1alpha1.Repository) ([]string, error) {
	if repo.Spec.PullRequests == nil {
		return nil, nil
	}
	var pulls v1alpha1.PullRequestList
	of := client.MatchingFields{PullRequestIndex: repo.Name}
	if err := r.Client.List(ctx, &pulls, client.InNamespace(repo.Namespace), of,
		client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var missing []string
	for i := range pulls.Items {
		head := pulls.Items[i].Spec.Head.Commit
		_, _, err := r.Mirrors.Commit(ctx, repo.UID, head)
		switch {
		case errors.Is(err, git.ErrNoRef) && pulls.Items[i].Spec.State == v1alpha1.PullRequestOpen:
			missing = append(missing, head)
		case errors.Is(err, git.ErrNoRef), errors.Is(err, git.ErrMirrorTooLarge): // the PullRequest reports the latter
		case err != nil:
			return nil, err
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing), nil
}

// commits are those that a fetch has to ask for by name.
func commits(w Snapshot) []string { return strings.Fields(w.Ask.Commits) }

// gatherAuth reads the credentials: they are Cairn's own, to be shown to the one remote that the Repository names.
func (r *Reconciler) gatherAuth(ctx context.Context, w *Snapshot) (git.Auth, error) {
	var secret corev1.Secret
	if c := w.Repository.Spec.Credentials; c != nil {
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: w.Repository.Namespace, Name: c.Secret.Name}, &secret)
		if apierrors.IsNotFound(err) {
			w.Problem = &Problem{Reason: v1alpha1.ReasonCredentialsNotFound,
				Message: fmt.Sprintf("Secret %s was not found: "+
					"create it, or correct spec.credentials", c.Secret.Name)}
			return git.Auth{}, nil
		}
		if apierrors.IsForbidden(err) {
			w.Problem = &Problem{Reason: v1alpha1.ReasonCredentialsNotFound, Again: time.Minute,
				Message: "Cairn has no permission to read the Secret of spec.credentials: " + err.Error()}
			return git.Auth{}, nil
		}
		if err != nil {
			return git.Auth{}, err
		}
		w.Ask.Credentials = string(secret.UID) + "/" + secret.ResourceVersion
	}
	auth, err := git.ParseAuth(w.Repository.Spec.URL, secret.Data)
	if err != nil {
		w.Problem = &Problem{Reason: v1alpha1.ReasonCredentialsInvalid, Message: err.Error()}
	}
	return auth, nil
}

func (r *Reconciler) now() time.Time {
	if r.Clock != nil {
		return r.Clock()
	}
	return time.Now()
}
