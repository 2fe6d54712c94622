package snapshot

import (
	"path"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
)

// DependencyIndex is the field by which the cache finds the Stacks that depend on another one.
const DependencyIndex = "cairn.dev/dependencies"

// IndexDependencies returns the values of DependencyIndex: the keys of Stacks and, of those in other namespaces, also
// their namespaces with a slash behind them.
func IndexDependencies(o client.Object) []string {
	stack := o.(*v1alpha1.Stack)
	var values []string
	for _, name := range stack.Dependencies() {
		key := stack.KeyOf(name)
		values = append(values, key.String())
		if key.Namespace != stack.Namespace {
			values = append(values, InNamespace(key.Namespace))
		}
	}
	return values
}

// InNamespace is the value of DependencyIndex for all Stacks of another namespace.
func InNamespace(namespace string) string { return namespace + "/" }

// UnitIndex is the field by which the cache finds the Stacks that run a Terragrunt unit.
const UnitIndex = "cairn.dev/unit"

// IndexUnit returns the value of UnitIndex.
func IndexUnit(o client.Object) []string {
	if key := UnitOf(o.(*v1alpha1.Stack)); key != "" {
		return []string{key}
	}
	return nil
}

// UnitUserIndex is the field by which the cache finds the Stacks whose code depends on a Terragrunt unit.
const UnitUserIndex = "cairn.dev/units"

// IndexUnitUsers returns the values of UnitUserIndex.
func IndexUnitUsers(o client.Object) []string {
	stack := o.(*v1alpha1.Stack)
	var keys []string
	if repo, ok := stack.RepositoryKey(); ok {
		for _, u := range stack.Status.Units {
			keys = append(keys, unitKey(repo, u.Path))
		}
	}
	return keys
}

// UnitOf names the Terragrunt unit that a Stack runs, whatever the ref; empty when it runs none.
func UnitOf(stack *v1alpha1.Stack) string {
	repo, ok := stack.RepositoryKey()
	if !ok || stack.EngineOf().Name != v1alpha1.EngineTerragrunt {
		return ""
	}
	return unitKey(repo, folderOf(stack))
}

func unitKey(repo client.ObjectKey, folder string) string { return repo.String() + ":" + folder }

// folderOf is the folder of a Stack from git, from the repository's root; "." is the root.
func folderOf(stack *v1alpha1.Stack) string { return path.Clean(stack.Spec.Source.Git.Path) }

// ObjectIndex is the field by which the cache finds the Stacks to which the change of a Secret or ConfigMap is news.
const ObjectIndex = "cairn.dev/objects"

// ObjectKey is the value of ObjectIndex for an object.
func ObjectKey(kind, name string) string { return kind + "/" + name }

// IndexObjects returns the values of ObjectIndex: the objects that the Stack reads and writes.
func IndexObjects(o client.Object) []string {
	stack := o.(*v1alpha1.Stack)
	var keys []string
	for _, r := range references(stack) {
		keys = append(keys, r.key())
	}
	for _, name := range code.ConfigMaps(stack) {
		keys = append(keys, ObjectKey("ConfigMap", name))
	}
	for _, o := range outputObjects(stack.Spec.Outputs) {
		keys = append(keys, o.key())
	}
	return keys
}
