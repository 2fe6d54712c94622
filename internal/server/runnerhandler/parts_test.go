package runnerhandler

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine/plan/fingerprint"
)

// The names of parts are shown to all who read a pull request. Parts whose names are the same without secrets have one
// fingerprint, which each of them changes.
func TestPartsOfAPlanHaveNoSecrets(t *testing.T) {
	s := &API{Options: Options{Fingerprint: func(message []byte) string { return "hash of " + string(message) }}}
	of := func(second string) map[string]string {
		return s.fingerprintsOf([]fingerprint.Part{
			{Name: `test.a["hunter2"]`, Text: []byte("1")}, {Name: `test.a["hunter3"]`, Text: []byte(second)},
			{Name: "output vpc", Text: []byte("x")},
		}, []string{"hunter2", "hunter3"})
	}
	before := of("2")
	if diff := cmp.Diff([]string{`test.a["(sensitive)"]`}, fingerprint.Differences(before, of("3"))); diff != "" {
		t.Error(diff)
	}
	if len(before) != 2 || before["output vpc"] != "hash of \"output vpc\" \"x\"\n" {
		t.Errorf("%q", before)
	}
}
