package decision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// causeOf returns what changed since the newest Run, and the user who changed it last, where that is known. All users
// who caused the Run are in its spec.causedBy.
func causeOf(w Snapshot) v1alpha1.Cause {
	c := changeCause(w)
	if c.By == "" {
		c.By = originChangedBy(w, compareOrigins(w.Stack.Status.Source, w.Source))
	}
	return c
}

func changeCause(w Snapshot) v1alpha1.Cause {
	last, now := w.LastInputs, w.Inputs
	switch tried := w.lastDeployRun(); {
	case w.LastMutatingRun() == nil:
		return ofOrigin(w, ofSpec(w, "the Stack is new", true))
	case tried != nil && tried.Spec.InputsDigest == w.Digest && isStranded(tried):
		return ofSpec(w, "the state was put back", false)
	case tried != nil && tried.Spec.InputsDigest == w.Digest && appliedAPart(tried):
		return ofSpec(w, "Run "+tried.Name+" applied a part of the changes, or accepted drift", false)
	case last == nil: // what its inputs were is not known any more
		return ofOrigin(w, ofSpec(w, "the inputs changed", false))
	}
	commit := (now.Source != last.Source || imageChanged(now.Build, last.Build)) && now.Path == last.Path &&
		w.Commit.ID != ""
	var changed []string
	inSpec := false
	origin := compareOrigins(w.Stack.Status.Source, w.Source)
	otherRef := w.Stack.Status.Source == nil && isOtherRef(w)
	engine, ownEngine := "spec.engine", w.Engine == nil && w.Stack.Status.Engine == nil
	if !ownEngine {
		engine = "spec.engine of the Stack or its Repository"
	}
	variables, env := changedVariables(w, last, &now), changedEnv(w, last, &now)
	policies, byPolicy := !equality.Semantic.DeepEqual(now.Policies, last.Policies), changedStackPolicy(w)
	for _, part := range []struct {
		name    string
		changed bool
		// own reports that the whole change is in the spec, and none of it in a ConfigMap.
		own bool
	}{
		{"the code", !commit && (now.Source != last.Source || now.Path != last.Path), !w.CodeInObject},
		{"spec.source.git", commit && (origin == changedInStack || otherRef), true},
		{"the Repository", commit && origin == changedInRepository, false},
		{engine, now.Engine != last.Engine || !slices.Equal(now.Wrapped, last.Wrapped), ownEngine},
		{"spec.variables", variables.others, variables.own},
		{"spec.variableFiles", !equality.Semantic.DeepEqual(now.VariableFiles, last.VariableFiles), true},
		{"spec.env", env.others || !equality.Semantic.DeepEqual(now.EnvFrom, last.EnvFrom), env.own},
		{"spec.moduleCredentials", !equality.Semantic.DeepEqual(now.ModuleCredentials, last.ModuleCredentials), true},
		{"spec.workspace", now.Workspace != last.Workspace, true},
		{"spec.backend", !equality.Semantic.DeepEqual(now.Backend, last.Backend), true},
		{"spec.hooks", !equality.Semantic.DeepEqual(now.Hooks, last.Hooks),
			ownHooks(w.Stack.Spec.Hooks, now.Hooks, last.Hooks)},
		{"spec.commands", now.Commands != last.Commands, ownCommands(&w.Stack.Spec, now.Commands, last.Commands)},
		{"spec.policies", policies && byPolicy == "", !slices.EqualFunc(now.Policies, last.Policies, sameName)},
		{"spec.runner", now.Image != last.Image || now.ServiceAccountName != last.ServiceAccountName ||
			!equality.Semantic.DeepEqual(now.Resources, last.Resources) || !sameJSON(now.Template, last.Template) ||
			!sameBuild(now.Build, last.Build), true},
		{"what the image is built from", !commit && imageChanged(now.Build, last.Build), !w.CodeInObject},
		{"spec.outputs", !equality.Semantic.DeepEqual(now.Outputs, last.Outputs), true},
	} {
		if part.changed {
			changed = append(changed, part.name+" changed")
			inSpec = inSpec || part.own
		}
	}
	switch {
	case commit:
		c := v1alpha1.Cause{Type: v1alpha1.CauseCommit, Message: w.Commit.ID[:7] + " " + w.Commit.Subject,
			By: runinfo.Clip(w.Commit.Author, 253)}
		if inSpec {
			c.By = changedBy(w.Stack)
		}
		c.Message = strings.Join(append([]string{c.Message}, changed...), "; ")
		return ofOrigin(w, c)
	case len(changed) > 0:
		return ofSpec(w, changed[0], inSpec)
	}
	if sets := slices.Concat(variables.sets, env.sets); len(sets) > 0 {
		return ofVariableSets(sets)
	}
	if policies {
		return v1alpha1.Cause{Type: v1alpha1.CauseStackPolicy, Message: "StackPolicy " + byPolicy + " changed"}
	}
	if kind, changed := changedVersions(last, &now); len(changed) > 0 {
		if kind == v1alpha1.CauseVariables && ofSetsAlone(w, last) {
			kind = v1alpha1.CauseVariableSet
		}
		return v1alpha1.Cause{Type: kind, Message: strings.Join(changed, ", ") + " changed"}
	}
	return ofSpec(w, "what is declared is not applied", true)
}

// sameBuild compares the images that specs name, and not the files that those are built from.
func sameBuild(a, b *inputs.Build) bool {
	if a == nil || b == nil {
		return a == b
	}
	return equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// imageChanged reports that the same image is built from other files.
func imageChanged(a, b *inputs.Build) bool {
	return a != nil && b != nil && a.Source != b.Source
}

// sameJSON compares two as they are written into a document.
func sameJSON(a, b *apiextensionsv1.JSON) bool {
	one, _ := json.Marshal(a) // both were read from JSON
	other, _ := json.Marshal(b)
	return bytes.Equal(one, other)
}

// ofSpec is the cause of a change of the Stack. Its author is the user who changed the spec last, if the whole change
// is in the spec, or if the spec is newer than the status. The author of a change in a ConfigMap is not known.
func ofSpec(w Snapshot, message string, own bool) v1alpha1.Cause {
	c := v1alpha1.Cause{Type: v1alpha1.CauseSpec, Message: message}
	if own || w.Stack.Status.ObservedGeneration != w.Stack.Generation {
		c.By = changedBy(w.Stack)
	}
	return c
}

// changedBy is who changed the spec last.
func changedBy(stack *v1alpha1.Stack) string {
	return runinfo.Clip(stack.Annotations[v1alpha1.ChangedByAnnotation], 253)
}

// isOtherRef reports that the code is of another ref than the newest Run's, and not only of a later commit.
func isOtherRef(w Snapshot) bool {
	last := w.lastDeployRun()
	return last != nil && last.Spec.Revision != "" && refOf(last.Spec.Revision) != refOf(w.Revision)
}

// isLater reports that a revision is of the same branch or tag as another. A revision of neither names its source
// itself.
func isLater(revision, than string) bool {
	return refOf(revision) != "" && refOf(revision) == refOf(than)
}

// refOf is main, of main@sha1:1f3c...
func refOf(revision string) string { return revision[:max(0, strings.LastIndex(revision, "@"))] }

// ownHooks reports that hooks changed by more than the text in ConfigMaps.
func ownHooks(spec []v1alpha1.Hook, now, last []inputs.Hook) bool {
	if len(now) != len(last) {
		return true
	}
	for i, is := range now {
		was := last[i]
		if i < len(spec) && spec[i].ConfigMap != nil {
			was.Script = is.Script
		}
		if is != was {
			return true
		}
	}
	return false
}

// ownCommands reports that commands changed by more than the text in ConfigMaps.
func ownCommands(spec *v1alpha1.StackSpec, now, last inputs.Commands) bool {
	for _, c := range inputs.CommandsOf(spec) {
		if was := c.ScriptIn(&last); c.ConfigMap != nil && *was != "" {
			*was = *c.ScriptIn(&now)
		}
	}
	return now != last
}

func sameName(a, b inputs.Policy) bool { return a.Name == b.Name }

// ofSetsAlone reports that only VariableSets name the objects whose version changed.
func ofSetsAlone(w Snapshot, last *inputs.Document) bool {
	for name, version := range w.Inputs.Versions {
		if last.Versions[name] != version && !w.OfSets[name] {
			return false
		}
	}
	return len(last.Versions) == len(w.Inputs.Versions)
}

// changedVersions names the outputs and objects whose version changed, outputs first, at most five of them, and
// returns the type of cause that they are.
func changedVersions(last, now *inputs.Document) (kind v1alpha1.CauseType, changed []string) {
	kind = v1alpha1.CauseVariables
	all := maps.Clone(now.Versions)
	maps.Copy(all, last.Versions)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if last.Versions[name] == now.Versions[name] {
			continue
		}
		stack, output, isOutput := outputOf(name)
		if isOutput {
			kind = v1alpha1.CauseDependency
		}
		switch {
		case isOutput && output == "":
			changed = slices.Insert(changed, 0, "outputs of Stack "+stack)
		case isOutput:
			changed = slices.Insert(changed, 0, fmt.Sprintf("output %s of Stack %s", output, stack))
		default:
			changed = append(changed, strings.Replace(name, "/", " ", 1))
		}
	}
	if n := len(changed); n > 5 {
		changed = append(changed[:5], "and others")
	}
	return kind, changed
}
