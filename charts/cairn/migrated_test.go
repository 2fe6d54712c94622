//go:build envtest

package cairn

import (
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What `cairn migrate` and `cairn generate` write is accepted by the API server unchanged.
func TestOutputOfMigrateIsAccepted(t *testing.T) {
	c := connect(t)
	files, err := filepath.Glob("../../migrate/testdata/*/*.golden.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			for _, o := range parse(t, read(t, file)) {
				o.SetNamespace("default")
				if err := c.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
					t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
				}
			}
		})
	}
}
