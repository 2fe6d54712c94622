package migrate

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/render"
	"cairn.dev/cairn/internal/controller/stackset/units"
	"cairn.dev/cairn/internal/source/closure"
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
	// after are the dependencies of the Stacks, NAME:DEPENDENCY, of units of Terragrunt; notes is a part of the notes.
	after []string
	notes string
}{
	"parts of paths become captures": {
		files: tree(
			"envs/dev/data/db/main.tf", "envs/dev/web/net/main.tf", "envs/prod/web/net/main.tf", "README.md:",
		),
		include: []string{"envs/{env}/{part3}/{name}"},
	},
	"several depths and folders": {
		files: tree(
			"envs/dev/net/main.tf", "envs/prod/net/main.tf", "global/dns/main.tofu", "global/iam/main.tf",
			"bootstrap/main.tf",
		),
		include: []string{"bootstrap", "envs/{env}/net", "global/{name}"},
	},
	"modules between root modules": {
		files: tree(
			"envs/dev/net/main.tf", "envs/dev/modules/main.tf:variable \"a\" {}\n", "envs/prod/net/main.tf",
			"envs/prod/db/main.tf",
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
			"envs/a-b/c/main.tf", "envs/a/b-c/main.tf", "envs/My_App/c/main.tf", "envs/x__y/c/main.tf",
			"envs/x/(y)/main.tf",
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
			"live/a/terragrunt.hcl:"+unit, "live/b/terragrunt.hcl:"+unit+dependency("../a"), "live/terragrunt.hcl:",
			library,
		),
		include: []string{"live/{name}"}, after: []string{"live-b:live-a"},
	},
	"units of Terragrunt that include, beside other code": {
		files: tree(
			"root.hcl:"+unit, "live/prod/app/terragrunt.hcl:"+include+dependency("../db"),
			"live/prod/db/terragrunt.hcl:"+include+dependency("../vpc"),
			"live/prod/vpc/terragrunt.hcl:"+include, "live/dev/vpc/terragrunt.hcl:"+include,
			"live/dev/app/terragrunt.hcl:"+include+dependency("../vpc"),
			"live/dev/next/terragrunt.stack.hcl:", "live/prod/plain/main.tf", library, "bootstrap/main.tf",
		),
		include: []string{"live/{env}/{name}"}, exclude: []string{"live/dev/next"},
		single: []string{"bootstrap", "live-prod-plain"},
		after:  []string{"live-dev-app:live-dev-vpc", "live-prod-app:live-prod-db", "live-prod-db:live-prod-vpc"},
	},
	"units of Terragrunt in a folder of the repository": {
		files:   tree("prod/app/terragrunt.hcl:"+unit+dependency("../vpc"), "prod/vpc/terragrunt.hcl:"+unit),
		folder:  "live/eu",
		include: []string{"live/eu/prod/{name}"}, after: []string{"live-eu-prod-app:live-eu-prod-vpc"},
	},
	"units of Terragrunt whose order only Terragrunt knows": {
		files: tree(
			"live/a/terragrunt.hcl:"+unit, "live/b/terragrunt.hcl:"+unit+
				"dependency \"x\" {\n  config_path = get_env(\"X\")\n}\n", library,
		),
		include: []string{"live/{name}"},
		notes: "directories in place of terragrunt, so that spec.dependsOn is not set: generators[0]: terragrunt: " +
			"unit live/b: live/b/terragrunt.hcl:",
	},
}

const (
	unit = "terraform {\n  source = \"${get_repo_root()}/modules/code\"\n}\n"
	// library is the code that they run.
	library = "modules/code/main.tf:variable \"a\" {}\n"
	include = "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n"
)

// dependency is a block of Terragrunt.
func dependency(on string) string { return "dependency \"it\" {\n  config_path = \"" + on + "\"\n}\n" }

// TestStackSetGeneratesTheSameStacks checks that a StackSet and the Stacks beside it are the Stacks that are generated
// without it.
func TestStackSetGeneratesTheSameStacks(t *testing.T) {
	for name, tt := range trees {
		t.Run(name, func(t *testing.T) {
			r := sameWithStackSet(t, tt.files, tt.folder)
			if len(r.StackSets) != 1 {
				t.Fatalf("%d StackSets\n%s", len(r.StackSets), manifest.Text(r.Notes))
			}
			var got v1alpha1.StackSetTerragrunt
			if d := r.StackSets[0].Spec.Generators[0].Directories; d != nil {
				got = v1alpha1.StackSetTerragrunt{Include: d.Include, Exclude: d.Exclude}
			}
			if tt.after != nil {
				if g := r.StackSets[0].Spec.Generators[0]; g.Terragrunt == nil {
					t.Fatalf("%+v\n%s", g, manifest.Text(r.Notes))
				}
				got = *r.StackSets[0].Spec.Generators[0].Terragrunt
			}
			if diff := cmp.Diff(v1alpha1.StackSetTerragrunt{Include: tt.include, Exclude: tt.exclude},
				got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.after, r.After); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(manifest.Text(r.Notes), tt.notes) {
				t.Errorf("notes %s, want %q", manifest.Text(r.Notes), tt.notes)
			}
			if len(r.Stacks) != len(tt.single) {
				t.Errorf("%d Stacks of their own, want %q", len(r.Stacks), tt.single)
				return
			}
			for i, s := range r.Stacks {
				if !strings.HasPrefix(s.Name, tt.single[i]) ||
					!strings.Contains(manifest.Text(r.Notes), "Stack "+s.Name+" stays a Stack of its own") {
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

// sameWithStackSet generates a StackSet, and compares its Stacks, without the dependencies of units.
func sameWithStackSet(t *testing.T, files fstest.MapFS, folder string) (withSet struct {
	StackSets []v1alpha1.StackSet
	Stacks    []v1alpha1.Stack
	Notes     []manifest.Note
	// After are the dependencies, NAME:DEPENDENCY.
	After []string
}) {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, folder), files); err != nil {
		t.Fatal(err)
	}
	disk := closure.Disk{Root: root, Hidden: func(string) bool { return false }}
	in := contents{units.Reader{Closures: closure.New(closure.Options{}), Tree: disk, Blobs: disk}}
	code := generate.Code{
		Files: files, Folder: folder, URL: "https://git.example.com/acme/infra.git", Namespace: "infra", Units: in,
	}
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
		all, problem, err := renderer.Stacks(t.Context(), paths, in)
		if err != nil || problem != nil {
			t.Fatal(err, problem)
		}
		for _, one := range all {
			var s v1alpha1.Stack
			if err := json.Unmarshal(one.JSON, &s); err != nil {
				t.Fatal(err)
			}
			for _, on := range s.Spec.DependsOn {
				withSet.After = append(withSet.After, s.Name+":"+on.Name)
			}
			s.Spec.DependsOn = nil
			add(got, s)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("without (-) and with a StackSet (+):\n%s", diff)
	}
	return withSet
}

// contents are those of a directory without settings files.
type contents struct{ units.Reader }

func (contents) ID(string) string { return "" }

func (contents) Read(context.Context, string, int64) ([]byte, error) {
	return nil, fs.ErrNotExist
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
	if len(none.StackSets) > 0 || len(none.Stacks) != 1 || !strings.Contains(manifest.Text(none.Notes),
		"no StackSet: no two root modules can share a template") {
		t.Errorf("%v\n%s", none, manifest.Text(none.Notes))
	}
}
