package migrate

import (
	"cairn.dev/cairn/api/v1alpha1"
)

// cairn is the system that all others become.
const cairn = "cairn"

// own are Cairn's kinds: Stacks and Repositories pass through as they are, so that converting twice gives the same.
var own = []kind{
	{system: cairn, group: v1alpha1.GroupVersion.Group, versions: []string{v1alpha1.GroupVersion.Version}, name: "Repository", plural: "repositories", convert: ownRepository},
	{system: cairn, group: v1alpha1.GroupVersion.Group, versions: []string{v1alpha1.GroupVersion.Version}, name: "Stack", plural: "stacks", stack: true, convert: ownStack},
}

func ownRepository(c *conversion, o *object) {
	made := &repository{named: true}
	o.at("metadata").into(&made.ObjectMeta)
	o.at("spec").into(&made.Spec)
	fresh := newRepository(o.ref.Namespace, made.Spec.URL)
	made.TypeMeta = fresh.TypeMeta
	made.ObjectMeta = clean(made.ObjectMeta)
	c.repositories = append(c.repositories, made)
	o.note(Became, "", "the same: it is Cairn's already")
	o.told["metadata"], o.told["spec"] = true, true
}

func ownStack(c *conversion, o *object) {
	made := &stack{}
	o.at("metadata").into(&made.ObjectMeta)
	o.at("spec").into(&made.Spec)
	made.APIVersion, made.Kind = v1alpha1.GroupVersion.String(), "Stack"
	made.ObjectMeta = clean(made.ObjectMeta)
	c.stacks = append(c.stacks, made)
	o.note(Became, "", "the same: it is Cairn's already")
	o.lastOfEachVariable(&made.Spec)
	o.told["metadata"], o.told["spec"] = true, true
}
