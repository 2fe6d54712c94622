package code

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/gitserver"
)

func TestReasonsOfCodeErrors(t *testing.T) {
	r := newEnv(t)
	remote := r.remote("infra")
	r.push(remote, gitserver.Change{Files: map[string]string{"docs/README": "text",
		"broken/main.tf": "module \"m\" {\n  source = \"../none\"\n}\n"}})
	repo := r.declare(remote)
	r.settle(repo)
	codes := NewCodes(r.Mirrors)
	for name, tt := range map[string]struct{ path, ref, reason string }{
		"a folder that is there":     {path: "net"},
		"a folder that is not there": {path: "nets", reason: "PathNotFound"},
		"a folder without code":      {path: "docs", reason: "CodeNotFound"},
		"a module that is not there": {path: "broken", reason: "ModuleNotFound"},
		"a branch that is not there": {path: "net", ref: "release", reason: "RefNotFound"},
		"a commit that is not there": {path: "net", ref: "1111111111111111111111111111111111111111",
			reason: "RefNotFound"},
		"an abbreviated commit is not": {path: "net", ref: "1111111", reason: "RefNotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			code, err := codes.Of(t.Context(), repo, r.stack(repo, "web", tt.path, tt.ref))
			if Reason(err) != tt.reason || (err == nil) != (tt.reason == "") {
				t.Errorf("got %q (%v), want %q", Reason(err), err, tt.reason)
			}
			if err == nil && (code.Digest == "" || len(code.Files) != 1) {
				t.Errorf("%+v", code)
			}
		})
	}
}

// Changed is asked for each Stack after each fetch, to find the few whose code changed.
func TestChanged(t *testing.T) {
	r := newEnv(t)
	remote := r.remote("infra")
	repo := r.declare(remote)
	r.settle(repo)
	codes := NewCodes(r.Mirrors)
	net, web, late := r.stack(repo, "web", "net", ""), r.stack(repo, "web", "web", ""), r.stack(repo, "web",
		"net", "late")
	expect := func(want map[*v1alpha1.Stack]bool) {
		t.Helper()
		for stack, changed := range want {
			if got := codes.Changed(t.Context(), repo, stack); got != changed {
				t.Errorf("%s at %q changed: %t", stack.Spec.Source.Git.Path, stack.Spec.Source.Git.Ref, got)
			}
		}
	}
	checkChanges := func() {
		for _, stack := range []*v1alpha1.Stack{net, web, late} {
			_, _ = codes.Observe(t.Context(), repo, stack) // what it says is another test's
		}
	}
	fetch := func(c gitserver.Change) {
		t.Helper()
		r.push(remote, c)
		r.settle(repo)
	}

	expect(map[*v1alpha1.Stack]bool{net: true, web: true, late: true}) // never looked at
	checkChanges()
	expect(map[*v1alpha1.Stack]bool{net: false, web: false, late: true})

	fetch(gitserver.Change{Files: map[string]string{"README": "text"}})
	expect(map[*v1alpha1.Stack]bool{net: false, web: false})

	fetch(gitserver.Change{Files: map[string]string{"net/main.tf": "# 2"}})
	expect(map[*v1alpha1.Stack]bool{net: true, web: false})
	checkChanges()
	expect(map[*v1alpha1.Stack]bool{net: false, web: false})

	fetch(gitserver.Change{Files: map[string]string{"web/main.tf": "# now it is there"}})
	expect(map[*v1alpha1.Stack]bool{net: false, web: true})
	checkChanges()

	// A read for another object is not what the Stack knows.
	fetch(gitserver.Change{Files: map[string]string{"net/main.tf": "# 3"}})
	_, err := codes.Of(t.Context(), repo, net)
	must(t, err)
	expect(map[*v1alpha1.Stack]bool{net: true})
	checkChanges()

	// Code with one problem becomes code with another one.
	fetch(gitserver.Change{Files: map[string]string{"web/main.tf": "module \"a\" {\n  source = \"../a\"\n}\n"}})
	expect(map[*v1alpha1.Stack]bool{web: true})
	checkChanges()
	fetch(gitserver.Change{Files: map[string]string{"a/main.tf": "module \"b\" {\n  source = \"../b\"\n}\n"}})
	expect(map[*v1alpha1.Stack]bool{web: true})
	checkChanges()
	expect(map[*v1alpha1.Stack]bool{web: false})

	fetch(gitserver.Change{Branch: "late", Onto: "main", Files: map[string]string{"net/main.tf": "# late"}})
	checkChanges()
	expect(map[*v1alpha1.Stack]bool{net: false, web: false, late: false})
}

func TestFolderIsNamedLikeTheFetchedRepository(t *testing.T) {
	repo := &v1alpha1.Repository{Spec: v1alpha1.RepositorySpec{URL: "https://git.example.com/team/moved.git"}}
	stack := &v1alpha1.Stack{Spec: v1alpha1.StackSpec{Source: v1alpha1.Source{Git: &v1alpha1.GitSource{}}}}
	found, problem, err := fromGit(repo, stack, GitCode{URL: "https://git.example.com/team/network.git"}, nil)
	if found.Folder != "network" || problem != nil || err != nil {
		t.Errorf("%q, %v, %v", found.Folder, problem, err)
	}
}
