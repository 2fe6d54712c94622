package stack

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/repository"
)

// gatherCode puts the code as it is now into the document, or says why it cannot be had.
func (r *Reconciler) gatherCode(ctx context.Context, w *World, doc *inputs.Document) error {
	source := w.Stack.Spec.Source
	if source.Git != nil {
		return r.gatherGit(ctx, w, doc)
	}
	w.CodeRead = true
	var version string
	if source.ConfigMap != nil {
		meta, err := r.metadata(ctx, w.Stack.Namespace, "ConfigMap", source.ConfigMap.Name)
		if err != nil {
			return err
		}
		if meta != nil {
			version = versionOf(meta)
		}
	}
	packed, problem, err := r.Sources.Pack(ctx, w.Stack, version, doc.Engine.Name)
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
	return r.gatherOwnImage(ctx, w, doc, version)
}

func (r *Reconciler) gatherGit(ctx context.Context, w *World, doc *inputs.Document) error {
	repo, err := r.repositoryOf(ctx, w)
	if err != nil || w.Problem != nil {
		return err
	}
	code, err := r.Code.Of(ctx, repo, w.Stack)
	if w.Problem = codeProblem(repo, err); err != nil {
		return unless(w.Problem, err)
	}
	w.Revision, w.Commit, w.CodeRead, w.Open = code.Revision, code.Commit, true, code.Open
	if w.Units, err = r.gatherUnits(ctx, w.Stack, repo, code.Dependencies); err != nil {
		return err
	}
	if doc.Path = folderOf(w.Stack); doc.Path == "." {
		doc.Path = ""
	}
	if doc.Engine, doc.Wrapped, w.Problem = chooseEngine(w.engine(repository.EngineOf(repo, w.Stack)), code.Engine); w.Problem != nil {
		return nil
	}
	if w.Problem = checkBackendOf(doc.Backend, doc.Engine.Name); w.Problem != nil {
		return nil
	}
	defer func() {
		if w.Problem != nil { // a request on the Repository tries again
			r.Code.Forget(w.Stack)
		}
	}()
	doc.Source, err = r.Sources.Keep(ctx, client.ObjectKeyFromObject(w.Stack), code)
	if w.Problem = codeProblem(repo, err); err != nil {
		return unless(w.Problem, err)
	}
	return r.gatherImage(ctx, w, doc, repo, code)
}

// repositoryOf finds the Repository that the Stack names, if it may use it.
func (r *Reconciler) repositoryOf(ctx context.Context, w *World) (*v1alpha1.Repository, error) {
	key, _ := w.Stack.RepositoryKey()
	repo := &v1alpha1.Repository{}
	err := r.Client.Get(ctx, key, repo)
	if err == nil && repository.Allows(repo, w.Stack.Namespace) {
		return repo, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	w.Problem = &Problem{Reason: v1alpha1.ReasonRepositoryNotFound, Message: fmt.Sprintf("Repository %s is not there: make it, or correct spec.source.git.repository", key.Name)}
	if key.Namespace != w.Stack.Namespace {
		w.Problem.Message = fmt.Sprintf("Repository %s is not there, or its spec.allowedNamespaces does not name %s", key, w.Stack.Namespace)
	}
	return nil, nil
}

// codeProblem is what an error about the code says to a person; nil for one that only the log can tell.
func codeProblem(repo *v1alpha1.Repository, err error) *Problem {
	var later *notPacked
	switch reason := repository.Reason(err); {
	case errors.Is(err, repository.ErrNotFetched):
		p := &Problem{Passing: true, Reason: v1alpha1.ReasonRepositoryNotReady, Message: "waits for Repository " + repo.Name}
		if trouble := repository.Trouble(repo); trouble != "" {
			p.Message += ": " + trouble
		}
		return p
	case errors.As(err, &later):
		return &Problem{Passing: true, After: later.again, Reason: v1alpha1.ReasonSourceNotReady, Message: fmt.Sprintf("Repository %s: %v", repo.Name, err)}
	case reason != "":
		return &Problem{Reason: reason, Message: fmt.Sprintf("Repository %s: %v", repo.Name, err)}
	}
	return nil
}

// unless is the error, unless it was told as a problem.
func unless(p *Problem, err error) error {
	if p != nil {
		return nil
	}
	return err
}
