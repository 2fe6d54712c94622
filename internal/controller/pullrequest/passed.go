package pullrequest

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/podspec"
)

// A plan of a pull request executes code that no user reviewed. So this file lists what of a Stack is passed to it, and
// what is not listed is not passed, also a field that the API gets later.

// Proposed returns a Stack as pull requests plan it.
//
// It has no backend: the engine gets Cairn's copy of the state, which it cannot write, so that the credentials of the
// backend are needed by no plan of a pull request.
func Proposed(repo *v1alpha1.Repository, stack *v1alpha1.Stack) *v1alpha1.Stack {
	of, runner := stack.DeepCopy().Spec, runnerOf(repo, stack)
	return &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: stack.Name, UID: stack.UID,
			Generation: stack.Generation},
		Spec: v1alpha1.StackSpec{
			Source: of.Source, Engine: of.Engine, Commands: of.Commands, Hooks: of.Hooks, Policies: of.Policies,
			Variables: of.Variables, VariableFiles: of.VariableFiles, ModuleCredentials: of.ModuleCredentials,
			Workspace: of.Workspace,
			Env:       runner.Env, EnvFrom: runner.EnvFrom,
			Runner: v1alpha1.Runner{
				Image: of.Runner.Image, Build: of.Runner.Build, Resources: of.Runner.Resources,
				ServiceAccountName: runner.ServiceAccountName, Template: runner.template,
			},
		},
	}
}

// ProposedDestroy returns the inputs of the last apply of a Stack as pull requests plan its destruction.
func ProposedDestroy(applied inputs.Document, repo *v1alpha1.Repository, stack *v1alpha1.Stack) inputs.Document {
	runner := runnerOf(repo, stack)
	return inputs.Document{
		Source: applied.Source, Folder: applied.Folder, Path: applied.Path, Engine: applied.Engine,
		Wrapped:  applied.Wrapped,
		Commands: applied.Commands, Hooks: applied.Hooks, Policies: applied.Policies,
		Variables: applied.Variables, VariableFiles: applied.VariableFiles,
		ModuleCredentials: applied.ModuleCredentials,
		Workspace:         applied.Workspace,
		Image:             applied.Image, Build: applied.Build, Resources: applied.Resources,
		Versions: applied.Versions,
		Env:      runner.Env, EnvFrom: runner.EnvFrom, ServiceAccountName: runner.ServiceAccountName,
		Template: runner.template,
	}
}

// identity is what a pod gets that plans pull requests, and its template.
type identity struct {
	v1alpha1.PullRequestRunner
	template *apiextensionsv1.JSON
}

// runnerOf returns the identity for pull requests, or that of the Stack, if it shares that. The Repository sets the
// identity for Stacks in its own namespace only: for others it would be one that their owner did not choose.
func runnerOf(repo *v1alpha1.Repository, stack *v1alpha1.Stack) identity {
	own := stack.Spec.PullRequests
	runner := identity{template: podspec.Proposed(stack.Spec.Runner.Template)}
	switch {
	case own != nil && own.UseStackCredentials:
		return identity{v1alpha1.PullRequestRunner{
			ServiceAccountName: stack.Spec.Runner.ServiceAccountName, Env: stack.Spec.Env, EnvFrom: stack.Spec.EnvFrom,
		}, stack.Spec.Runner.Template}
	case own != nil && own.Runner != nil:
		runner.PullRequestRunner = *own.Runner
	case repo.Namespace == stack.Namespace && repo.Spec.PullRequests.Runner != nil:
		runner.PullRequestRunner = *repo.Spec.PullRequests.Runner
	}
	return runner
}

// stateCopy returns the type of the backend that has the state of a Stack; empty if Cairn keeps the state. The
// problem is why Cairn has no copy of the state in that backend, with which a pull request could be planned.
func stateCopy(stack *v1alpha1.Stack, state v1alpha1.StateStatus) (backend, problem string) {
	if state.Backend != nil && state.Version > 0 {
		backend = state.Backend.Type
	}
	b := stack.Spec.Backend
	if b == nil || backend != "" && (b.FromCode || b.Type == backend) {
		return backend, ""
	}
	where := "the backend of the code"
	if b.Type != "" {
		where = "backend " + b.Type
	}
	return "", fmt.Sprintf("Cairn has no copy of the state of Stack %s, which is in %s: plans of pull requests "+
		"do not get the credentials of a backend, and no Run of the Stack has read a state there yet. To let one "+
		"read it: cairn -n %s plan %s",
		stack.Name, where, stack.Namespace, stack.Name)
}

// gatherStateCopy finds with which copy of the state a Stack is planned.
func (g *Gatherer) gatherStateCopy(ctx context.Context, stack *v1alpha1.Stack, into *Affected) (v1alpha1.StateStatus,
	error) {
	state := &v1alpha1.State{}
	err := g.Client.Get(ctx, client.ObjectKeyFromObject(stack), state)
	if err != nil && !apierrors.IsNotFound(err) {
		return v1alpha1.StateStatus{}, err
	}
	into.Backend, into.Problem = stateCopy(stack, state.Status)
	return state.Status, nil
}
