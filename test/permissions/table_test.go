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

// A change of the permissions needs a security review, so testdata/table.txt lists all of them.
func TestPermissionsMatchGoldenFile(t *testing.T) {
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
		t.Errorf("the permissions differ from %s (-update writes it):\n%s", file, diff)
	}
}

func TestNoPermissionIsWide(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if !slices.Contains(verbs, p.Verb) {
			t.Errorf("%s: no wildcard, and no verb that escalates permissions", p)
		}
		if p.Name != "" && p.Verb == "create" {
			t.Errorf("%s: Kubernetes ignores the name for create", p)
		}
	}
	for _, role := range []string{"roles", "clusterroles", "rolebindings", "clusterrolebindings"} {
		if slices.ContainsFunc(all, func(p Permission) bool {
			return p.Resource == role+".rbac.authorization.k8s.io"
		}) {
			t.Errorf("Cairn has a permission for %s", role)
		}
	}
}

// The documentation has the same table.
func TestTableIsDocumented(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../docs/how-to/access-audit.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "```\n"+Table(all)+"```\n") {
		t.Errorf("%s has another table; copy the one of testdata/table.txt", file)
	}
}
