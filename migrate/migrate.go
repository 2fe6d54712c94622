// Package migrate converts objects of other systems that run OpenTofu and Terraform on Kubernetes to Cairn's, and notes
// for every field what it became, or why it became nothing. It needs no cluster and no clock: the same objects have the
// same result.
//
// It is a module of its own, beside the core, which imports nothing of it. Each system has a package, which imports
// convert (what converters share) and manifest (objects, fields and notes); kinds, below, lists them all. Package
// generate creates Stacks from a repository of code, and package metacontroller answers hooks.
//
// To add a system: a package with a list of its kinds and their converters, the list named below and in
// migration.Systems, and in testdata/<system> for each version <version>.fields (one path of its schema a line, as in
// Terraform.spec.vars[].name) and <version>.yaml (objects that have all of them), beside examples. A converter reads
// fields (o.At("spec", "path").Text()), records on each what it became (Became, NotNeeded, Unsupported, Ignored, ToDo:
// they do nothing for a field that does not exist; o.Note records a note on one that is absent), and adds a Stack to
// the conversion (c.AddStack), with a Repository from c.Repository where its code is in git. `go test . -update` writes
// the golden files.
package migrate

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cairn.dev/cairn/migrate/alustan"
	"cairn.dev/cairn/migrate/burrito"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/galleybytes"
	"cairn.dev/cairn/migrate/tfoperator"
	"cairn.dev/cairn/migrate/tofucontroller"
)

// kinds are all that are known, each system's together. Where two objects would become Stacks of one name, the object
// of the system that is named first here keeps it.
var kinds = slices.Concat(
	convert.CairnKinds, alustan.Kinds, burrito.Kinds, galleybytes.Kinds, tofucontroller.SourceKinds,
	tofucontroller.Kinds, tfoperator.Kinds, convert.KubernetesKinds,
)

// Convert creates Stacks and Repositories from objects of other systems, as convert.Objects does.
func Convert(objects []unstructured.Unstructured) (convert.Result, error) {
	return convert.Objects(kinds, objects)
}

// References lists the objects that those of the input refer to, as convert.References does.
func References(objects []unstructured.Unstructured) []convert.Reference {
	return convert.References(kinds, objects)
}

// Kinds are those whose objects become Stacks, but for Cairn's own.
func Kinds() []convert.Kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k convert.Kind) bool {
		return !k.Stack || k.System == convert.CairnSystem
	})
}

// InNamespace sets the namespace of objects that have none, as kubectl apply does.
func InNamespace(objects []unstructured.Unstructured, namespace string) {
	for _, u := range objects {
		if u.GetNamespace() == "" && convert.IndexOf(kinds, u.GetAPIVersion(), u.GetKind()) >= 0 &&
			u.GetKind() != "Namespace" {
			u.SetNamespace(namespace)
		}
	}
}
