package snapshot

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/controller/stack/source"
	"cairn.dev/cairn/internal/source/git"
)

// Codes finds the code of Stacks from git, as repository.Codes does.
type Codes interface {
	// Of returns the code of a Stack, for another object.
	Of(context.Context, *v1alpha1.Repository, *v1alpha1.Stack) (repository.Code, error)
	// Observe returns it for the reconcile of the Stack itself. Changed reports whether it would return another result than
	// last, or Forget was called since.
	Observe(context.Context, *v1alpha1.Repository, *v1alpha1.Stack) (repository.Code, error)
	Changed(context.Context, *v1alpha1.Repository, *v1alpha1.Stack) bool
	Forget(*v1alpha1.Stack)
	Contributors(
		ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack, since, commit string,
	) (repository.Contributors, error)
	CommitContributors(
		ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack, commit string,
	) ([]git.Contributor, error)
}

// readCode returns the code of a Stack from git: for its own reconcile, for another object, or for a pull request.
type readCode func(context.Context, *v1alpha1.Repository, *v1alpha1.Stack) (repository.Code, error)

func (g *Gatherer) observe(ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack) (repository.Code, error) {
	return g.Code.Observe(ctx, r, stack)
}

func (g *Gatherer) readOther(ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack) (repository.Code, error) {
	return g.Code.Of(ctx, r, stack)
}

// gatherCode puts the current code into the document, or reports why there is none.
func (g *Gatherer) gatherCode(ctx context.Context, w *decision.Snapshot, doc *inputs.Document, read readCode) error {
	code := w.Stack.Spec.Source
	if code.Git != nil {
		return g.gatherGit(ctx, w, doc, read)
	}
	w.CodeRead = true
	var version string
	if code.ConfigMap != nil {
		meta, err := g.metadata(ctx, w.Stack.Namespace, "ConfigMap", code.ConfigMap.Name)
		if err != nil {
			return err
		}
		if meta != nil {
			version = source.VersionOf(meta)
		}
	}
	packed, problem, err := g.Sources.Pack(ctx, w.Stack, version, doc.Engine.Name)
	if w.Problem = problem; err != nil || problem != nil {
		return err
	}
	doc.Source, w.Revision = packed.Digest, packed.Digest
	if doc.Engine, doc.Wrapped, w.Problem = chooseEngine(doc.Engine, packed.Engine); w.Problem != nil {
		return nil
	}
	if w.Problem = checkBackendOf(doc.Backend, doc.Engine.Name); w.Problem != nil {
		return nil
	}
	return g.gatherOwnImage(ctx, w, doc, version)
}

func (g *Gatherer) gatherGit(ctx context.Context, w *decision.Snapshot, doc *inputs.Document, read readCode) error {
	repo, err := g.repositoryOf(ctx, w)
	if err != nil || w.Problem != nil {
		return err
	}
	code, err := read(ctx, repo, w.Stack)
	if w.Problem = codeProblem(repo, err); err != nil {
		return unless(w.Problem, err)
	}
	w.Revision, w.CodeRead, w.UnknownReads = code.Revision, true, code.Open
	w.Source, w.RepositoryChangedBy = code.Origin(repo, w.Stack), repo.Annotations[v1alpha1.ChangedByAnnotation]
	w.RepositoryGeneration = repo.Generation
	w.Commit = decision.Commit{ID: code.Commit.ID, Author: code.Commit.Author, Subject: code.Commit.Subject}
	if w.Units, err = g.gatherUnits(ctx, w.Stack, repo, code.Dependencies); err != nil {
		return err
	}
	if doc.Path = folderOf(w.Stack); doc.Path == "." {
		doc.Path = ""
	}
	if doc.Engine, doc.Wrapped, w.Problem = chooseEngine(engineOf(w, repo), code.Engine); w.Problem != nil {
		return nil
	}
	if w.Problem = checkBackendOf(doc.Backend, doc.Engine.Name); w.Problem != nil {
		return nil
	}
	doc.Source, err = g.Sources.Keep(ctx, client.ObjectKeyFromObject(w.Stack), code)
	if w.Problem = codeProblem(repo, err); err != nil {
		return unless(w.Problem, err)
	}
	return g.gatherImage(ctx, w, doc, repo, code)
}

// repositoryOf finds the Repository that the Stack names, if it may use it.
func (g *Gatherer) repositoryOf(ctx context.Context, w *decision.Snapshot) (*v1alpha1.Repository, error) {
	key, _ := w.Stack.RepositoryKey()
	repo := &v1alpha1.Repository{}
	err := g.Client.Get(ctx, key, repo)
	if err == nil && repository.Allows(repo, w.Stack.Namespace) {
		return repo, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	w.Problem = &decision.Problem{Reason: v1alpha1.ReasonRepositoryNotFound, Message: fmt.Sprintf("Repository %s is not found: create it, or correct spec.source.git.repository", key.Name)}
	if key.Namespace != w.Stack.Namespace {
		w.Problem.Message = fmt.Sprintf("Repository %s is not found, or its spec.allowedNamespaces does not name %s", key, w.Stack.Namespace)
	}
	return nil, nil
}

// codeProblem is the problem that a user can correct in an error about the code; nil for an error that is only logged.
func codeProblem(repo *v1alpha1.Repository, err error) *decision.Problem {
	var later *source.NotPacked
	switch reason := repository.Reason(err); {
	case errors.Is(err, repository.ErrNotFetched):
		p := &decision.Problem{Transient: true, Reason: v1alpha1.ReasonRepositoryNotReady, Message: "waits for Repository " + repo.Name}
		if trouble := repository.Trouble(repo); trouble != "" {
			p.Message += ": " + trouble
		}
		return p
	case errors.As(err, &later):
		return &decision.Problem{Transient: true, After: later.Again, Reason: v1alpha1.ReasonSourceNotReady, Message: fmt.Sprintf("Repository %s: %v", repo.Name, err)}
	case reason != "":
		return &decision.Problem{Reason: reason, Message: fmt.Sprintf("Repository %s: %v", repo.Name, err)}
	}
	return nil
}

// unless is the error, unless it was reported as a problem.
func unless(p *decision.Problem, err error) error {
	if p != nil {
		return nil
	}
	return err
}

// buildIsAllowed reports why the installation builds no image for a Stack that asks for one.
func buildIsAllowed(w *decision.Snapshot) *decision.Problem {
	if w.Stack.Spec.Runner.Build == nil || w.AllowBuild {
		return nil
	}
	return &decision.Problem{Reason: v1alpha1.ReasonBuildNotAllowed, Message: "spec.runner.build: this install builds no images; ask who runs Cairn to allow it " +
		"(runner.build.enabled of the chart, --allow-image-builds), or name an image in spec.runner.image"}
}

// gatherImage puts what an image is built from, at the same commit as the code, into the document.
func (g *Gatherer) gatherImage(ctx context.Context, w *decision.Snapshot, doc *inputs.Document, repo *v1alpha1.Repository, code repository.Code) error {
	build := inputs.NewBuild(w.Stack.Spec.Runner.Build)
	if build == nil {
		return nil
	}
	image, err := code.Image(repo, build)
	if doesWithout(w.Stack, err) {
		return nil
	}
	if err == nil {
		build.Source, err = g.Sources.Keep(ctx, client.ObjectKeyFromObject(w.Stack), image)
	}
	if w.Problem = codeProblem(repo, err); err == nil {
		w.Problem = buildIsAllowed(w)
	}
	doc.Build = build
	return unless(w.Problem, err)
}

// doesWithout reports that the Stack's image is optional, and that the error is about a Dockerfile that the code does
// not have.
func doesWithout(stack *v1alpha1.Stack, err error) bool {
	return stack.Spec.Runner.Build.Optional && errors.Is(err, repository.ErrNoDockerfile)
}

// gatherOwnImage is gatherImage for code that is not from git.
func (g *Gatherer) gatherOwnImage(ctx context.Context, w *decision.Snapshot, doc *inputs.Document, version string) error {
	build := inputs.NewBuild(w.Stack.Spec.Runner.Build)
	if build == nil {
		return nil
	}
	err := g.Sources.PackImage(ctx, w.Stack, version, build)
	switch {
	case doesWithout(w.Stack, err):
		return nil
	case errors.Is(err, repository.ErrNoDockerfile):
		w.Problem = &decision.Problem{Reason: v1alpha1.ReasonDockerfileNotFound, Message: fmt.Sprintf(
			"no file of the code is called %s (spec.runner.build.dockerfile)", build.Spec.Dockerfile)}
		return nil
	case err == nil:
		w.Problem = buildIsAllowed(w)
	}
	doc.Build = build
	return err
}
