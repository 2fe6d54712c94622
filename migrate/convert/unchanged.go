package convert

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/migrate/convert/manifest"
)

// CairnSystem is the system that all others become.
const CairnSystem = "cairn"

// CairnKinds are Cairn's kinds: Stacks and Repositories pass through as they are, so that a second conversion changes
// nothing.
var CairnKinds = []Kind{
	{System: CairnSystem, GroupKind: schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "Repository"},
		Versions: []string{v1alpha1.GroupVersion.Version}, Resource: "repositories", Convert: ownRepository},
	{System: CairnSystem, GroupKind: schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "Stack"},
		Versions: []string{v1alpha1.GroupVersion.Version}, Resource: "stacks", Stack: true, Convert: ownStack},
}

func ownRepository(c *Conversion, o *Object) {
	made := &Repository{named: true}
	o.At("metadata").Decode(&made.ObjectMeta)
	o.At("spec").Decode(&made.Spec)
	fresh := NewRepository(o.Ref.Namespace, made.Spec.URL)
	made.TypeMeta = fresh.TypeMeta
	made.ObjectMeta = clean(made.ObjectMeta)
	c.repositories = append(c.repositories, made)
	o.Note(manifest.Became, "", "the same: it is Cairn's already")
	o.MarkNoted("metadata", "spec")
}

func ownStack(c *Conversion, o *Object) {
	made := &stack{}
	o.At("metadata").Decode(&made.ObjectMeta)
	o.At("spec").Decode(&made.Spec)
	made.APIVersion, made.Kind = v1alpha1.GroupVersion.String(), "Stack"
	made.ObjectMeta = clean(made.ObjectMeta)
	c.stacks = append(c.stacks, made)
	o.Note(manifest.Became, "", "the same: it is Cairn's already")
	KeepLastVariables(o, &made.Spec)
	o.MarkNoted("metadata", "spec")
}

// KubernetesKinds are kinds that Stacks refer to. They stay as they are; nothing is written of them.
var KubernetesKinds = []Kind{
	{System: "kubernetes", GroupKind: schema.GroupKind{Group: "", Kind: "ConfigMap"}, Versions: []string{"v1"},
		Resource: "configmaps", Convert: stays},
	{System: "kubernetes", GroupKind: schema.GroupKind{Group: "", Kind: "Secret"}, Versions: []string{"v1"},
		Resource: "secrets", Convert: stays},
	{System: "kubernetes", GroupKind: schema.GroupKind{Group: "", Kind: "ServiceAccount"}, Versions: []string{"v1"},
		Resource: "serviceaccounts", Convert: stays},
	{System: "kubernetes", GroupKind: schema.GroupKind{Group: "", Kind: "Namespace"}, Versions: []string{"v1"},
		Resource: "namespaces", Convert: stays},
}

func stays(_ *Conversion, o *Object) {
	o.Note(manifest.NotNeeded, "", "it stays as it is, and is not written out")
	for _, f := range o.Root.Fields() {
		o.MarkNoted(f.Path)
	}
}
