//go:build envtest

package repository

import (
	"errors"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

// TestStackSetsReadFromARepository checks a Repository that only a StackSet reads: an operator of another shard fetches
// it, and its status has the ref.
func TestStackSetsReadFromARepository(t *testing.T) {
	r := newEnv(t)
	remote := r.remote("infra")
	repo := r.declare(remote)
	main := r.push(remote, gitserver.Change{Files: map[string]string{"net/main.tf": "# 2"}})
	dev := r.push(remote, gitserver.Change{Branch: "dev", Onto: "main",
		Files: map[string]string{"new/main.tf": "# new"}})
	r.Mine = func(string) bool { return false }
	r.settle(repo)
	if _, _, err := r.Mirrors.Commit(t.Context(), repo.UID, "dev"); !errors.Is(err, ErrNotFetched) {
		t.Errorf("a Repository that nothing here reads: %v", err)
	}
	moved := r.Mirrors.Subscribe()
	set := &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Name: "platform"}, Spec: v1alpha1.StackSetSpec{
		Repository: &v1alpha1.RepositoryRef{Name: repo.Name}, Ref: "dev",
		Generators: []v1alpha1.StackSetGenerator{{StackSetItems: v1alpha1.StackSetItems{
			Directories: &v1alpha1.StackSetDirectories{Include: []string{"{name}"}},
		}}},
		Template: v1alpha1.StackSetTemplate{
			Metadata: v1alpha1.StackSetMetadata{Name: "${params.name}"}, Spec: apiextensionsv1.JSON{Raw: []byte(`{}`)},
		},
	}}
	r.Make(set)
	r.settle(repo)
	_, commit, err := r.Mirrors.Commit(t.Context(), repo.UID, "dev")
	apiserver.Must(t, err)
	if commit.ID != dev {
		t.Errorf("commit %s, want %s", commit.ID, dev)
	}
	select {
	case e := <-moved:
		if e.Object.Name != repo.Name {
			t.Errorf("event of %s", e.Object)
		}
	default:
		t.Error("a subscriber got no event of the fetch")
	}
	r.Mine = nil
	r.settle(repo)
	r.expectRefs(repo, map[string]string{"main": main, "dev": dev})
	if requests := listedBy(t.Context(), set); len(requests) != 1 || requests[0].Name != repo.Name {
		t.Errorf("requests %v", requests)
	}
}
