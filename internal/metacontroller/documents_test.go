package metacontroller

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/migrate/manifest"
)

// TestObjectsOfTheAlustanDocument checks that the objects of alustan's design document are converted as by `cairn migrate`, except for the options of the controller. They
// are Pending first, and the second response equals the first one.
func TestObjectsOfTheAlustanDocument(t *testing.T) {
	for _, name := range []string{"document-inline", "document-configmap"} {
		t.Run(name, func(t *testing.T) {
			read := func(file string) map[string]Object {
				t.Helper()
				text, err := os.ReadFile("../migrate/testdata/alustan/" + file)
				if err != nil {
					t.Fatal(err)
				}
				objects, err := manifest.Read(text)
				if err != nil {
					t.Fatal(err)
				}
				byKind := map[string]Object{}
				for _, o := range objects {
					byKind[o.GetKind()] = o.Object
				}
				return byKind
			}
			want := read(name + ".golden.yaml")["Stack"]
			set(want, "example-terraformconfig", "spec", "source", "git", "repository", "name")
			r := CompositeRequest{Parent: read(name + ".yaml")["Terraform"], Children: Observed{"Stack.cairn.dev/v1alpha1": {}, "Repository.cairn.dev/v1alpha1": {}}}
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
