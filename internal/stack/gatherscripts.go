package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/policy"
	"cairn.dev/cairn/internal/run/runinfo"
)

// largestScript is how long the script of a hook or a command may be, wherever it comes from.
const largestScript = 64 << 10

// text is what a ConfigMap says.
type text struct {
	files map[string]string
	// digest of its name and of what it says.
	digest string
	// binary are the keys that hold no text.
	binary []string
}

// gatherScripts puts the text of hooks, commands and policies into the document, or says what is wrong with it.
func (r *Reconciler) gatherScripts(ctx context.Context, w *World, doc *inputs.Document) (err error) {
	for i, h := range w.Stack.Spec.Hooks {
		script := h.Script
		if h.ConfigMap != nil {
			if script, err = r.script(ctx, w, hookField(i), h.ConfigMap); err != nil || w.Problem != nil {
				return err
			}
		}
		hook := inputs.Hook{Step: h.Step, When: h.When, Script: script}
		if h.OnFailure != v1alpha1.HookFail { // what is said and what is meant without a word are one
			hook.OnFailure = h.OnFailure
		}
		doc.Hooks = append(doc.Hooks, hook)
	}
	if err := r.gatherCommands(ctx, w, doc); err != nil || w.Problem != nil {
		return err
	}
	for i, p := range w.Stack.Spec.Policies {
		said, err := r.text(ctx, w, policyField(i), p.ConfigMap.Name)
		if err != nil || w.Problem != nil {
			return err
		}
		pinned := inputs.Policy{Name: p.ConfigMap.Name, Files: policiesIn(said)}
		if w.Problem, err = r.Sources.checkPolicy(ctx, policyField(i), pinned, said); err != nil || w.Problem != nil {
			return err
		}
		doc.Policies = append(doc.Policies, pinned)
	}
	return nil
}

// gatherCommands puts the text of commands into the document.
func (r *Reconciler) gatherCommands(ctx context.Context, w *World, doc *inputs.Document) (err error) {
	for _, c := range commandsOf(&w.Stack.Spec) {
		script := c.Script
		if c.ConfigMap != nil {
			if script, err = r.script(ctx, w, c.field, c.ConfigMap); err != nil || w.Problem != nil {
				return err
			}
			if script == "" { // which would be the engine's own
				w.Problem = &Problem{Reason: v1alpha1.ReasonCommandInvalid, Message: fmt.Sprintf(
					"key %s of ConfigMap %s is empty (%s): write the script, or correct the Stack", c.ConfigMap.Key, c.ConfigMap.Name, c.field)}
				return nil
			}
		}
		*c.pin(&doc.Commands) = script
	}
	return nil
}

// script is the one that a key of a ConfigMap holds.
func (r *Reconciler) script(ctx context.Context, w *World, why string, ref *v1alpha1.KeyRef) (string, error) {
	said, err := r.text(ctx, w, why, ref.Name)
	if err != nil || w.Problem != nil {
		return "", err
	}
	script, ok := said.files[ref.Key]
	invalid := v1alpha1.ReasonHookInvalid
	if strings.HasPrefix(why, commandsField) {
		invalid = v1alpha1.ReasonCommandInvalid
	}
	switch {
	case slices.Contains(said.binary, ref.Key):
		w.Problem = &Problem{Reason: invalid, Message: fmt.Sprintf("key %s of ConfigMap %s is not text (%s)", ref.Key, ref.Name, why)}
	case !ok:
		w.Problem = &Problem{Reason: v1alpha1.ReasonConfigMapKeyNotFound, Message: fmt.Sprintf(
			"ConfigMap %s has no key %s (%s): add it, or correct the Stack", ref.Name, ref.Key, why)}
	case len(script) > largestScript:
		w.Problem = &Problem{Reason: invalid, Message: fmt.Sprintf(
			"key %s of ConfigMap %s has %d bytes, and a script has at most %d (%s)", ref.Key, ref.Name, len(script), largestScript, why)}
	}
	return script, nil
}

// text is what a ConfigMap says, as new as the cache knows it or newer.
func (r *Reconciler) text(ctx context.Context, w *World, why, name string) (*text, error) {
	meta, err := r.metadata(ctx, w.Stack.Namespace, "ConfigMap", name)
	if err != nil {
		return nil, err
	}
	var said *text
	if meta != nil {
		said, err = r.Sources.text(ctx, client.ObjectKeyFromObject(meta), versionOf(meta))
	}
	if err == nil && said == nil {
		w.Problem = Reference{Kind: "ConfigMap", Name: name, Why: why}.problem()
	}
	return said, err
}

// text reads a ConfigMap past the cache, once for each version; nil when it is not there any more.
func (s *Sources) text(ctx context.Context, key client.ObjectKey, version string) (*text, error) {
	if said, ok := s.texts.Get(version); ok {
		return said, nil
	}
	var cm corev1.ConfigMap
	err := s.live.Get(ctx, key, &cm)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ConfigMap %s: %w", key.Name, err)
	}
	data, err := json.Marshal(inputs.Policy{Name: cm.Name, Files: cm.Data})
	if err != nil {
		return nil, err
	}
	said := &text{files: cm.Data, digest: inputs.Digest(data), binary: slices.Sorted(maps.Keys(cm.BinaryData))}
	s.texts.Add(versionOf(&cm), said, len(data))
	return said, nil
}

// policiesIn are the files of a ConfigMap that are policies.
func policiesIn(said *text) map[string]string {
	files := map[string]string{}
	for name, content := range said.files {
		if isPolicy(name) {
			files[name] = content
		}
	}
	return files
}

func isPolicy(name string) bool {
	return slices.Contains([]string{".rego", ".yaml", ".yml"}, path.Ext(name))
}

// checkPolicy refuses what would not be asked as it is meant: nobody looks for the policy that is never asked.
func (s *Sources) checkPolicy(ctx context.Context, why string, p inputs.Policy, said *text) (*Problem, error) {
	invalid := func(message string) (*Problem, error) {
		return &Problem{Reason: v1alpha1.ReasonPolicyInvalid, Message: runinfo.Clip(fmt.Sprintf("%s (%s)", message, why), 4<<10)}, nil
	}
	for _, key := range slices.Concat(slices.Sorted(maps.Keys(said.files)), said.binary) {
		if !isPolicy(key) {
			return invalid(fmt.Sprintf("key %s of ConfigMap %s ends in none of .rego, .yaml and .yml", key, p.Name))
		}
	}
	if i := slices.IndexFunc(said.binary, isPolicy); i >= 0 {
		return invalid(fmt.Sprintf("key %s of ConfigMap %s is not text", said.binary[i], p.Name))
	}
	if len(p.Files) == 0 {
		return invalid(fmt.Sprintf("ConfigMap %s has no key that ends in .rego, .yaml or .yml", p.Name))
	}
	wrong, err := s.compile(ctx, p, said.digest)
	if err != nil {
		return nil, fmt.Errorf("compile the policies of ConfigMap %s: %w", p.Name, err)
	}
	if wrong != "" {
		return invalid(wrong)
	}
	return nil, nil
}

// compile says what is wrong with policies; once for all ConfigMaps of one name that say the same, in whatever namespace.
func (s *Sources) compile(ctx context.Context, p inputs.Policy, digest string) (string, error) {
	if wrong, ok := s.checked.Get(digest); ok {
		return wrong, nil
	}
	var modules []policy.Module
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		modules = append(modules, policy.Module{Name: p.Name + "/" + name, Text: p.Files[name]})
	}
	wrong := ""
	var invalid *policy.Invalid
	switch err := s.Compile(ctx, modules); {
	case errors.As(err, &invalid):
		wrong = err.Error()
	case errors.Is(err, policy.ErrTooMuch):
		wrong = fmt.Sprintf("the policies of ConfigMap %s cannot be compiled: %v", p.Name, err)
	case err != nil: // nobody knows
		return "", err
	}
	s.checked.Add(digest, wrong)
	return wrong, nil
}
