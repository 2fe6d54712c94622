//go:build envtest

package scale

import (
	"context"
	"fmt"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/gitserver"
)

// Two operators divide the namespaces: each Stack is reconciled by one of them and gets one Run, also one whose
// Repository belongs to the other operator.
func TestTwoShards(t *testing.T) {
	i := Start(t)
	ctx := context.Background()
	i.leases("cairn-operator-0", "cairn-operator-1")
	// By their hashes the first two are in shard 0, the others in shard 1.
	namespaces := []string{"alpha", "prod", "beta", "default-1"}
	for _, namespace := range namespaces {
		i.NewNamespace(namespace)
	}
	repos := gitserver.New(t)
	web, err := gitserver.ServeHTTP(repos, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = web.Close() })
	remote, err := repos.Init("infra")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Commit(
		gitserver.Change{Files: map[string]string{"net/main.tf": `variable "size" {}`}}); err != nil {
		t.Fatal(err)
	}
	if err := i.Create(ctx, &v1alpha1.Repository{
		ObjectMeta: metav1.ObjectMeta{Namespace: "alpha", Name: "infra"},
		Spec:       v1alpha1.RepositorySpec{URL: web.URL + remote.Path(), AllowedNamespaces: []string{"*"}},
	}); err != nil {
		t.Fatal(err)
	}
	const each = 3
	for _, namespace := range namespaces {
		for n := range each {
			s := Stack(namespace, fmt.Sprintf("s-%d", n), n, 10)
			if n == 0 {
				s.Spec.Source = v1alpha1.Source{
					Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Namespace: "alpha", Name: "infra"},
						Path: "net"}}
			}
			if err := i.Create(ctx, s); err != nil {
				t.Fatal(err)
			}
		}
	}
	i.Begin("server")
	first := i.Begin("operator", "--leader-elect", "--total-shards=2", "--shard=0")
	second := i.Begin("operator", "--leader-elect", "--total-shards=2", "--shard=1", "--cache="+t.TempDir())
	for _, namespace := range namespaces {
		for n := range each {
			i.Until(fmt.Sprintf("%s/s-%d", namespace, n), func() bool {
				return i.Applied(namespace, fmt.Sprintf("s-%d", n))
			})
		}
	}
	var runs v1alpha1.RunList
	if err := i.List(ctx, &runs); err != nil {
		t.Fatal(err)
	}
	if len(runs.Items) != each*len(namespaces) {
		t.Errorf("%d Runs of %d Stacks", len(runs.Items), each*len(namespaces))
	}
	repositories := 0.0
	for _, p := range []*Process{first, second} {
		_, v := i.Quiet(p, 1, quietSoon)
		repositories += v["cairn_repositories"]
		if v["cairn_stacks"] != each*2 || v["cairn_runs"] != each*2 || v["cairn_states"] != each*2 {
			t.Errorf("one operator sees %.0f Stacks, %.0f Runs and %.0f States", v["cairn_stacks"], v["cairn_runs"],
				v["cairn_states"])
		}
	}
	if repositories != 1 {
		t.Errorf("metrics report %.0f Repositories", repositories)
	}
	for _, name := range []string{"cairn-operator-0", "cairn-operator-1"} {
		lease := &coordinationv1.Lease{}
		if err := i.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: name}, lease); err != nil ||
			lease.Spec.HolderIdentity == nil {
			t.Errorf("Lease %s: %v", name, err)
		}
	}
}

// leases grants the operator's ServiceAccount the Leases that docs/how-to/production.md lists.
func (i *Install) leases(names ...string) {
	i.Helper()
	meta := metav1.ObjectMeta{Namespace: systemNamespace, Name: "cairn-operator-shards"}
	for _, o := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: names,
			Verbs: []string{"get", "update"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: systemNamespace,
				Name: "cairn-operator"}},
		},
	} {
		if err := i.Create(context.Background(), o); err != nil {
			i.Fatal(err)
		}
	}
}
