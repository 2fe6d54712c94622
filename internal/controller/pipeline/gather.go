package pipeline

import (
	"cmp"
	"context"
	"errors"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/pipeline/decision"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
	"cairn.dev/cairn/internal/lifecycle/promotion"
)

// gather returns what is known of a Pipeline. The error is a *problem if a user has to correct something, or a commit
// is not fetched yet.
func (r *Reconciler) gather(ctx context.Context, p *v1alpha1.Pipeline) (decision.Snapshot, error) {
	w := decision.Snapshot{Now: r.now(), Pipeline: p, Stages: map[string][]decision.Stack{}}
	repo, err := r.repository(ctx, p)
	if err != nil {
		return w, err
	}
	head, err := r.Codes.Head(ctx, repo, cmp.Or(p.Spec.Ref, repo.Spec.Ref))
	switch {
	case errors.Is(err, repository.ErrNotFetched): // nor is it known what Stacks read at other commits
		text := "waits for Repository " + repo.Name
		if trouble := repository.Trouble(repo); trouble != "" {
			text += ": " + trouble
		}
		return w, &problem{v1alpha1.ReasonRepositoryNotReady, text}
	case err != nil && code.Reason(err) != "":
		return w, &problem{code.Reason(err), "Repository " + repo.Name + ": " + err.Error()}
	case err != nil:
		return w, err
	}
	var stacks v1alpha1.StackList
	if err := r.Client.List(ctx, &stacks, client.InNamespace(p.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return w, err
	}
	newest := ""
	if len(p.Status.Releases) > 0 {
		newest = p.Status.Releases[0].Commit
	}
	changed, members := 0, map[string][]origin{}
	for i := range stacks.Items {
		stack := &stacks.Items[i]
		stages, err := promotion.Stages(p, stack)
		if problem := (*promotion.Problem)(nil); errors.As(err, &problem) {
			return w, rejected(problem)
		}
		if len(stages) == 0 || stack.DeletionTimestamp != nil {
			continue
		}
		of := origin{r.Codes, repo, r.effective(ctx, stack)}
		same, err := of.same(ctx, newest, head.ID)
		if err != nil {
			return w, err
		}
		if !same && of.isRead() {
			changed++
		}
		for _, name := range stages {
			one, err := of.factsIn(ctx, p, name)
			if err != nil {
				return w, err
			}
			w.Stages[name] = append(w.Stages[name], one)
			if len(stages) == 1 { // else it starts no Run
				members[name] = append(members[name], of)
			}
		}
	}
	if changed > 0 {
		w.Head = &decision.Head{Commit: head.ID, Author: head.Author, Subject: head.Subject, Stacks: changed}
	}
	return w, r.gatherCarried(ctx, &w, members)
}

func rejected(p *promotion.Problem) *problem {
	return &problem{v1alpha1.ReasonConfigurationInvalid, p.Message}
}

// effective returns a Stack with the values of the VariableSets that select it, which can name files.
func (r *Reconciler) effective(ctx context.Context, stack *v1alpha1.Stack) *v1alpha1.Stack {
	if with, problem, err := snapshot.Effective(ctx, r.Client, stack); err == nil && problem == nil {
		return with
	}
	return stack
}

// origin is where a Stack has its code from.
type origin struct {
	codes Codes
	repo  *v1alpha1.Repository
	stack *v1alpha1.Stack
}

// same reports whether the Stack reads the same code at two commits. Without a commit it does not.
func (s origin) same(ctx context.Context, one, other string) (bool, error) {
	if one == "" || other == "" || !s.isRead() {
		return false, nil
	}
	return s.codes.SameCode(ctx, s.repo, s.stack, one, other)
}

// isRead reports whether the Stack has its code from the Repository.
func (s origin) isRead() bool {
	key, ok := s.stack.RepositoryKey()
	return ok && key == client.ObjectKeyFromObject(s.repo)
}

// factsIn returns what is known of the Stack in a stage.
func (s origin) factsIn(ctx context.Context, p *v1alpha1.Pipeline, name string) (decision.Stack, error) {
	ready := apimeta.FindStatusCondition(s.stack.Status.Conditions, v1alpha1.ConditionReady)
	one := decision.Stack{Name: s.stack.Name, Affected: true}
	stage := p.Stage(name)
	if stage == nil {
		return one, nil
	}
	if ready != nil && ready.Status != metav1.ConditionTrue {
		one.Reason = ready.Reason
	}
	one.State = stateOf(s.stack, p, stage, one.Reason)
	one.Verification = verificationOf(s.stack)
	if !hadBase(s.stack, p, name) {
		return one, nil
	}
	same, err := s.same(ctx, stage.Base, stage.Release)
	one.Affected = !same
	return one, err
}

// hadBase reports whether a Stack is known to have been in a stage, and what it has applied is known: without that, it
// is not known whether it ever applied what the release has in common with the one before.
func hadBase(stack *v1alpha1.Stack, p *v1alpha1.Pipeline, stage string) bool {
	r := stack.Status.Release
	return r != nil && r.UID == p.UID && r.Stage == stage && stack.Status.AppliedInputsDigest != ""
}

// stateOf returns what a Stack does with the release of a stage. It has applied the release if its own status reports
// the inputs of that release and of this promotion, and that these are applied: whether it is Ready does not matter.
func stateOf(
	stack *v1alpha1.Stack, p *v1alpha1.Pipeline, stage *v1alpha1.StageStatus, reason string,
) decision.StackState {
	s, has := stack.Status, hasRelease(stack, p, stage)
	// A Run in progress may have begun with the release before: it may still apply that. One that only plans, such as a
	// drift check, changes nothing.
	if has && !mayApply(&s) && s.InputsDigest != "" && s.AppliedInputsDigest == s.InputsDigest {
		return decision.Applied
	}
	known, _ := v1alpha1.ReasonNamed(reason)
	switch {
	case mayApply(&s) && known.WaitsFor != v1alpha1.WaitsForApproval:
		return decision.Running
	case known.Severity == v1alpha1.SeverityError:
		return decision.Failed
	}
	return decision.Waiting
}

// hasRelease reports whether the status of a Stack is about the release that its stage has, by this promotion.
func hasRelease(stack *v1alpha1.Stack, p *v1alpha1.Pipeline, stage *v1alpha1.StageStatus) bool {
	r := stack.Status.Release
	return r != nil && *r == v1alpha1.StackRelease{
		Pipeline: p.Name, UID: p.UID, Stage: stage.Name, Commit: stage.Release, Promotion: stage.Promotion,
	}
}

// mayApply reports whether a Run is in progress that is not known to only plan.
func mayApply(s *v1alpha1.StackStatus) bool {
	r := s.ReservedRun
	return s.CurrentRun != "" && (r == nil || r.Name != s.CurrentRun || r.Operation != v1alpha1.OperationPlan)
}

// verificationOf returns whether a Stack has drift since its last apply. What was found before it does not count.
func verificationOf(stack *v1alpha1.Stack) decision.Verification {
	switch s := &stack.Status; {
	case s.Drift != nil && s.Drift.Since != nil:
		return decision.Rejected
	case s.Drift != nil && s.Drift.CheckedBy != "":
		return decision.Verified
	case s.DriftChecks == nil:
		return decision.Unchecked
	}
	return decision.Unverified
}
