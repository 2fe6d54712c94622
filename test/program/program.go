// Package program finds the real programs that tests run, and sets how often these collect garbage.
package program

import (
	"os"
	"testing"

	"cairn.dev/cairn/dev/tools"
)

// Path is where make tools puts a program. A test that asks for it is left out of go test -short, which needs Go and
// git alone and takes seconds.
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

// gogc is the GOGC of programs that tests start. With the default of 100, short programs such as kubectl, helm and tofu
// spend a quarter of their processor time on garbage, and the API server a sixth.
const gogc = "400"

// CollectLess sets GOGC for the programs that this process starts. Benchmarks do not call it.
func CollectLess() {
	if err := os.Setenv("GOGC", gogc); err != nil {
		panic(err) // only for a name that is not valid
	}
}

// Garbage returns the variable that CollectLess sets, for a program with an environment of its own. A benchmark gets
// none.
func Garbage(t testing.TB) []string {
	if _, measured := t.(*testing.B); measured {
		return nil
	}
	return []string{"GOGC=" + gogc}
}
