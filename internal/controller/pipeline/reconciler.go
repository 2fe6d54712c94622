// Package pipeline reconciles Pipelines: it finds the commits that are releases, and decides which release each stage
// has. The controller of Stacks reads the result in the status of the Pipeline.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/pipeline/decision"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/statuswrite"
	"cairn.dev/cairn/internal/source/git"
)

// next is when a Pipeline is reconciled again whose newer version has not arrived.
const next = time.Second

// Codes read the code of Stacks at commits. *code.Codes are.
type Codes interface {
	// Head returns the commit that a ref names; repository.ErrNotFetched if that is not known.
	Head(ctx context.Context, r *v1alpha1.Repository, ref string) (git.Commit, error)
	// SameCode reports whether a Stack reads the same code at two commits.
	SameCode(ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack, one, other string) (bool, error)
}

// Reconciler reconciles Pipelines.
type Reconciler struct {
	Client client.Client
	// Live reads Runs that succeeded, which the cache does not have.
	Live   client.Reader
	Codes  Codes
	Inputs Inputs
	Events events.EventRecorder
	// Clock returns the time; time.Now when nil.
	Clock func() time.Time

	past pastRuns
}

// Inputs reads what Runs plan by digest. *inputs.Store does.
type Inputs interface {
	Get(ctx context.Context, digest string) (inputs.Document, error)
}

// Reconcile reads what is known, decides, and writes the status, if it changes.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &v1alpha1.Pipeline{}
	err := r.Client.Get(ctx, req.NamespacedName, p)
	if err != nil || p.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	w, err := r.gather(ctx, p)
	if problem, ok := errors.AsType[*problem](err); ok {
		return r.reject(ctx, p, problem)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	d := decision.Decide(w)
	after := p.DeepCopy()
	after.Status = d.Status
	if err := statuswrite.Patch(ctx, r.Client, p, after); err != nil {
		return statuswrite.Failed(err, next)
	}
	r.report(p, d)
	if err := r.carry(ctx, w.Carried); err != nil {
		return statuswrite.Failed(err, next)
	}
	return ctrl.Result{RequeueAfter: d.Again}, nil
}

// report records what was decided, once it is written.
func (r *Reconciler) report(p *v1alpha1.Pipeline, d decision.Decision) {
	if c := d.Created; c != nil {
		r.Events.Eventf(p, nil, corev1.EventTypeNormal, v1alpha1.EventReleaseCreated, "Release",
			"commit %.12s changes the code of %d Stacks", c.Commit, c.Stacks)
	}
	for _, one := range d.Promoted {
		by := "automatically"
		if one.By != "" {
			by = "by " + one.By
		}
		r.Events.Eventf(p, nil, corev1.EventTypeNormal, v1alpha1.EventReleasePromoted, "Promote",
			"stage %s has release %.12s, promoted %s", one.Stage, one.Commit, by)
	}
	if d.Rejected != "" {
		r.Events.Eventf(p, nil, corev1.EventTypeWarning, v1alpha1.EventPromotionRejected, "Promote", "%s", d.Rejected)
	}
}

// problem is why nothing is decided.
type problem struct{ reason, message string }

func (p *problem) Error() string { return p.message }

// reject records why nothing is decided. All stages keep what they have.
func (r *Reconciler) reject(ctx context.Context, p *v1alpha1.Pipeline, why *problem) (ctrl.Result, error) {
	after := p.DeepCopy()
	after.Status.ObservedGeneration = p.Generation
	apimeta.SetStatusCondition(&after.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: why.reason, Message: why.message,
		ObservedGeneration: p.Generation, LastTransitionTime: metav1.Time{Time: r.now()},
	})
	if err := statuswrite.Patch(ctx, r.Client, p, after); err != nil {
		return statuswrite.Failed(err, next)
	}
	return ctrl.Result{}, nil
}

// repository returns the Repository of a Pipeline. The error is a *problem if the Pipeline may not use it.
func (r *Reconciler) repository(ctx context.Context, p *v1alpha1.Pipeline) (*v1alpha1.Repository, error) {
	repo, key := &v1alpha1.Repository{}, p.RepositoryKey()
	err := r.Client.Get(ctx, key, repo)
	if err == nil && repository.Allows(repo, p.Namespace) {
		return repo, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	return nil, &problem{v1alpha1.ReasonRepositoryNotFound, fmt.Sprintf(
		"Repository %s is not found, or its spec.allowedNamespaces does not name %s", key, p.Namespace)}
}

func (r *Reconciler) now() time.Time {
	if r.Clock != nil {
		return r.Clock()
	}
	return time.Now()
}
