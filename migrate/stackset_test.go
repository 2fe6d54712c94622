package migrate

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/render"
	"cairn.dev/cairn/migrate/convert/manifest"
	"cairn.dev/cairn/migrate/generate"
)

// tree returns files with a backend block, and files of other kinds with a text after a colon.
func tree(files ...string) fstest.MapFS {
	all := fstest.MapFS{}
	for _, f := range files {
		name, text, has := strings.Cut(f, ":")
		if !has {
			text = "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key    = \"k\"\n  }\n}\n"
		}
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

const cloud = "terraform {\n  cloud {}\n}\n"

var trees = map[string]struct {
	files            fstest.MapFS
	folder           string
	include, exclude []string
	// single are the Stacks of their own.
	single []string
}{
	"parts of paths become captures": {
		files: tree(
			"envs/dev/data/db/main.tf", "envs/dev/web/net/main.tf", "envs/prod/web/net/main.tf", "README.md:",
		),
		include: []string{"envs/{env}/{part3}/{name}"},
	},
	"several depths and folders": {
		files: tree(
			"envs/dev/net/main.tf", "envs/prod/net/main.tf", "global/dns/main.tofu", "global/iam/main.tf", "bootstrap/main.tf",
		),
		include: []string{"bootstrap", "envs/{env}/net", "global/{name}"},
	},
	"modules between root modules": {
		files: tree(
			"envs/dev/net/main.tf", "envs/dev/modules/main.tf:variable \"a\" {}\n", "envs/prod/net/main.tf", "envs/prod/db/main.tf",
		),
		include: []string{"envs/{env}/{name}"}, exclude: []string{"**/modules/**"},
	},
	"other settings": {
		files: tree(
			"a/main.tf", "b/main.tf", "c/main.tf:"+cloud, "d/main.tf", "d/.terraform-version:1.5.7\n", "main.tf",
		),
		include: []string{"{name}"}, exclude: []string{"c", "d"}, single: []string{"acme-infra", "c", "d"},
	},
	"names that an expression does not give": {
		files: tree(
			"envs/a-b/c/main.tf", "envs/a/b-c/main.tf", "envs/My_App/c/main.tf", "envs/x__y/c/main.tf", "envs/x/(y)/main.tf",
		),
		include: []string{"envs/{name}/c"}, exclude: []string{"envs/x__y/c"},
		single: []string{"envs-a-b-c-", "envs-x-y", "envs-x-y-c"},
	},
	"a folder of the repository": {
		files: tree("dev/net/main.tf", "prod/net/main.tf"), folder: "live/eu",
		include: []string{"live/eu/{env}/net"},
	},
	"units of Terragrunt": {
		files: tree(
			"live/a/terragrunt.hcl:terraform {\n  source = \"../../code\"\n}\n", "live/b/terragrunt.hcl:terraform {\n  source = \"../../code\"\n}\n",
			"code/main.tf",
		),
		include: []string{"live/{name}"},
	},
}

// TestStackSetGeneratesTheSameStacks checks that a StackSet and the Stacks beside it are the Stacks that are generated
// without it.
func TestStackSetGeneratesTheSameStacks(t *testing.T) {
	for name, tt := range trees {
		t.Run(name, func(t *testing.T) {
			r := sameWithStackSet(t, tt.files, tt.folder)
			if len(r.StackSets) != 1 {
				t.Fatalf("%d StackSets\n%s", len(r.StackSets), manifest.Text(r.Notes))
			}
			directories := r.StackSets[0].Spec.Generators[0].Directories
			if diff := cmp.Diff(tt.include, directories.Include); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.exclude, directories.Exclude); diff != "" {
				t.Error(diff)
			}
			if len(r.Stacks) != len(tt.single) {
				t.Errorf("%d Stacks of their own, want %q", len(r.Stacks), tt.single)
				return
			}
			for i, s := range r.Stacks {
				if !strings.HasPrefix(s.Name, tt.single[i]) || !strings.Contains(manifest.Text(r.Notes), "Stack "+s.Name+" stays a Stack of its own") {
					t.Errorf("Stack %s of its own, want %s\n%s", s.Name, tt.single[i], manifest.Text(r.Notes))
				}
			}
		})
	}
	files, err := filepath.Glob("testdata/generate/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) { sameWithStackSet(t, repositoryOf(t, file), "") })
	}
}

// sameWithStackSet generates a StackSet, and compares its Stacks.
func sameWithStackSet(t *testing.T, files fstest.MapFS, folder string) (withSet struct {
	StackSets []v1alpha1.StackSet
	Stacks    []v1alpha1.Stack
	Notes     []manifest.Note
}) {
	t.Helper()
	code := generate.Code{Files: files, Folder: folder, URL: "https://git.example.com/acme/infra.git", Namespace: "infra"}
	alone, err := generate.Generate(code)
	if err != nil {
		t.Fatal(err)
	}
	code.StackSet = true
	r, err := generate.Generate(code)
	if err != nil {
		t.Fatal(err)
	}
	withSet.StackSets, withSet.Stacks, withSet.Notes = r.StackSets, r.Stacks, r.Notes
	want, got := map[string]string{}, map[string]string{}
	add := func(all map[string]string, s v1alpha1.Stack) {
		if all[s.Name] != "" {
			t.Errorf("two Stacks %s", s.Name)
		}
		text, err := yaml.Marshal(s.Spec)
		if err != nil {
			t.Fatal(err)
		}
		all[s.Name] = string(text)
	}
	for _, s := range alone.Stacks {
		add(want, s)
	}
	for _, s := range r.Stacks {
		add(got, s)
	}
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if folder != "" {
			name = folder + "/" + name
		}
		paths = append(paths, name)
	}
	for _, set := range r.StackSets {
		set := throughManifest(t, set)
		renderer, problem := render.New(&set)
		if problem != nil {
			t.Fatal(problem)
		}
		all, problem, err := renderer.Stacks(t.Context(), paths, nil)
		if err != nil || problem != nil {
			t.Fatal(err, problem)
		}
		for _, one := range all {
			var s v1alpha1.Stack
			if err := json.Unmarshal(one.JSON, &s); err != nil {
				t.Fatal(err)
			}
			add(got, s)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("without (-) and with a StackSet (+):\n%s", diff)
	}
	return withSet
}

// throughManifest is a StackSet as the API server reads it.
func throughManifest(t *testing.T, set v1alpha1.StackSet) (read v1alpha1.StackSet) {
	t.Helper()
	text, err := yaml.Marshal(set)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestStackSetOfManyDirectories(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 1500 {
		maps.Copy(files, tree(fmt.Sprintf("envs/%s/team-%d/app-%d/main.tf", []string{"dev", "prod"}[i%2], i%7, i)))
	}
	r := sameWithStackSet(t, files, "")
	if set := r.StackSets[0]; len(r.Stacks) > 0 || *set.Spec.MaxStacks != 3000 {
		t.Errorf("%d Stacks of their own, and maxStacks %v", len(r.Stacks), set.Spec.MaxStacks)
	}
	none := sameWithStackSet(t, tree("net/main.tf"), "")
	if len(none.StackSets) > 0 || len(none.Stacks) != 1 || !strings.Contains(manifest.Text(none.Notes), "no StackSet: no two root modules can share a template") {
		t.Errorf("%v\n%s", none, manifest.Text(none.Notes))
	}
}
