package snapshot

import (
	"context"
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/run/podspec"
	"cairn.dev/cairn/internal/run/window"
	"cairn.dev/cairn/internal/stack/decision"
	"cairn.dev/cairn/internal/stack/source"
)

// gatherInputs creates the document of everything that decides a result now, or reports why it cannot.
func (g *Gatherer) gatherInputs(ctx context.Context, w *decision.Snapshot) error {
	doc, err := g.gatherSource(ctx, w)
	if err != nil {
		return err
	}
	return g.gatherValues(ctx, w, doc)
}

// gatherSource begins the document with the spec and the code.
func (g *Gatherer) gatherSource(ctx context.Context, w *decision.Snapshot) (inputs.Document, error) {
	spec := w.Stack.Spec
	doc := inputs.Document{
		Engine: spec.Engine, Variables: spec.Variables, VariableFiles: spec.VariableFiles,
		Env: spec.Env, EnvFrom: spec.EnvFrom, Outputs: spec.Outputs, Versions: map[string]string{},
		ModuleCredentials: spec.ModuleCredentials,
		Image:             spec.Runner.Image, ServiceAccountName: spec.Runner.ServiceAccountName, Resources: spec.Runner.Resources,
		Template: spec.Runner.Template, Backend: spec.Backend,
	}
	if w.Problem = checkBackend(w); w.Problem != nil {
		return doc, nil
	}
	if err := podspec.CheckTemplate(doc); err != nil {
		w.Problem = &decision.Problem{Reason: v1alpha1.ReasonTemplateInvalid, Message: err.Error()}
		return doc, nil
	}
	if _, err := window.Parse(spec.Windows); err != nil {
		w.Problem = &decision.Problem{Reason: v1alpha1.ReasonWindowInvalid, Message: err.Error()}
		return doc, nil
	}
	if b := spec.Runner.Build; b != nil && !b.Optional { // the code decides whether there is an optional one
		if w.Problem = buildIsAllowed(w); w.Problem != nil {
			return doc, nil
		}
	}
	return doc, g.gatherCode(ctx, w, &doc)
}

// gatherValues completes the document with what comes from other objects, unless a problem is known.
func (g *Gatherer) gatherValues(ctx context.Context, w *decision.Snapshot, doc inputs.Document) error {
	if w.Problem != nil {
		return nil
	}
	spec := w.Stack.Spec
	if doc.Build == nil {
		spec.Runner.Build = nil // nor are its credentials needed
	}
	for _, ref := range references(&spec) {
		if w.Problem = ref.readsState(); w.Problem != nil {
			return nil
		}
		meta, err := g.metadata(ctx, w.Stack.Namespace, ref.Kind, ref.Name)
		switch {
		case err != nil:
			return err
		case meta != nil && (ref.Credential || ref.Text):
		case meta != nil:
			doc.Versions[ref.key()] = source.VersionOf(meta)
		case !ref.Optional:
			w.Problem = ref.problem()
			return nil
		}
	}
	if err := g.gatherScripts(ctx, w, &doc); err != nil || w.Problem != nil {
		return err
	}
	if err := g.gatherUsedOutputs(ctx, w, &doc); err != nil || w.Problem != nil {
		return err
	}
	data, digest, err := doc.Encode()
	if len(data) > inputs.MaxSize {
		w.Problem = &decision.Problem{Reason: v1alpha1.ReasonInputsTooLarge, Message: fmt.Sprintf(
			"the inputs have %d bytes with the text of spec.hooks, spec.commands and spec.policies, and at most %d are kept: leave out what is not needed", len(data), inputs.MaxSize)}
		return nil
	}
	w.Inputs, w.Digest = doc, digest
	return err
}
