//go:build envtest

package cairn

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/migrate/manifest"
)

// What `cairn migrate` and `cairn generate` write is accepted by the API server unchanged.
func TestOutputOfMigrateIsAccepted(t *testing.T) {
	c := connect(t)
	files, err := filepath.Glob("../../internal/migrate/testdata/*/*.golden.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := manifest.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range objects {
				o.SetNamespace("default")
				if err := c.Create(t.Context(), &o, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
					t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
				}
			}
		})
	}
}
