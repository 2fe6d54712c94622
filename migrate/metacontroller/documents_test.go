package metacontroller

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestObjectsOfTheAlustanDocument checks that the objects of alustan's design document are converted as by `cairn
// migrate`, except for the options of the controller. They are Pending first, and the second response equals the first
// one.
func TestObjectsOfTheAlustanDocument(t *testing.T) {
	for _, name := range []string{"document-inline", "document-configmap"} {
		t.Run(name, func(t *testing.T) {
			read := func(name string) map[string]Object {
				t.Helper()
				file, err := os.Open("../testdata/alustan/" + name)
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
				byKind := map[string]Object{}
				for documents := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
					var o unstructured.Unstructured
					if err := documents.Decode(&o.Object); errors.Is(err, io.EOF) {
						return byKind
					} else if err != nil {
						t.Fatal(err)
					}
					byKind[o.GetKind()] = o.Object
				}
			}
			want := read(name + ".golden.yaml")["Stack"]
			set(want, "example-terraformconfig", "spec", "source", "git", "repository", "name")
			r := CompositeRequest{Parent: read(name + ".yaml")["Terraform"],
				Children: Observed{"Stack.cairn.dev/v1alpha1": {}, "Repository.cairn.dev/v1alpha1": {}}}
			first, second := answerTo(t, r), answerTo(t, r)
			if first.Status["state"] != pending || len(first.Children) != 2 {
				t.Fatalf("%+v", first)
			}
			if diff := cmp.Diff(want["spec"], first.Children[1]["spec"]); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("the second response differs:\n%s", diff)
			}
		})
	}
}
