//go:build envtest

package permissions

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/test/devcluster"
	"cairn.dev/cairn/test/program"
)

func TestMain(m *testing.M) {
	program.CollectLess()
	m.Run()
}

// Cairn watches two namespaces, with Roles only: it writes nothing to a third, and sends no request that needs a
// ClusterRole.
func TestInstallationInNamespacesNeedsOnlyRoles(t *testing.T) {
	const first, second = "team-a", "team-b"
	c := devcluster.StartDev(t, []string{"--split", "--audit-reads", "--namespaces=" + first + "," + second},
		"--leader-elect")
	bindings := &rbacv1.ClusterRoleBindingList{}
	if err := c.List(t.Context(), bindings); err != nil {
		t.Fatal(err)
	}
	for _, b := range bindings.Items {
		for _, s := range b.Subjects {
			if s.Namespace == system {
				t.Fatalf("%s of Cairn has ClusterRole %s", s.Name, b.RoleRef.Name)
			}
		}
	}
	p := scripts(c, "", "testdata/namespaces")
	t.Run("scripts", func(t *testing.T) { testscript.Run(t, p) })

	requests, err := dev.Requests(c.AuditLog(), time.Time{}, func(r dev.Request) bool {
		return strings.HasPrefix(r.User, "system:serviceaccount:"+system+":")
	})
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{first: true, second: true, system: true, metav1.NamespacePublic: true,
		metav1.NamespaceSystem: true}
	denied := 0
	for _, r := range requests {
		switch {
		case r.Code == http.StatusForbidden && r.Resource == "tokenreviews":
			denied++ // once for each user who sends a token
		case r.Code == http.StatusForbidden:
			t.Errorf("%s was denied: %s %s", r.User, r.Verb, r.Path)
		case r.Resource != "" && !allowed[r.Namespace]:
			t.Errorf("%s sends a request for another namespace: %s %s", r.User, r.Verb, r.Path)
		}
	}
	if len(requests) < 100 || denied != 1 {
		t.Fatalf("%d requests of Cairn, %d reviews of tokens", len(requests), denied)
	}
}
