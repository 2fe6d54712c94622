package permissions

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden file")

// What Cairn may do is in testdata/table.txt: a change of it is a change of who has to trust it with what, and to be
// reviewed as one.
func TestTheTableOfPermissionsIsWhatPeopleAgreedTo(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/table.txt"
	if *update {
		if err := os.WriteFile(file, []byte(Table(all)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), Table(all)); diff != "" {
		t.Errorf("other permissions than in %s (-update writes it):\n%s", file, diff)
	}
}

func TestNoPermissionIsWide(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if !slices.Contains(verbs, p.Verb) {
			t.Errorf("%s: only plain verbs, none for everything and none that gives others rights", p)
		}
		if p.Name != "" && p.Verb == "create" {
			t.Errorf("%s: a name means nothing to Kubernetes here, so this is the making of any", p)
		}
	}
	for _, role := range []string{"roles", "clusterroles", "rolebindings", "clusterrolebindings"} {
		if slices.ContainsFunc(all, func(p Permission) bool { return p.Resource == role+".rbac.authorization.k8s.io" }) {
			t.Errorf("%s are not Cairn's to touch", role)
		}
	}
}

// The same table is in the documentation.
func TestTheTableIsDocumented(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../docs/access.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "```\n"+Table(all)+"```\n") {
		t.Errorf("%s has another table; copy the one of testdata/table.txt", file)
	}
}
