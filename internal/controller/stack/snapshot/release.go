package snapshot

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/lifecycle/promotion"
)

// The cache has Pipelines, so that a reconcile reads none from the API server. Before a Run is created, they are listed
// once past the cache.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=pipelines,verbs=list;watch

// released is the release of the stage that selects a Stack; nil if none does.
type released struct {
	*v1alpha1.StackRelease
	// problem is why the Stack cannot have it.
	problem *decision.Problem
	// verifiesDrift reports that the stage requires a drift check after each apply.
	verifiesDrift bool
}

// release returns the release of the stage that selects a Stack. If the Pipelines cannot be read, that is an error: the
// Stack never reads the branch instead.
func release(ctx context.Context, from client.Reader, stack *v1alpha1.Stack) (released, error) {
	var all v1alpha1.PipelineList
	err := from.List(ctx, &all, client.InNamespace(stack.Namespace), client.UnsafeDisableDeepCopy) // only read
	if err != nil {
		return released{}, fmt.Errorf("list the Pipelines that select Stack %s: %w", stack.Name, err)
	}
	found, err := promotion.Of(stack, all.Items)
	if problem, ok := errors.AsType[*promotion.Problem](err); ok {
		return released{problem: &decision.Problem{Reason: problem.Reason, Message: problem.Message}}, nil
	}
	return released{StackRelease: found, verifiesDrift: promotion.VerifiesDrift(found, all.Items)}, err
}

// gatherRelease adds the release of the stage that selects the Stack.
func (g *Gatherer) gatherRelease(ctx context.Context, w *decision.Snapshot) error {
	found, err := release(ctx, g.Client, w.Stack)
	w.Release, w.ReleaseProblem, w.VerifiesDrift = found.StackRelease, found.problem, found.verifiesDrift
	return err
}

// checkRelease returns a conflict if the API server has another release for a Stack than the cache had.
func (g *Gatherer) checkRelease(ctx context.Context, w decision.Snapshot) error {
	live, err := release(ctx, g.Live, w.Stack)
	if err != nil {
		return err
	}
	now := live.StackRelease
	if live.problem != nil || (now == nil) != (w.Release == nil) || now != nil && *now != *w.Release {
		return changedMeanwhile(w.Stack)
	}
	return nil
}

// gatherDeclared begins the document with the code that the Stack has, by decision.ChooseCommit.
func (g *Gatherer) gatherDeclared(
	ctx context.Context, w *decision.Snapshot, from code.Source,
) (inputs.Document, error) {
	chosen := decision.ChooseCommit(w.Claims)
	if w.Problem == nil {
		w.Problem = chosen.Problem
	}
	if chosen.IsSource() || w.Problem != nil { // with a problem, no code is read
		return g.gatherSource(ctx, w, from)
	}
	if _, _, err := from.Resolve(ctx, w.Effective); err != nil { // which records what the source has now
		return inputs.Document{}, err
	}
	if chosen.Hold == nil {
		return g.gatherSource(ctx, w, g.Code.Released(chosen.Commit))
	}
	proposal, problem, err := g.Code.Held(ctx, w.Effective, chosen.Hold)
	if err != nil {
		return inputs.Document{}, err
	}
	if problem != nil {
		w.Problem = problem
		return g.gatherSource(ctx, w, from) // which reads no code then
	}
	defer proposal.Close() //nolint:errcheck // a folder that stays is deleted with the next start
	if w.Requirements, err = g.requirements(ctx, w.Stack); err != nil {
		return inputs.Document{}, err
	}
	return g.gatherSource(ctx, w, proposal)
}
