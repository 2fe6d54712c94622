package migrate

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// kubernetes are kinds that Stacks refer to. They stay as they are; nothing is written of them.
var kubernetes = []kind{
	{system: "kubernetes", group: "", versions: []string{"v1"}, name: "ConfigMap", plural: "configmaps", convert: stays},
	{system: "kubernetes", group: "", versions: []string{"v1"}, name: "Secret", plural: "secrets", convert: stays},
	{system: "kubernetes", group: "", versions: []string{"v1"}, name: "ServiceAccount", plural: "serviceaccounts", convert: stays},
	{system: "kubernetes", group: "", versions: []string{"v1"}, name: "Namespace", plural: "namespaces", convert: stays},
}

func stays(_ *conversion, o *object) {
	o.note(NotNeeded, "", "it stays as it is, and is not written out")
	for _, f := range o.root.fields() {
		o.told[f.path] = true
	}
}

// withoutSecrets is the object or, of a Secret, what is in it without the values: nobody here may see them.
func withoutSecrets(u unstructured.Unstructured) map[string]any {
	if u.GetKind() != "Secret" {
		return u.Object
	}
	kept := maps.Clone(u.Object)
	for _, part := range []string{"data", "stringData"} {
		values, ok := kept[part].(map[string]any)
		if !ok {
			delete(kept, part)
			continue
		}
		names := map[string]any{}
		for name := range values {
			names[name] = ""
		}
		kept[part] = names
	}
	if metadata, ok := kept["metadata"].(map[string]any); ok { // kubectl writes all of it into an annotation
		metadata = maps.Clone(metadata)
		delete(metadata, "annotations")
		kept["metadata"] = metadata
	}
	return kept
}
