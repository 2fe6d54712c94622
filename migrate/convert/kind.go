package convert

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of objects that the input may have.
type Kind struct {
	// System that it is of. Example: burrito.
	System string
	schema.GroupKind
	// Versions that are known, the best first.
	Versions []string
	// Resource is its name in the API's paths. Example: terraformlayers.
	Resource string
	// Stack is true when each object becomes a Stack, of the same name where that is free.
	Stack bool
	// Convert adds to the conversion what an object becomes, and records a note on each field of its spec.
	Convert func(*Conversion, *Object)
	// References are the objects that an object needs to be converted completely; nil for none. There is never a Secret
	// among them.
	References func(*Object) []Key
}

// IndexOf is the place of a kind in a list, whatever its version; -1 when it is not in it.
func IndexOf(kinds []Kind, apiVersion, name string) int {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return -1
	}
	return slices.IndexFunc(kinds, func(k Kind) bool { return k.Group == gv.Group && k.GroupKind.Kind == name })
}

// Reference names an object of the cluster that others need to be converted completely.
type Reference struct {
	Kind
	Namespace, Name string
}

// References are the objects that those of the input refer to, and that are not in it: sources of code, and ConfigMaps
// with settings.
func References(kinds []Kind, objects []unstructured.Unstructured) []Reference {
	c := &Conversion{kinds: kinds, byKey: map[Key]*Object{}}
	for _, u := range objects {
		_ = c.take(u) // Objects reports what is wrong with it
	}
	wanted := map[Key]Reference{}
	for _, o := range c.Objects {
		if o.Kind == nil || o.Kind.References == nil {
			continue
		}
		for _, k := range o.Kind.References(o) {
			at := slices.IndexFunc(kinds, func(known Kind) bool {
				return known.Group == k.Group && known.GroupKind.Kind == k.Kind
			})
			if at >= 0 && k.Name != "" && c.byKey[k] == nil {
				wanted[k] = Reference{Kind: kinds[at], Namespace: k.Namespace, Name: k.Name}
			}
		}
	}
	return slices.SortedFunc(maps.Values(wanted), func(a, b Reference) int {
		return cmp.Or(cmp.Compare(a.GroupKind.String(), b.GroupKind.String()), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name))
	})
}
