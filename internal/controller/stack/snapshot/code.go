package snapshot

import (
	"cmp"
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/controller/stack/source"
)

// gatherCode puts the current code into the document, or reports why there is none.
func (g *Gatherer) gatherCode(ctx context.Context, w *decision.Snapshot, doc *inputs.Document, from code.Source) error {
	found, problem, err := from.Resolve(ctx, w.Effective)
	w.Code, w.Problem = found.Facts, problem
	if err != nil || problem != nil {
		return err
	}
	if w.Units, err = g.gatherUnits(ctx, w.Stack, found); err != nil {
		return err
	}
	if w.Engine != nil {
		doc.Engine = *w.Engine
	}
	doc.Path, doc.Folder = found.Path, found.Folder
	if doc.Engine, doc.Wrapped, w.Problem = chooseEngine(doc.Engine, found.Versions); w.Problem != nil {
		return nil
	}
	if w.Problem = checkBackendOf(doc.Backend, doc.Engine.Name); w.Problem != nil {
		return nil
	}
	doc.Source, err = g.Sources.Keep(ctx, client.ObjectKeyFromObject(w.Stack), found.Archive)
	if w.Problem = codeProblem(found, err); err != nil {
		return unless(w.Problem, err)
	}
	w.Revision = cmp.Or(w.Revision, doc.Source)
	return g.gatherImage(ctx, w, doc, found)
}

// codeProblem is the problem that a user can correct, or waits for, in an error about the code; nil for an error that
// is only logged.
func codeProblem(found code.Code, err error) *decision.Problem {
	if later, ok := errors.AsType[*source.NotPacked](err); ok {
		return &decision.Problem{
			Transient: true, After: later.Again, Reason: v1alpha1.ReasonSourceNotReady, Message: found.Message(err),
		}
	}
	return found.Problem(err)
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
	return &decision.Problem{Reason: v1alpha1.ReasonBuildNotAllowed,
		Message: "spec.runner.build: this install builds no images; ask who runs Cairn to allow it " +
			"(runner.build.enabled of the chart, --allow-image-builds), or name an image in spec.runner.image"}
}

// gatherImage puts what an image is built from, of the same version as the code, into the document.
func (g *Gatherer) gatherImage(ctx context.Context, w *decision.Snapshot, doc *inputs.Document, found code.Code) error {
	build := inputs.NewBuild(w.Stack.Spec.Runner.Build)
	if build == nil {
		return nil
	}
	image, err := found.Image(build)
	if err == nil {
		build.Source, err = g.Sources.Keep(ctx, client.ObjectKeyFromObject(w.Stack), image)
	}
	if doesWithout(w.Stack, err) {
		return nil
	}
	if w.Problem = codeProblem(found, err); err == nil {
		w.Problem = buildIsAllowed(w)
	}
	doc.Build = build
	return unless(w.Problem, err)
}

// doesWithout reports that the Stack's image is optional, and that the error is about a Dockerfile that the code does
// not have.
func doesWithout(stack *v1alpha1.Stack, err error) bool {
	return stack.Spec.Runner.Build.Optional && errors.Is(err, code.ErrNoDockerfile)
}
