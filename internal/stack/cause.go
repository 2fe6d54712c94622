package stack

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/run"
)

// cause says what changed since the newest Run.
func cause(w World) v1alpha1.Cause {
	last := w.Last
	switch {
	case w.decisive() == nil:
		return v1alpha1.Cause{Type: v1alpha1.CauseSpec, Message: "the Stack is new"}
	case last == nil: // what its inputs were is not known any more
		return v1alpha1.Cause{Type: v1alpha1.CauseSpec, Message: "the inputs changed"}
	}
	now := w.Inputs
	if now.Source != last.Source && now.Path == last.Path && w.Commit.ID != "" {
		return v1alpha1.Cause{Type: v1alpha1.CauseCommit, Message: run.Clip(w.Commit.ID[:7]+" "+w.Commit.Subject, 1000), By: run.Clip(w.Commit.Author, 253)}
	}
	for _, part := range []struct {
		name    string
		changed bool
	}{
		{"the code", now.Source != last.Source || now.Path != last.Path},
		{"spec.engine", now.Engine != last.Engine},
		{"spec.variables", !equality.Semantic.DeepEqual(now.Variables, last.Variables)},
		{"spec.variableFiles", !equality.Semantic.DeepEqual(now.VariableFiles, last.VariableFiles)},
		{"spec.env", !equality.Semantic.DeepEqual(now.Env, last.Env) || !equality.Semantic.DeepEqual(now.EnvFrom, last.EnvFrom)},
		{"spec.moduleCredentials", !equality.Semantic.DeepEqual(now.ModuleCredentials, last.ModuleCredentials)},
		{"spec.runner", now.Image != last.Image || now.ServiceAccountName != last.ServiceAccountName || !equality.Semantic.DeepEqual(now.Resources, last.Resources)},
		{"spec.outputs", !equality.Semantic.DeepEqual(now.Outputs, last.Outputs)},
	} {
		if part.changed {
			return v1alpha1.Cause{Type: v1alpha1.CauseSpec, Message: part.name + " changed"}
		}
	}
	if changed := changedVersions(last, &now); len(changed) > 0 {
		c := v1alpha1.Cause{Type: v1alpha1.CauseVariables, Message: strings.Join(changed, ", ") + " changed"}
		if strings.HasPrefix(changed[0], "output ") {
			c.Type = v1alpha1.CauseDependency
		}
		return c
	}
	return v1alpha1.Cause{Type: v1alpha1.CauseSpec, Message: "what is declared is not applied"}
}

// changedVersions names the outputs and objects whose version is another one, outputs first, at most five of them.
func changedVersions(last, now *inputs.Document) []string {
	all := maps.Clone(now.Versions)
	maps.Copy(all, last.Versions)
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if last.Versions[name] == now.Versions[name] {
			continue
		}
		if stack, output, ok := outputOf(name); ok {
			changed = slices.Insert(changed, 0, fmt.Sprintf("output %s of Stack %s", output, stack))
		} else {
			changed = append(changed, strings.Replace(name, "/", " ", 1))
		}
	}
	if n := len(changed); n > 5 {
		changed = append(changed[:5], "and others")
	}
	return changed
}
