package cairn

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestClientSideApplyChangesNothing checks that no CRD has a default inside a list. kubectl apply and Argo CD compare a
// list as a whole with the manifest, which does not have the value: each apply would change the object, and Argo CD
// would show it as OutOfSync.
func TestClientSideApplyChangesNothing(t *testing.T) {
	files, err := fs.Glob(os.DirFS("files/crds"), "*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile("files/crds/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			for _, field := range defaultsInLists(*version.Schema.OpenAPIV3Schema, "", false) {
				t.Errorf("%s: %s has a default inside a list", crd.Spec.Names.Kind, field)
			}
		}
	}
}

// kubernetesDefaults are those of Kubernetes' own types that no valid object of a user lacks: a reference has a name,
// and the API server rejects fileKeyRef.
var kubernetesDefaults = []string{".secretKeyRef.name", ".configMapKeyRef.name", ".secretRef.name",
	".configMapRef.name", ".fileKeyRef.optional"}

func defaultsInLists(s apiextensionsv1.JSONSchemaProps, path string, inList bool) (fields []string) {
	if inList && s.Default != nil && !hasSuffix(path, kubernetesDefaults) {
		fields = append(fields, path)
	}
	for name, property := range s.Properties {
		fields = append(fields, defaultsInLists(property, path+"."+name, inList)...)
	}
	if s.Items != nil && s.Items.Schema != nil {
		fields = append(fields, defaultsInLists(*s.Items.Schema, path+"[]", true)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		fields = append(fields, defaultsInLists(*s.AdditionalProperties.Schema, path+"{}", inList)...)
	}
	return fields
}

func hasSuffix(path string, suffixes []string) bool {
	for _, suffix := range suffixes {
		if strings.HasSuffix(path, suffix) {
			return true
		}
	}
	return false
}
