package pullrequest

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/pullrequest/command"
	"cairn.dev/cairn/internal/engine/plan/fingerprint"
	"cairn.dev/cairn/internal/lifecycle/approval"
)

// verbApprove is the verb that an approval requires.
const verbApprove = "approve"

// authorsOf adds who opened the pull request, and who has a commit in it. Of a Git provider that does not know them,
// the user who approves may be one.
func authorsOf(ctx context.Context, w *Snapshot, provider Provider, facts *command.Snapshot) error {
	logins, err := provider.committersOf(ctx, w)
	if err != nil {
		return err
	}
	facts.Authors, facts.UnknownAuthor = []string{w.PullRequest.Spec.Author}, len(logins) == 0
	for _, login := range logins {
		facts.Authors = append(facts.Authors, provider.User(login))
	}
	for _, author := range facts.Authors {
		facts.UnknownAuthor = facts.UnknownAuthor || author == ""
	}
	return nil
}

// describePlan sets what a command about a plan depends on.
func (r *Reconciler) describePlan(
	ctx context.Context, pull types.UID, known v1alpha1.PullRequestStack, s *command.Stack,
) error {
	stack := &v1alpha1.Stack{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: known.Namespace, Name: known.Name}, stack)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	s.PreventSelfApproval, s.AfterMergeOnly = stack.Spec.PreventSelfApproval, afterMergeOnly(known)
	if by := stack.Status.Hold; by != nil && by.UID != pull {
		s.HeldBy = by.Text()
	}
	if plan := known.Plan; plan != nil {
		s.PlanDigest, s.SeenDigest, s.Changes = plan.Digest, plan.Digest, plan.Changes
		s.Denied = plan.Policy != nil && plan.Policy.Denied > 0
	}
	s.Incomparable = !isComparable(known)
	if a := known.Approval; a != nil && a.Void == "" {
		s.Approval = &command.Approval{Head: a.Head, PlanDigest: a.PlanDigest, By: a.By}
	}
	return nil
}

// gatherCarried reads the facts about the approvals of a merged pull request. Whether a user still has the verb is
// asked last.
func (r *Reconciler) gatherCarried(ctx context.Context, w *Snapshot, provider Provider) error {
	settings := w.Settings
	if settings == nil {
		return nil
	}
	head := w.PullRequest.Spec.Head.Commit
	for _, known := range w.PullRequest.Status.Stacks {
		key := Key{known.Namespace, known.Name}
		if known.Approval == nil || !settings.CarryApproval.Accepts(known.Approval.From) || !w.awaitsApproval(key) {
			continue
		}
		from := w.applying(key)
		s := from[key]
		facts := &approval.Carried{
			Approval: *known.Approval, Head: head, Plan: known.Plan, Run: s.Run,
			PreventSelfApproval: s.Stack.Spec.PreventSelfApproval, Merged: s.Merged[s.Run.Spec.Revision],
			SameInputs: true, Allowed: true,
			MaxAge: 24 * time.Hour, Now: w.Now, UnreadReviews: w.UnreadReviews,
		}
		if d := settings.CarryApproval.MaxAge; d != nil {
			facts.MaxAge = d.Duration
		}
		var err error
		if facts.Refusal() == "" {
			if facts.SameInputs, err = r.Merger.SameInputs(ctx, known.InputsDigest,
				s.Run.Spec.InputsDigest); err != nil {
				return err
			}
		}
		if facts.Refusal() == "" {
			if facts.Allowed, err = r.mayApprove(ctx, provider, known.Approval.By, Key{s.Run.Namespace, s.Run.Name},
				w.Now); err != nil {
				return err
			}
		}
		if facts.Differs, err = r.differing(ctx, known, s.Run); err != nil {
			return err
		}
		s.Carried = facts
		from[key] = s
	}
	return nil
}

// differing returns the names of the parts in which the plan of a Run differs from the approved one; nil if it does
// not, or if that is not stored.
func (r *Reconciler) differing(
	ctx context.Context, known v1alpha1.PullRequestStack, run *v1alpha1.Run,
) ([]string, error) {
	approved, now := known.Plan, run.Status.Plan
	if approved == nil || now == nil || approved.Fingerprint == now.Fingerprint {
		return nil, nil
	}
	before, err := r.Plans.Parts(ctx, known.Namespace, known.RunUID, approved.Digest)
	if err != nil || before == nil {
		return nil, err
	}
	after, err := r.Plans.Parts(ctx, run.Namespace, run.UID, now.Digest)
	if err != nil || after == nil {
		return nil, err
	}
	return fingerprint.Differences(before, after), nil
}

// mayApprove reports whether a user of the Git provider has the verb approve on a Run now.
func (r *Reconciler) mayApprove(ctx context.Context, provider Provider, user string, run Key, now time.Time) (bool,
	error) {
	groups, err := provider.groupsOf(ctx, user, now)
	if err != nil {
		return false, err
	}
	return r.Access.AllowsRun(ctx, user, groups, verbApprove, run)
}

// carry writes approvals to the Runs for which they count, as long as these are as they were read.
func (r *Reconciler) carry(ctx context.Context, all []carried) error {
	for _, c := range all {
		run := c.run.DeepCopy()
		run.Status.CarriedApproval = &c.approval
		change := client.MergeFromWithOptions(c.run, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Status().Patch(ctx, run, change); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("write the approval of Run %s/%s: %w", run.Namespace, run.Name, err)
		}
	}
	return nil
}

// SameInputs implements Merger.
func (g *Gatherer) SameInputs(ctx context.Context, ofPull, ofRun string) (bool, error) {
	planned, err := g.Inputs.Get(ctx, ofPull)
	if err != nil {
		return false, err
	}
	waits, err := g.Inputs.Get(ctx, ofRun)
	return err == nil && sameInputs(planned, waits), err
}

// sameInputs reports whether a plan of a pull request and one of a Run are of the same code, values and engine. What
// pull requests do not get may differ: the environment, the backend, and the identity of the pod.
func sameInputs(ofPull, ofRun inputs.Document) bool {
	for object, version := range ofPull.Versions { // those of their environment are of other objects
		if other, ok := ofRun.Versions[object]; ok && other != version {
			return false
		}
	}
	common := func(d inputs.Document) inputs.Document {
		return inputs.Document{
			Source: d.Source, Folder: d.Folder, Path: d.Path, Engine: d.Engine, Wrapped: d.Wrapped,
			Commands: d.Commands, Hooks: d.Hooks,
			Policies: d.Policies, Variables: d.Variables, VariableFiles: d.VariableFiles, Workspace: d.Workspace,
			Image: d.Image, Build: d.Build,
		}
	}
	return reflect.DeepEqual(common(ofPull), common(ofRun))
}
