package code

import (
	"slices"
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/gitserver"
)

// A merge changes infrastructure that no plan shows: code that nothing reads yet, and manifests of Cairn.
func TestWhatNoPlanShows(t *testing.T) {
	const stack = "apiVersion: cairn.dev/v1alpha1\nkind: Stack\nmetadata: {name: net}\n"
	const calls = "module \"a\" {\n  source = \"../modules/a\"\n}\n"
	r := newEnv(t)
	remote := r.remote("infra")
	r.push(remote, gitserver.Change{Files: map[string]string{
		"app/main.tf": "# 1", "old/main.tf": "# 1", "stacks/net.yaml": stack, "stacks/gone.yaml": stack,
		"chart/values.yaml": "a: 1\n",
	}})
	repo := r.declare(remote)
	for name, tt := range map[string]struct {
		files             map[string]string
		listed            []string
		directories, made []string
	}{
		"documents only": {files: map[string]string{"README.md": "text",
			"chart/values.yaml": "image: {apiVersion: v1}\n"}},
		"a new root module": {files: map[string]string{"new/main.tf": "# 1", "new/variables.tf": "# 1"},
			directories: []string{"new"}},
		"the root": {files: map[string]string{"main.tofu": "# 1"}, directories: []string{""}},
		"a Terragrunt unit": {files: map[string]string{"live/net/terragrunt.hcl": "# 1"},
			directories: []string{"live/net"}},
		"a file of a root module": {files: map[string]string{"old/outputs.tf": "# 1"}},
		"a directory that is moved": {
			files: map[string]string{"old/main.tf": "", "moved/main.tf": "# 1"}, directories: []string{"moved"},
		},
		"a module that a Stack calls": {files: map[string]string{"app/main.tf": calls, "modules/a/main.tf": "# 1"}},
		"a module that none calls": {files: map[string]string{"modules/a/main.tf": "# 1"},
			directories: []string{"modules/a"}},
		"a Stack of a StackSet with a module of its own": {
			files: map[string]string{"envs/new/main.tf": "module \"a\" {\n  source = \"../../modules/a\"\n}\n",
				"modules/a/main.tf": "# 1"},
			listed: []string{"envs/new", "envs/other"},
		},
		"a new manifest": {files: map[string]string{"stacks/new.yml": "---\n- " + stack},
			made: []string{"stacks/new.yml"}},
		"a changed manifest": {files: map[string]string{"stacks/net.yaml": stack + "spec: {suspend: true}\n"},
			made: []string{"stacks/net.yaml"}},
		"a deleted manifest": {files: map[string]string{"stacks/gone.yaml": ""}, made: []string{"stacks/gone.yaml"}},
		"JSON": {
			files: map[string]string{"stacks/a.json": `{"kind": "Stack", "apiVersion": "cairn.dev/v1alpha1"}`},
			made:  []string{"stacks/a.json"}},
		"of another group": {files: map[string]string{"a.yaml": "apiVersion: notcairn.dev/v1\n"}},
		"a text about it":  {files: map[string]string{"a.md": stack}},
	} {
		t.Run(name, func(t *testing.T) {
			head := r.push(remote, gitserver.Change{Branch: "change-" + strings.ReplaceAll(name, " ", "-"),
				Onto: "main", Files: tt.files})
			r.settle(repo)
			proposal, err := NewCodes(r.Mirrors).Propose(t.Context(), repo, "main", head, "pull/1")
			if err != nil {
				t.Fatal(err)
			}
			defer proposal.Close()
			stacks := []v1alpha1.Stack{*r.stack(repo, "web", "app", ""), *r.stack(repo, "web", "old", "")}
			got, err := proposal.Unplanned(t.Context(), repo, stacks, tt.listed)
			if err != nil || !slices.Equal(got.Directories, tt.directories) || !slices.Equal(got.Manifests, tt.made) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
