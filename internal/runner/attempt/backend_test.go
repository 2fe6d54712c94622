package attempt

import (
	"strings"
	"testing"

	"cairn.dev/cairn/internal/engine"
)

func TestPasswordsInAnArgument(t *testing.T) {
	for value, want := range map[string]string{
		"postgres://u:p%40ss@h/d":                "p@ss",
		"host=h user=u password=secret dbname=d": "secret",
		"host=h password='two words' dbname=d":   "two words",
		"us-east-1":                              "",
	} {
		if got := append(passwords(value), ""); got[0] != want {
			t.Errorf("%s: %q", value, got)
		}
	}
}

func TestStateThatAnEnginePrinted(t *testing.T) {
	const state = `{"version":4,"serial":1,"lineage":"a","resources":[]}`
	for said, want := range map[string]string{
		state + "\n": state,
		"\n\nWarning: Unable to open CLI configuration file\n\nThere is none.\n" + state + "\n": state,
		"{\n  \"lineage\": \"a\"\n}\n\n": "{\n  \"lineage\": \"a\"\n}\n",
		"":                               "",
		"\n":                             "",
		`{"version":4,"serial":0,"lineage":"","resources":[]}` + "\n": "",
		`{"version":4,"serial":0,"lineage":"","resources":[{"x":1}]}` +
			"\n": `{"version":4,"serial":0,"lineage":"","resources":[{"x":1}]}`,
	} {
		if got := string(stateIn([]byte(said))); got != want {
			t.Errorf("%q: %q", said, got)
		}
	}
}

func TestMessageOfALock(t *testing.T) {
	const first, unlock = "Terraform locks the whole database", "cairn shell net, and there terraform " +
		"force-unlock f00. "
	for name, test := range map[string]struct {
		backend string
		held    engine.HeldLock
		has     []string
		hasNot  string
	}{
		"PostgreSQL": {"pg", engine.HeldLock{Message: "Workspace is already locked: default"},
			[]string{"does not show which", "locked: default"}, first},
		"PostgreSQL, of a first state": {"pg",
			engine.HeldLock{Message: "Already locked for workspace creation: default"}, []string{first},
			"force-unlock"},
		"a bucket": {"s3", engine.HeldLock{Message: "no", ID: "f00", Who: "bob@laptop",
			Since: "noon", Operation: "Apply"}, []string{"bob@laptop has it since noon (Apply, ID f00). ", unlock},
			"pg_locks"},
		"a server that returns the ID alone": {"http", engine.HeldLock{Message: "no", ID: "f00"},
			[]string{"backend http does not show which. ", unlock}, "has it since"},
		"a server that returns nothing": {"http", engine.HeldLock{Message: "no"},
			[]string{"backend http does not show which. The backend reports: no"}, "force-unlock"},
	} {
		got := lockedBy(test.held, test.backend, "net", "terraform")
		for _, part := range test.has {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s", name, got)
			}
		}
		if strings.Contains(got, test.hasNot) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
