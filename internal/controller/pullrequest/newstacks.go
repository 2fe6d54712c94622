package pullrequest

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/apierror"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
	"cairn.dev/cairn/internal/controller/stackset"
	"cairn.dev/cairn/internal/controller/stackset/decision"
)

// newStack is a Stack that a StackSet would create after the merge.
type newStack struct {
	set   *v1alpha1.StackSet
	write decision.Write
}

func (s newStack) key() Key {
	key := decision.Locate(s.set, s.write.Name)
	return Key{key.Namespace, key.Name}
}

// plannable returns the Stacks that StackSets would create and that can be planned with an empty state, as many as
// maxStacks of the Repository leaves. The others are listed and not planned.
//
// The Run of such a plan belongs to the PullRequest, so all are in one namespace.
func (g *Gatherer) plannable(ctx context.Context, w *Snapshot, repo *v1alpha1.Repository) ([]newStack, error) {
	room := int(*w.Settings.MaxStacks) - len(w.Merge.Affected)
	var found []newStack
	for _, s := range w.Merge.created {
		if len(found) >= room {
			break
		}
		if s.key().Namespace != repo.Namespace || s.set.Spec.Mode == v1alpha1.StackSetPreview {
			continue
		}
		stack, err := s.rendered()
		if err != nil {
			return nil, err
		}
		if !g.readsBase(ctx, w, repo, stack) || !startsEmpty(stack) {
			continue
		}
		// The Stack would continue with the State that an earlier one of its name left.
		err = g.Client.Get(ctx, client.ObjectKey{Namespace: s.key().Namespace, Name: s.key().Name}, &v1alpha1.State{})
		if apierrors.IsNotFound(err) {
			found = append(found, s)
		} else if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// rendered returns the Stack as the template has it, without defaults.
func (s newStack) rendered() (*v1alpha1.Stack, error) {
	body, err := stackset.BodyOf(s.set, s.write)
	if err != nil {
		return nil, err
	}
	stack := &v1alpha1.Stack{}
	return stack, runtime.DefaultUnstructuredConverter.FromUnstructured(body.Object, stack)
}

// readsBase reports whether a Stack reads the branch that a pull request is merged into.
func (g *Gatherer) readsBase(ctx context.Context, w *Snapshot, repo *v1alpha1.Repository, stack *v1alpha1.Stack) bool {
	key, ok := stack.RepositoryKey()
	return ok && key == client.ObjectKeyFromObject(repo) && repository.Allows(repo, stack.Namespace) &&
		g.Codes.Reads(ctx, repo, stack, w.PullRequest.Spec.Base)
}

// startsEmpty reports whether a Stack that is created would plan with an empty state, and without the credentials of
// its own Runs: a directory that no user reviewed must not get those, also if those of existing Stacks are shared.
func startsEmpty(stack *v1alpha1.Stack) bool {
	shares := stack.Spec.PullRequests != nil && stack.Spec.PullRequests.UseStackCredentials
	return !shares && stack.Spec.Backend == nil && !stack.Spec.Suspend
}

// gatherNewInputs stores the inputs of the plan of a Stack that does not exist. The API server sets the defaults, and
// rejects what it would reject after the merge, in a dry run of its creation.
func (g *Gatherer) gatherNewInputs(
	ctx context.Context, repo *v1alpha1.Repository, of newStack, proposal *code.Proposal, into *Affected,
) error {
	body, err := stackset.BodyOf(of.set, of.write)
	if err != nil {
		return err
	}
	err = client.NewDryRunClient(g.Writer).Create(ctx, body, client.DisableReadYourWritesConsistency)
	switch class := apierror.Of(err); {
	case class == apierror.Rejected, apierrors.IsAlreadyExists(err):
		into.Problem = "the API server rejects the Stack: " + err.Error()
		return nil
	case class == apierror.Failed:
		into.Problem, into.Waits = "the API server could not check the Stack: "+err.Error(), true
		return nil
	}
	if err != nil {
		return fmt.Errorf("create Stack %s in a dry run: %w", into.Key, err)
	}
	rendered := &v1alpha1.Stack{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(body.Object, rendered); err != nil {
		return err
	}
	stack, problem, err := snapshot.Effective(ctx, g.Client, rendered)
	if err != nil {
		return err
	}
	if problem != nil {
		into.Problem, into.Waits = problem.Message, true
		return nil
	}
	if name := secretOfSet(rendered, stack); name != "" {
		into.Problem = fmt.Sprintf("variable %s is from an object that a VariableSet names, and the pull request "+
			"chooses the labels by which it selects the Stack: it is planned after the merge", name)
		return nil
	}
	return g.storeInputs(ctx, repo, stack, proposal, into)
}

// secretOfSet returns the first variable that a VariableSet adds from another object; empty if there is none. The
// author of a pull request chooses labels of a Stack that does not exist by the names of directories.
func secretOfSet(rendered, effective *v1alpha1.Stack) string {
	own := map[string]bool{}
	for _, v := range rendered.Spec.Variables {
		own[v.Name] = true
	}
	for _, v := range effective.Spec.Variables {
		if !own[v.Name] && v.ValueFrom != nil {
			return v.Name
		}
	}
	return ""
}

// isUnplanned reports whether a Stack has no plan, for the reason in its message, and needs none: one that is deferred,
// one that does not exist, and which its StackSet creates nevertheless, or one that was never applied, whose directory
// is deleted. That fails no pull request.
func isUnplanned(s v1alpha1.PullRequestStack) bool {
	return s.Deferred || (s.New || s.DeletedDirectory != "") && s.Phase == "" && !s.AwaitsCommand &&
		s.InputsDigest == "" && s.Run == ""
}
