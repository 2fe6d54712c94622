package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/controller/stack/source"
)

// largestScript is how long the script of a hook or a command may be, wherever it comes from.
const largestScript = 64 << 10

// gatherScripts puts the text of hooks, commands and policies into the document, or reports what is wrong with it.
func (g *Gatherer) gatherScripts(ctx context.Context, w *decision.Snapshot, doc *inputs.Document) (err error) {
	for i, h := range w.Stack.Spec.Hooks {
		script := h.Script
		if h.ConfigMap != nil {
			if script, err = g.script(ctx, w, hookField(i), h.ConfigMap); err != nil || w.Problem != nil {
				return err
			}
		}
		hook := inputs.Hook{Step: h.Step, When: h.When, Script: script}
		if h.OnFailure != v1alpha1.HookFail { // the default is the same as no value
			hook.OnFailure = h.OnFailure
		}
		doc.Hooks = append(doc.Hooks, hook)
	}
	if err := g.gatherCommands(ctx, w, doc); err != nil || w.Problem != nil {
		return err
	}
	for i, p := range w.Effective.Spec.Policies {
		field := policyField(w.Effective, i)
		text, err := g.text(ctx, w, field, p.ConfigMap.Name)
		if err != nil || w.Problem != nil {
			return err
		}
		pinned := inputs.Policy{Name: p.ConfigMap.Name, Files: source.PoliciesIn(text)}
		if w.Problem, err = g.Sources.CheckPolicy(ctx, field, pinned, text); err != nil || w.Problem != nil {
			return err
		}
		doc.Policies = append(doc.Policies, pinned)
	}
	return nil
}

// gatherCommands puts the text of commands into the document.
func (g *Gatherer) gatherCommands(ctx context.Context, w *decision.Snapshot, doc *inputs.Document) (err error) {
	for _, c := range inputs.CommandsOf(&w.Stack.Spec) {
		script := c.Script
		if c.ConfigMap != nil {
			if script, err = g.script(ctx, w, c.Field, c.ConfigMap); err != nil || w.Problem != nil {
				return err
			}
			if script == "" { // which would be the engine's own
				w.Problem = &decision.Problem{Reason: v1alpha1.ReasonCommandInvalid, Message: fmt.Sprintf(
					"key %s of ConfigMap %s is empty (%s): write the script, or correct the Stack", c.ConfigMap.Key,
					c.ConfigMap.Name, c.Field)}
				return nil
			}
		}
		*c.ScriptIn(&doc.Commands) = script
	}
	return nil
}

// script is the one that a key of a ConfigMap holds.
func (g *Gatherer) script(ctx context.Context, w *decision.Snapshot, why string, ref *v1alpha1.KeyRef) (string, error) {
	text, err := g.text(ctx, w, why, ref.Name)
	if err != nil || w.Problem != nil {
		return "", err
	}
	script, ok := text.Files[ref.Key]
	invalid := v1alpha1.ReasonHookInvalid
	if strings.HasPrefix(why, inputs.CommandsField) {
		invalid = v1alpha1.ReasonCommandInvalid
	}
	switch {
	case slices.Contains(text.Binary, ref.Key):
		w.Problem = &decision.Problem{Reason: invalid, Message: fmt.Sprintf("key %s of ConfigMap %s is not text (%s)",
			ref.Key, ref.Name, why)}
	case !ok:
		w.Problem = &decision.Problem{Reason: v1alpha1.ReasonConfigMapKeyNotFound, Message: fmt.Sprintf(
			"ConfigMap %s has no key %s (%s): add it, or correct the Stack", ref.Name, ref.Key, why)}
	case len(script) > largestScript:
		w.Problem = &decision.Problem{Reason: invalid, Message: fmt.Sprintf(
			"key %s of ConfigMap %s has %d bytes, and a script has at most %d (%s)", ref.Key, ref.Name, len(script),
			largestScript, why)}
	}
	return script, nil
}

// text is the content of a ConfigMap, as new as the cache has it or newer.
func (g *Gatherer) text(ctx context.Context, w *decision.Snapshot, why, name string) (*source.Text, error) {
	meta, err := g.metadata(ctx, w.Stack.Namespace, "ConfigMap", name)
	if err != nil {
		return nil, err
	}
	var text *source.Text
	if meta != nil {
		text, err = g.Sources.Text(ctx, client.ObjectKeyFromObject(meta), code.VersionOf(meta))
	}
	if err == nil && text == nil {
		w.Problem = Reference{Kind: "ConfigMap", Name: name, Why: why}.problem()
	}
	return text, err
}
