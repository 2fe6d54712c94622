// Package tfoperator converts Stacks of tf-operator, which runs the code of a ConfigMap with the variables of a Secret.
// Its state was to be in a Secret that the status names; no release wrote it.
package tfoperator

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
	"cairn.dev/cairn/migrate/states"
)

// Kinds of tf-operator.
var Kinds = []convert.Kind{
	{System: "tf-operator", GroupKind: schema.GroupKind{Group: "tf.tf-operator.io", Kind: "Stack"},
		Versions: []string{"v1alpha1"}, Resource: "stacks", Stack: true, Convert: convertStack},
}

func convertStack(c *convert.Conversion, o *convert.Object) {
	spec := o.At("spec")
	s := v1alpha1.StackSpec{Apply: v1alpha1.ApplyAutomatic, DeletionPolicy: v1alpha1.DeletionDestroy}
	s.Engine.Name = v1alpha1.EngineTerraform
	o.Note(manifest.Became, "spec.engine", "spec.engine.name Terraform; the version is the one that the code "+
		"requires, or the installation's default")

	code := spec.At("tfconfig", "name")
	if code.Text() == "" {
		spec.At("tfconfig").Fail("the name of the ConfigMap with the code is missing")
		return
	}
	s.Source.ConfigMap = &v1alpha1.ObjectRef{Name: code.Text()}
	code.Became("spec.source.configMap: the same ConfigMap")

	if values := spec.At("tfvars", "name"); values.Text() != "" {
		s.VariableFiles = []v1alpha1.VariableFile{{Secret: &v1alpha1.ObjectRef{Name: values.Text()}}}
		values.Became("spec.variableFiles: the same Secret; a change of it starts a Run")
		noteVariableFileKeys(c, o, values, values.Text())
	}
	o.Note(manifest.Became, "spec.apply", "spec.apply Automatic: it applies whatever changed, unasked")
	o.Note(manifest.Became, "spec.deletionPolicy", "spec.deletionPolicy Destroy, as its documentation has it; its "+
		"code destroys nothing, and deleting a Stack there leaves all of its resources")
	if state := o.At("status", "tfstate", "name"); state.Text() != "" {
		s.Suspend = true
		o.Note(manifest.Became, "status.tfstate", "spec.suspend, until the state is here: Cairn keeps it, for it was "+
			"in no backend")
		o.Note(manifest.ToDo, "status.tfstate.name", "put the state in before the first plan: %s | base64 -d > "+
			"%s.tfstate; %s",
			convert.Kubectl(o.Ref.Namespace, `get secret %s -o go-template=%s`, convert.Quote(state.Text()),
				convert.Quote(`{{index .data "terraform.tfstate"}}`)),
			convert.Quote(o.StackName), states.PushState(o))
	} else {
		o.Note(manifest.NotNeeded, "status.tfstate", "no Secret with a state is named there: Cairn keeps the state, "+
			"from nothing. If there are resources, store their state with cairn state push before the first "+
			"plan is applied")
	}
	c.AddStack(o, s, nil)
}

// noteVariableFileKeys adds a note when no key of a Secret of variables would be used.
func noteVariableFileKeys(c *convert.Conversion, o *convert.Object, at manifest.Field, name string) {
	keys, known := c.Keys("Secret", o.Ref.Namespace, name)
	isFile := func(key string) bool {
		return strings.HasSuffix(key, ".tfvars") || strings.HasSuffix(key, ".tfvars.json")
	}
	switch {
	case !known:
		at.ToDo("look that its keys end in .tfvars or .tfvars.json: others are not taken (%s)",
			convert.Kubectl(o.Ref.Namespace, "get secret %s -o go-template=%s", convert.Quote(name),
				convert.Quote(`{{range $key, $value := .data}}{{$key}} {{end}}`)))
	case !slices.ContainsFunc(keys, isFile):
		at.ToDo("its keys are %s, and only those that end in .tfvars or .tfvars.json are taken: create a Secret with "+
			"such a key and name it in spec.variableFiles", strings.Join(keys, ", "))
	}
}
