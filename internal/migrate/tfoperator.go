package migrate

import (
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
)

// tf-operator runs the code of a ConfigMap with the variables of a Secret. Its state was to be in a Secret that the status names; no release wrote it.

var tfOperator = []kind{
	{system: "tf-operator", group: "tf.tf-operator.io", versions: []string{"v1alpha1"}, name: "Stack", plural: "stacks", stack: true, convert: tfOperatorStack},
}

func tfOperatorStack(c *conversion, o *object) {
	spec := o.at("spec")
	s := v1alpha1.StackSpec{Apply: v1alpha1.ApplyAutomatic, DeletionPolicy: v1alpha1.DeletionDestroy}
	s.Engine.Name = v1alpha1.EngineTerraform
	o.note(Became, "spec.engine", "spec.engine.name Terraform; the version is what the code asks for, or the install's default")

	code := spec.at("tfconfig", "name")
	if code.text() == "" {
		spec.at("tfconfig").fail("the name of the ConfigMap with the code is missing")
		return
	}
	s.Source.ConfigMap = &v1alpha1.ObjectRef{Name: code.text()}
	code.became("spec.source.configMap: the same ConfigMap")

	if values := spec.at("tfvars", "name"); values.text() != "" {
		s.VariableFiles = []v1alpha1.VariableFile{{Secret: &v1alpha1.ObjectRef{Name: values.text()}}}
		values.became("spec.variableFiles: the same Secret; a change of it starts a Run")
		c.tfvarsKeys(o, values, values.text())
	}
	o.note(Became, "spec.apply", "spec.apply Automatic: it applies whatever changed, unasked")
	o.note(Became, "spec.deletionPolicy", "spec.deletionPolicy Destroy, as its documentation says; its code destroys nothing, and deleting a Stack there leaves all that it made")
	if state := o.at("status", "tfstate", "name"); state.text() != "" {
		s.Suspend = true
		o.note(Became, "status.tfstate", "spec.suspend, until the state is here: Cairn keeps it, for it was in no backend")
		o.note(Todo, "status.tfstate.name", "put the state in before the first plan: %s | base64 -d > %s.tfstate; cairn state push %s %s.tfstate --yes; cairn resume %s",
			kubectl(o.ref.Namespace, `get secret %s -o go-template=%s`, quote(state.text()), quote(`{{index .data "terraform.tfstate"}}`)),
			quote(o.stack), quote(o.stack), quote(o.stack), quote(o.stack))
	} else {
		o.note(NotNeeded, "status.tfstate", "no Secret with a state is named there: Cairn keeps the state, from nothing. If things were made all the same, put their state in with cairn state push before the first plan is applied")
	}
	c.add(o, s, nil)
}

// tfvarsKeys says what to do when no key of a Secret of variables would be taken.
func (c *conversion) tfvarsKeys(o *object, at field, name string) {
	keys, known := c.keys("Secret", o.ref.Namespace, name)
	isFile := func(key string) bool {
		return strings.HasSuffix(key, ".tfvars") || strings.HasSuffix(key, ".tfvars.json")
	}
	switch {
	case !known:
		at.todo("look that its keys end in .tfvars or .tfvars.json: others are not taken (%s)",
			kubectl(o.ref.Namespace, "get secret %s -o go-template=%s", quote(name), quote(`{{range $key, $value := .data}}{{$key}} {{end}}`)))
	case !slices.ContainsFunc(keys, isFile):
		at.todo("its keys are %s, and only those that end in .tfvars or .tfvars.json are taken: make a Secret with such a key and name it in spec.variableFiles", strings.Join(keys, ", "))
	}
}
