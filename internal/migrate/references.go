package migrate

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of another system whose objects become Stacks.
type Kind struct {
	System string
	schema.GroupKind
	// Versions that are known, the best first.
	Versions []string
	// Resource is its name in the API's paths.
	Resource string
}

// Kinds are those whose objects become Stacks, but for Cairn's own.
func Kinds() []Kind {
	var found []Kind
	for _, k := range kinds {
		if k.stack && k.system != cairn {
			found = append(found, k.public())
		}
	}
	return found
}

func (k kind) public() Kind {
	return Kind{System: k.system, GroupKind: schema.GroupKind{Group: k.group, Kind: k.name}, Versions: k.versions, Resource: k.plural}
}

// Reference names an object of the cluster that others need to be converted whole.
type Reference struct {
	Kind
	Namespace, Name string
}

// References are the objects that those of the input refer to, and that are not in it: sources of code, and ConfigMaps with settings. There is never
// a Secret among them.
func References(objects []unstructured.Unstructured) []Reference {
	c := &conversion{byKey: map[key]*object{}}
	for _, u := range objects {
		_ = c.take(u) // Convert says what is wrong with it
	}
	var found []Reference
	add := func(group, name, namespace, object string) {
		if object == "" || c.find(group, name, namespace, object) != nil {
			return
		}
		for _, k := range kinds {
			if k.group == group && k.name == name {
				found = append(found, Reference{Kind: k.public(), Namespace: namespace, Name: object})
			}
		}
	}
	for _, o := range c.objects {
		if o.kind == nil {
			continue
		}
		switch o.kind.group + "/" + o.kind.name {
		case burritoGroup + "/TerraformLayer":
			ref := o.at("spec", "repository")
			add(burritoGroup, "TerraformRepository", or(ref.at("namespace").text(), o.ref.Namespace), ref.at("name").text())
		case tofuGroup + "/Terraform":
			ref := o.at("spec", "sourceRef")
			add(fluxSources, ref.at("kind").text(), or(ref.at("namespace").text(), o.ref.Namespace), ref.at("name").text())
			for _, f := range o.at("spec", "backendConfigsFrom").items() {
				if f.at("kind").text() == "ConfigMap" {
					add("", "ConfigMap", o.ref.Namespace, f.at("name").text())
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b Reference) int {
		return cmp.Or(cmp.Compare(a.GroupKind.String(), b.GroupKind.String()), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.CompactFunc(found, func(a, b Reference) bool {
		return a.GroupKind == b.GroupKind && a.Namespace == b.Namespace && a.Name == b.Name
	})
}

// InNamespace puts objects that say no namespace into one, as kubectl apply does.
func InNamespace(objects []unstructured.Unstructured, namespace string) {
	for _, u := range objects {
		if u.GetNamespace() == "" && kindOf(u.GetAPIVersion(), u.GetKind()) >= 0 && u.GetKind() != "Namespace" {
			u.SetNamespace(namespace)
		}
	}
}

// Systems are the names of the systems that are known.
func Systems() string {
	var names []string
	for _, k := range Kinds() {
		if !slices.Contains(names, k.System) {
			names = append(names, k.System)
		}
	}
	return strings.Join(names, ", ")
}
