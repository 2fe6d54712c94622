package snapshot

import (
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/podspec"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/lifecycle/stackpolicy"
	"cairn.dev/cairn/internal/lifecycle/variableset"
)

// Reference is an object that a Stack's inputs are read from.
type Reference struct {
	Kind, Name string
	// Why is the field that refers to it.
	Why string
	// Optional ones may be missing.
	Optional bool
	// Credential ones only open a door, or are a file in the pod: another version of one is no cause for a Run.
	Credential bool
	// Text ones are read here: the inputs have their text, and not their version.
	Text bool
}

func (r Reference) key() string { return ObjectKey(r.Kind, r.Name) }

// references are all objects that the Stack's values come from; its code is not among them.
func references(stack *v1alpha1.Stack) []Reference {
	spec := &stack.Spec
	var refs []Reference
	secret := func(name, why string, optional *bool) {
		refs = append(refs, Reference{Kind: "Secret", Name: name, Why: why, Optional: optional != nil && *optional})
	}
	configMap := func(name, why string, optional *bool) {
		refs = append(refs, Reference{Kind: "ConfigMap", Name: name, Why: why, Optional: optional != nil && *optional})
	}
	for _, f := range spec.VariableFiles {
		switch {
		case f.Secret != nil:
			secret(f.Secret.Name, "spec.variableFiles", nil)
		case f.ConfigMap != nil:
			configMap(f.ConfigMap.Name, "spec.variableFiles", nil)
		}
	}
	for _, v := range spec.Variables {
		switch why := "variable " + v.Name + ofSet(variableset.VariableFrom(stack, v.Name)); {
		case v.ValueFrom == nil:
		case v.ValueFrom.Secret != nil:
			secret(v.ValueFrom.Secret.Name, why, nil)
		case v.ValueFrom.ConfigMap != nil:
			configMap(v.ValueFrom.ConfigMap.Name, why, nil)
		}
	}
	for _, e := range spec.Env {
		why := "env " + e.Name + ofSet(variableset.EnvFrom(stack, e.Name))
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			secret(e.ValueFrom.SecretKeyRef.Name, why, e.ValueFrom.SecretKeyRef.Optional)
		}
		if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
			configMap(e.ValueFrom.ConfigMapKeyRef.Name, why, e.ValueFrom.ConfigMapKeyRef.Optional)
		}
	}
	for _, e := range spec.EnvFrom {
		if e.SecretRef != nil {
			secret(e.SecretRef.Name, "spec.envFrom", e.SecretRef.Optional)
		}
		if e.ConfigMapRef != nil {
			configMap(e.ConfigMapRef.Name, "spec.envFrom", e.ConfigMapRef.Optional)
		}
	}
	if spec.Backend != nil {
		for i, from := range spec.Backend.ConfigFrom {
			secret(from.Secret.Name, fmt.Sprintf("spec.backend.configFrom[%d]", i), nil)
		}
	}
	for _, m := range spec.ModuleCredentials {
		refs = append(refs, Reference{Kind: "Secret", Name: m.Secret.Name, Why: "credentials for modules from " +
			m.Host, Credential: true})
	}
	for _, r := range podspec.TemplateReads(spec.Runner.Template) {
		refs = append(refs, Reference{Kind: r.Kind, Name: r.Name, Why: r.Why, Optional: r.Optional,
			Credential: !r.Decides})
	}
	if b := spec.Runner.Build; b != nil && b.PushSecret != nil {
		refs = append(refs, Reference{Kind: "Secret", Name: b.PushSecret.Name, Why: "spec.runner.build.pushSecret",
			Credential: true})
	}
	for i, h := range spec.Hooks {
		if h.ConfigMap != nil {
			refs = append(refs, Reference{Kind: "ConfigMap", Name: h.ConfigMap.Name, Why: hookField(i), Text: true})
		}
	}
	for _, c := range inputs.CommandsOf(spec) {
		if c.ConfigMap != nil {
			refs = append(refs, Reference{Kind: "ConfigMap", Name: c.ConfigMap.Name, Why: c.Field, Text: true})
		}
	}
	for i, p := range spec.Policies {
		refs = append(refs, Reference{Kind: "ConfigMap", Name: p.ConfigMap.Name, Why: policyField(stack, i),
			Text: true})
	}
	return refs
}

func hookField(i int) string { return fmt.Sprintf("spec.hooks[%d]", i) }

// policyField is where a policy of a Stack is declared.
func policyField(stack *v1alpha1.Stack, i int) string {
	if from := stackpolicy.From(stack, stack.Spec.Policies[i].ConfigMap.Name); from != "" {
		return "spec.policies of StackPolicy " + from
	}
	return fmt.Sprintf("spec.policies[%d]", i)
}

// problem reports that the object of a reference is not found.
func (r Reference) problem() *decision.Problem {
	reason := v1alpha1.ReasonConfigMapNotFound
	if r.Kind == "Secret" {
		reason = v1alpha1.ReasonSecretNotFound
	}
	return &decision.Problem{Reason: reason,
		Message: fmt.Sprintf("%s %s is not found (%s): create it, or correct the Stack", r.Kind, r.Name, r.Why)}
}

// outputObjects are the objects that the outputs are written to.
func outputObjects(o *v1alpha1.Outputs) []Reference {
	var refs []Reference
	if o != nil && o.Secret != nil {
		refs = append(refs, Reference{Kind: "Secret", Name: o.Secret.Name})
	}
	if o != nil && o.ConfigMap != nil {
		refs = append(refs, Reference{Kind: "ConfigMap", Name: o.ConfigMap.Name})
	}
	return refs
}
