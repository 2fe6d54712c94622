// Package program finds the real programs that tests run.
package program

import (
	"testing"

	"cairn.dev/cairn/dev/tools"
)

// Path is where make tools puts a program. A test that asks for it is left out of go test -short, which needs Go and git alone and
// takes seconds.
func Path(t testing.TB, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skipf("runs the real %s: make test does that", name)
	}
	path, err := tools.Path(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
