package workcopy

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// tree writes the files of an archive to a folder, and returns it. A file whose text begins with -> is a symlink.
func tree(t *testing.T, archive string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, link := strings.CutPrefix(string(f.Data), "-> "); link {
			err = os.Symlink(strings.TrimSpace(target), path)
		} else {
			err = os.WriteFile(path, f.Data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// files returns the paths of all files of a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			if d.Type().IsRegular() {
				names = append(names, name)
			} else {
				names = append(names, name+" "+d.Type().String())
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

const repository = `
-- .git/config --
-- big/image.iso --
-- envs/prod/net/main.tf --
module "vpc" { source = "../../../modules/vpc" }
module "own" { source = "./own" }
module "gone" { source = "../nowhere" }
module "remote" { source = "git::https://git.example.com/x.git" }
-- envs/prod/net/own/own.tofu --
-- envs/prod/net/own/terraform.tfstate --
-- envs/prod/net/.terraform/providers/big --
-- envs/prod/net/.terraform.lock.hcl --
-- envs/prod/net/terraform.tfstate --
-- envs/prod/net/terraform.tfstate.backup --
-- envs/prod/net/errored.tfstate --
-- envs/prod/net/names.json --
-> ../../../shared/names.json
-- envs/prod/net/nowhere --
-> nothing
-- envs/prod/app/main.tf --
-- modules/vpc/main.tf.json --
{"module": {"subnet": {"source": "../subnet"}}}
-- modules/vpc/.terraform/x --
-- modules/subnet/main.tf --
module "vpc" { source = "../vpc" }
-- modules/other/main.tf --
-- shared/names.json --
[]
`

func TestCopiesLocalModules(t *testing.T) {
	dir, to := tree(t, repository), t.TempDir()
	c, err := Create(t.Context(), filepath.Join(dir, filepath.FromSlash("envs/prod/net")), "", to)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"envs/prod/net/.terraform.lock.hcl", "envs/prod/net/main.tf", "envs/prod/net/names.json",
		"envs/prod/net/own/own.tofu",
		"envs/prod/net/own/terraform.tfstate", "modules/subnet/main.tf", "modules/vpc/main.tf.json",
	}
	if diff := cmp.Diff(want, files(t, to)); diff != "" {
		t.Error(diff)
	}
	modules := []string{filepath.Join(dir, filepath.FromSlash("modules/subnet")),
		filepath.Join(dir, filepath.FromSlash("modules/vpc"))}
	if diff := cmp.Diff(modules, c.Modules); diff != "" {
		t.Error(diff)
	}
	if c.Dir != filepath.Join(to, filepath.FromSlash("envs/prod/net")) || !c.State || c.Files != len(want) ||
		c.Base != dir {
		t.Errorf("%+v", c)
	}
}

func TestCopiesAllOfRoot(t *testing.T) {
	dir, to := tree(t, repository), t.TempDir()
	c, err := Create(t.Context(), filepath.Join(dir, filepath.FromSlash("envs/prod/net")), dir, to)
	if err != nil {
		t.Fatal(err)
	}
	names := files(t, to)
	for name, want := range map[string]bool{
		"big/image.iso": true, "modules/other/main.tf": true, "envs/prod/app/main.tf": true,
		".git/config": false, "modules/vpc/.terraform/x": false, "envs/prod/net/terraform.tfstate": false,
	} {
		if slices.Contains(names, name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
	if c.Dir != filepath.Join(to, filepath.FromSlash("envs/prod/net")) || len(c.Modules) != 0 {
		t.Errorf("%+v", c)
	}
	if _, err := Create(t.Context(), filepath.Join(dir, "envs"), filepath.Join(dir, "modules"),
		t.TempDir()); err == nil {
		t.Error("the directory is not in the folder")
	}
}

func TestCopiesFilesOutsideOfTheDirectory(t *testing.T) {
	dir, to := tree(t, `
-- envs/app/main.tf --
locals { v = fileexists("${path.module}/../vars.json") ? jsondecode(file("${path.module}/../vars.json")) : {} }
module "m" { source = "../../modules/m" }
-- envs/vars.json --
-- envs/other.json --
-- modules/m/main.tf --
output "o" { value = fileset("${path.module}/../../policies", "*") }
-- policies/a/b.rego --
-- policies/c.rego --
-- README --
`), t.TempDir()
	if _, err := Create(t.Context(), filepath.Join(dir, filepath.FromSlash("envs/app")), "", to); err != nil {
		t.Fatal(err)
	}
	want := []string{"envs/app/main.tf", "envs/vars.json", "modules/m/main.tf", "policies/a/b.rego", "policies/c.rego"}
	if diff := cmp.Diff(want, files(t, to)); diff != "" {
		t.Error(diff)
	}
}

func TestCopiesAModuleAboveTheDirectory(t *testing.T) {
	dir, to := tree(t, `
-- repo/main.tf --
-- repo/examples/one/main.tf --
module "it" { source = "../.." }
`), t.TempDir()
	c, err := Create(t.Context(), filepath.Join(dir, filepath.FromSlash("repo/examples/one")), "", to)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"examples/one/main.tf", "main.tf"}, files(t, to)); diff != "" {
		t.Error(diff)
	}
	if c.Dir != filepath.Join(to, filepath.FromSlash("examples/one")) {
		t.Error(c.Dir)
	}
}

func TestReportsUnknownSources(t *testing.T) {
	dir := tree(t, `
-- one/main.tf --
module "a" {
  source = "../${var.name}"
}
module "b" { source = 3 }
module "c" { source = "../two
-- one/broken.tf.json --
{"module":
-- two/main.tf --
`)
	c, err := Create(t.Context(), filepath.Join(dir, "one"), "", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`main.tf:2: module "a"`}, c.Unknown); diff != "" {
		t.Error(diff)
	}
}

func TestCopiesTargetsOfSymlinks(t *testing.T) {
	dir, to := tree(t, `
-- net/main.tf --
-- net/shared --
-> ../shared
-- shared/a.txt --
-- shared/deeper --
-> ../more
-- more/b.txt --
`), t.TempDir()
	if _, err := Create(t.Context(), filepath.Join(dir, "net"), "", to); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"main.tf", "shared/a.txt", "shared/deeper/b.txt"}, files(t, to)); diff != "" {
		t.Error(diff)
	}
	for _, circle := range []string{"-- net/x/up --\n-> ..\n",
		"-- net/to --\n-> ../a\n-- a/b --\n-> ../b\n-- b/a --\n-> ../a\n"} {
		if _, err := Create(t.Context(), filepath.Join(tree(t, circle), "net"), "", t.TempDir()); err == nil {
			t.Errorf("a circle of symlinks is copied: %s", circle)
		}
	}
}

func TestModesOfTheCopy(t *testing.T) {
	dir, to := tree(t, "-- main.tf --\n-- script.sh --\n"), t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Join(dir, "main.tf"), 0o444),
		os.Chmod(filepath.Join(dir, "script.sh"), 0o555)); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(t.Context(), dir, "", to); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"main.tf": 0o600, "script.sh": 0o700} {
		info, err := os.Stat(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s: %v", name, info.Mode())
		}
	}
}

func TestCopyIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Create(ctx, tree(t, "-- main.tf --\n"), "", t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLimitsOfACopy(t *testing.T) {
	large := tree(t, "-- main.tf --\n-- image.iso --\n")
	if err := os.Truncate(filepath.Join(large, "image.iso"), maxBytes+1); err != nil { // a sparse file
		t.Fatal(err)
	}
	many := tree(t, "-- main.tf --\n-- more.tf --\n")
	// Each folder has two symlinks to the next one: the last one would be copied 65,536 times.
	fan := tree(t, "-- 16/empty/.git/config --\n")
	for i := range 16 {
		for _, name := range []string{"a", "b"} {
			from := filepath.Join(fan, strconv.Itoa(i))
			if err := errors.Join(os.MkdirAll(from, 0o755), os.Symlink(filepath.Join("..", strconv.Itoa(i+1)),
				filepath.Join(from, name))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		dir  string
		made copier
	}{
		"a large file":                   {large, copier{}},
		"a file too many":                {many, copier{Copy: Copy{Files: maxFiles - 2}}},
		"a folder too many":              {many, copier{folders: maxFiles}},
		"bytes too many":                 {tree(t, "-- main.tf --\ntext\n"), copier{Copy: Copy{Bytes: maxBytes - 3}}},
		"a fan of symlinks has the rest": {filepath.Join(fan, "0"), copier{Copy: Copy{Files: maxFiles - 1000}}},
	} {
		t.Run(name, func(t *testing.T) {
			to := t.TempDir()
			if err := c.made.dir(t.Context(), c.dir, to, nil); err == nil || !strings.Contains(err.Error(), "--root") {
				t.Errorf("it is copied: %v", err)
			}
			if n := len(files(t, to)); n > 1000 {
				t.Errorf("%d files were copied", n)
			}
		})
	}
	c := &copier{Copy: Copy{Files: maxFiles - 3}}
	if err := c.dir(t.Context(), many, t.TempDir(), nil); err != nil {
		t.Errorf("as many as may be: %v", err)
	}
}

func TestCopyOfAMissingDirectory(t *testing.T) {
	dir := tree(t, "-- main.tf --\n")
	for _, path := range []string{"nowhere", "main.tf"} {
		if _, err := Create(t.Context(), filepath.Join(dir, path), "", t.TempDir()); err == nil {
			t.Error(path)
		}
	}
}

func TestCopyIntoItselfIsRejected(t *testing.T) {
	dir := tree(t, "-- tmp/x --\n-- main.tf --\n")
	if _, err := Create(t.Context(), dir, "", filepath.Join(dir, "tmp")); err == nil {
		t.Error("it was")
	}
}
