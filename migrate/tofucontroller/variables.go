package tofucontroller

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
	"cairn.dev/cairn/migrate/pod"
)

// convertVariables are values for the code: those of varsFrom win over those of vars, and these over values.
func convertVariables(o *convert.Object, s *v1alpha1.StackSpec, r *pod.Runner) {
	spec := o.At("spec")
	if values := spec.At("values"); values.Exists() {
		raw, err := json.Marshal(values.Value)
		switch {
		case err != nil:
			values.Fail("%w", err)
		case strings.Contains(string(raw), "${{"):
			values.Unsupported("it has a template in it (${{ }}): write the values, or take outputs of a Stack by " +
				"spec.variables valueFrom.stack. The variable values is not set")
		default:
			s.Variables = append(s.Variables, v1alpha1.Variable{Name: "values", Value: &apiextensionsv1.JSON{Raw: raw}})
			values.Became("spec.variables values")
		}
	}
	for _, f := range spec.At("readInputsFromSecrets").Items() {
		f.Unsupported("only the template of values reads it there: take outputs of a Stack by spec.variables " +
			"valueFrom.stack, or a key of the Secret by valueFrom.secret")
	}
	for _, f := range spec.At("vars").Items() {
		convertVariable(f, s)
	}
	for _, f := range spec.At("varsFrom").Items() {
		convertVariablesFrom(o, f, s, r)
	}
	convert.KeepLastVariables(o, s)
	for _, f := range spec.At("tfVarsFiles").Items() {
		in, err := convert.PathInRepository(f.Text())
		if err != nil || !strings.HasSuffix(in, ".tfvars") && !strings.HasSuffix(in, ".tfvars.json") {
			f.Unsupported("%s: a variable file is in the repository, and ends in .tfvars or .tfvars.json", f.Text())
			continue
		}
		s.VariableFiles = append(s.VariableFiles, v1alpha1.VariableFile{Path: in})
		f.Became("spec.variableFiles path %s", in)
		if len(s.Variables) > 0 {
			f.ToDo("files win over vars there, and spec.variables over files here: check for variables that both set")
		}
	}
	o.Note(manifest.Unsupported, "", "if the code has a file main.tf.tpl: it is no code for the engine; render it, "+
		"and keep main.tf in the repository")
}

func convertVariable(f manifest.Field, s *v1alpha1.StackSpec) {
	name := f.At("name").Text()
	if from := f.At("valueFrom"); from.Exists() && !f.At("value").Exists() {
		from.Ignored("tofu-controller sets null for it, whatever it names")
		var source corev1.EnvVarSource
		from.Decode(&source)
		switch {
		case source.SecretKeyRef != nil:
			s.Variables = append(s.Variables,
				v1alpha1.Variable{Name: name,
					ValueFrom: &v1alpha1.ValueFrom{Secret: &v1alpha1.KeyRef{Name: source.SecretKeyRef.Name,
						Key: source.SecretKeyRef.Key}}})
		case source.ConfigMapKeyRef != nil:
			s.Variables = append(s.Variables,
				v1alpha1.Variable{Name: name,
					ValueFrom: &v1alpha1.ValueFrom{ConfigMap: &v1alpha1.KeyRef{Name: source.ConfigMapKeyRef.Name,
						Key: source.ConfigMapKeyRef.Key}}})
		default:
			from.Unsupported("a value is from a Secret or a ConfigMap")
			return
		}
		f.At("name").Became("spec.variables %s: with the value that it names, as meant. If the first plan is not "+
			"empty for it, take it out", name)
		return
	}
	if !f.At("value").Exists() {
		f.At("name").Unsupported("%s has no value, which was null there: it is left out, and the code's "+
			"default is taken", name)
		f.Object.MarkNoted(f.At("value").Path)
		return
	}
	raw, err := json.Marshal(f.At("value").Value)
	if err != nil {
		f.Fail("%w", err)
		return
	}
	s.Variables = append(s.Variables, v1alpha1.Variable{Name: name, Value: &apiextensionsv1.JSON{Raw: raw}})
	f.At("name").Became("spec.variables %s", name)
	f.At("value").Became("spec.variables %s", name)
	f.At("valueFrom").Ignored("it has no effect beside a value")
}

// convertVariablesFrom are keys of a Secret or ConfigMap: by name where it lists them, otherwise all of them, by the
// environment.
func convertVariablesFrom(o *convert.Object, f manifest.Field, s *v1alpha1.StackSpec, r *pod.Runner) {
	name, isSecret := f.At("name").Text(), f.At("kind").Text() == "Secret"
	f.At("kind").Became("spec.variables")
	f.At("name").Became("spec.variables")
	optional := f.At("optional").Bool()
	if !optional {
		f.At("optional").NotNeeded("it is not optional")
	}
	if !f.At("varsKeys").Exists() {
		f.At("optional").Became("spec.envFrom optional")
		source := corev1.EnvFromSource{Prefix: "TF_VAR_"}
		local := corev1.LocalObjectReference{Name: name}
		if isSecret {
			source.SecretRef = &corev1.SecretEnvSource{LocalObjectReference: local}
		} else {
			source.ConfigMapRef = &corev1.ConfigMapEnvSource{LocalObjectReference: local}
		}
		if optional && isSecret {
			source.SecretRef.Optional = &optional
		} else if optional {
			source.ConfigMapRef.Optional = &optional
		}
		r.EnvFrom = append(r.EnvFrom, source)
		o.Note(manifest.Became, f.Path, "spec.envFrom with the prefix TF_VAR_: each key of %s is a variable. It "+
			"loses to *.tfvars files of the code and to spec.variables, over which it won there", name)
		return
	}
	if optional {
		f.At("optional").Unsupported("what is named has to be there")
	}
	for _, item := range f.At("varsKeys").Items() {
		key, variable, found := strings.Cut(item.Text(), ":")
		if !found {
			variable = key
		}
		ref := &v1alpha1.KeyRef{Name: name, Key: key}
		from := &v1alpha1.ValueFrom{ConfigMap: ref}
		if isSecret {
			from = &v1alpha1.ValueFrom{Secret: ref}
		}
		s.Variables = append(s.Variables, v1alpha1.Variable{Name: variable, ValueFrom: from})
		item.Became("spec.variables %s", variable)
	}
}
