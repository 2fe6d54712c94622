package migrate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/migrate/convert/manifest"
	"cairn.dev/cairn/migrate/generate"
)

// repositoryOf returns the files of an archive.
func repositoryOf(t *testing.T, file string) fstest.MapFS {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, f := range archive.Files {
		files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return files
}

func TestGenerate(t *testing.T) {
	files, err := filepath.Glob("testdata/generate/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			r, err := generate.Generate(generate.Code{Files: repositoryOf(t, file),
				URL: "git@git.example.com:acme/infra.git", Namespace: "infra"})
			if err != nil {
				t.Fatal(err)
			}
			base := strings.TrimSuffix(file, ".txtar")
			golden(t, base+".golden.yaml", manifests(t, r))
			golden(t, base+".notes", []byte(manifest.Text(r.Notes)))
		})
	}
}

// TestFolderOfARepository checks that paths start at the repository's root.
func TestFolderOfARepository(t *testing.T) {
	files := fstest.MapFS{"net/main.tf": {}, "net/a.tfvars": {}}
	r, err := generate.Generate(generate.Code{Files: files, Folder: "envs/prod",
		URL: "https://me:secret@git.example.com/acme/infra.git", Ref: "main"})
	if err != nil {
		t.Fatal(err)
	}
	s, repo := r.Stacks[0], r.Repositories[0]
	if s.Name != "envs-prod-net" || s.Spec.Source.Git.Path != "envs/prod/net" ||
		repo.Spec.URL != "https://git.example.com/acme/infra.git" || repo.Spec.Ref != "main" {
		t.Errorf("%+v %+v", s, repo)
	}
	text := manifest.Text(r.Notes)
	if strings.Contains(text, "secret@") || !strings.Contains(text, "the user or password in the URL is left out") ||
		!strings.Contains(text, "{path: envs/prod/net/a.tfvars}") {
		t.Error(text)
	}
}

func TestInvalidRepositoryURLs(t *testing.T) {
	for url, want := range map[string]string{
		"file:///srv/git":                     "file:// is not taken",
		"https://me:shh@git.example.com/a//b": "use that of the repository",
		"ftp://me:shh@git.example.com/a":      `"ftp://git.example.com/a": ftp:// is not taken`,
		"":                                    "no address of git",
	} {
		_, err := generate.Generate(generate.Code{Files: fstest.MapFS{}, URL: url})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "shh") {
			t.Errorf("%s: got %v, want %q", url, err, want)
		}
	}
}

func TestRepositoryWithoutCode(t *testing.T) {
	r, err := generate.Generate(generate.Code{Files: fstest.MapFS{"a.md": {}}, URL: "https://git.example.com/a/b"})
	if err != nil || len(r.Stacks)+len(r.Repositories) > 0 {
		t.Error(r, err)
	}
}

// TestTerragruntVersionIsNotUsedForOtherEngines checks code that Terragrunt does not run.
func TestTerragruntVersionIsNotUsedForOtherEngines(t *testing.T) {
	const code = `terraform {
  required_version = "~> 1.5.0"
  backend "s3" {}
}`
	for name, tt := range map[string]struct {
		files fstest.MapFS
		want  v1alpha1.Engine
	}{
		"what the code requires": {fstest.MapFS{}, v1alpha1.Engine{Name: v1alpha1.EngineTerraform,
			Version: "~> 1.5.0"}},
		"a version file above": {fstest.MapFS{".terraform-version": {Data: []byte("1.5.7")}},
			v1alpha1.Engine{Name: v1alpha1.EngineTerraform}},
	} {
		tt.files["live/.terragrunt-version"] = &fstest.MapFile{Data: []byte("0.80.0")}
		tt.files["live/net/main.tf"] = &fstest.MapFile{Data: []byte(code)}
		r, err := generate.Generate(generate.Code{Files: tt.files, URL: "https://git.example.com/acme/infra.git"})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Stacks[0].Spec.Engine; got != tt.want ||
			strings.Contains(manifest.Text(r.Notes), ".opentofu-version") {
			t.Errorf("%s: %+v\n%s", name, got, manifest.Text(r.Notes))
		}
	}
}

// TestWhatGenerateCannotKnowIsNoted checks code for which a Stack alone would do something else than the engine did.
func TestWhatGenerateCannotKnowIsNoted(t *testing.T) {
	link := func(to string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink} }
	code := func(text string) fstest.MapFS {
		return fstest.MapFS{"net/main.tf": {Data: []byte("terraform {\n" + text + "\n}\n")}}
	}
	with := func(files fstest.MapFS, name string, file *fstest.MapFile) fstest.MapFS {
		files[name] = file
		return files
	}
	for name, tt := range map[string]struct {
		files  fstest.MapFS
		engine v1alpha1.EngineName
		note   string
	}{
		"a partial backend": {
			code(`backend "s3" { key = "net" }`), v1alpha1.EngineOpenTofu,
			"its block lacks bucket: write what init was given by -backend-config",
		},
		"a backend without arguments": {code(`backend "s3" {}`), v1alpha1.EngineOpenTofu, "its block has no arguments"},
		"a version that only Terraform has": {
			code(`required_version = "~> 1.15"`), v1alpha1.EngineTerraform,
			"no OpenTofu from 1.6 to 1.12, the newest that this version of Cairn knows, meets it",
		},
		"a version that does not exist": {
			code(`required_version = ">= 1.99"`), v1alpha1.EngineTerraform,
			"and no Terraform to 1.16 does: correct the code",
		},
		"a symbolic link to the folder": {
			with(code(""), "envs/prod", link("../net")), v1alpha1.EngineOpenTofu,
			"write a Stack with spec.source.git.path envs/prod",
		},
	} {
		r, err := generate.Generate(generate.Code{Files: tt.files, URL: "https://git.example.com/acme/infra.git"})
		if err != nil || len(r.Stacks) != 1 {
			t.Fatalf("%s: %d Stacks, %v", name, len(r.Stacks), err)
		}
		if got, notes := r.Stacks[0].Spec.Engine.Name, manifest.Text(r.Notes); got != tt.engine ||
			!strings.Contains(notes, tt.note) {
			t.Errorf("%s: %s\n%s", name, got, notes)
		}
	}
	complete := code(`backend "s3" {
  bucket = "b"
  key    = "net"
}`)
	r, err := generate.Generate(generate.Code{Files: complete, URL: "https://git.example.com/acme/infra.git"})
	if notes := manifest.Text(r.Notes); err != nil || strings.Contains(notes, "backend-config") {
		t.Errorf("a complete backend: %v\n%s", err, notes)
	}
}

// TestNewestEngineIsTheOneOfTheRelease checks that the newest OpenTofu that Generate knows is at least the one that
// Cairn is tested with.
func TestNewestEngineIsTheOneOfTheRelease(t *testing.T) {
	data, err := os.ReadFile("../tools/checksums")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[1] != "tofu" {
			continue
		}
		if want := fmt.Sprintf("v1.%d.", generate.NewestTofu); !strings.HasPrefix(fields[2], want) {
			t.Errorf("Cairn is tested with OpenTofu %s, and Generate knows %s", fields[2], want)
		}
		return
	}
	t.Error("no OpenTofu in tools/checksums")
}

// TestModulesAboveTheFolder checks a module of the repository that is not in the folder: another one there has its
// path.
func TestModulesAboveTheFolder(t *testing.T) {
	files := fstest.MapFS{
		"prod/main.tf": {Data: []byte("module \"net\" {\n  source = \"../../net\"\n}\n")},
		"net/main.tf":  {Data: []byte("provider \"aws\" {}\n")},
	}
	r, err := generate.Generate(generate.Code{Files: files, Folder: "envs",
		URL: "https://git.example.com/acme/infra.git"})
	if err != nil || len(r.Stacks) != 2 {
		t.Errorf("%v\n%s", err, manifest.Text(r.Notes))
	}
}

// TestCodeOfTerragruntUnitsIsNoStack checks code that units run: a Stack of its own would create the resources of a
// unit once more.
func TestCodeOfTerragruntUnitsIsNoStack(t *testing.T) {
	unit := func(source string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("terraform {\n  source = \"" + source + "\"\n}\n")}
	}
	files := fstest.MapFS{
		"live/app/terragrunt.hcl":  unit("../..//stacks/app"),
		"live/net/terragrunt.hcl":  unit("../../stacks/net"),
		"live/root/terragrunt.hcl": unit("../../"),
		"main.tf":                  {Data: []byte("provider \"aws\" {}\n")},
		"stacks/app/main.tf":       {Data: []byte("terraform {\n  backend \"s3\" {}\n}\n")},
		"stacks/net/main.tf":       {Data: []byte("provider \"aws\" {}\n")},
		"stacks/dns/main.tf":       {Data: []byte("provider \"aws\" {}\n")},
	}
	r, err := generate.Generate(generate.Code{Files: files, URL: "https://git.example.com/acme/infra.git"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range r.Stacks {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff([]string{"live-app", "live-net", "live-root", "stacks-dns"}, names); diff != "" ||
		!strings.Contains(manifest.Text(r.Notes), "no Stack: the code that live/net runs") {
		t.Errorf("%s\n%s", diff, manifest.Text(r.Notes))
	}
}

// TestLinkedCodeIsRead checks files of code that are links to one that several folders share, and links to what is no
// file.
func TestLinkedCodeIsRead(t *testing.T) {
	dir := t.TempDir()
	apply := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	apply(os.MkdirAll(filepath.Join(dir, "envs", "prod"), 0o700), os.Mkdir(filepath.Join(dir, "shared"), 0o700))
	apply(
		os.WriteFile(filepath.Join(dir, "shared", "backend.txt"),
			[]byte("terraform {\n  backend \"gcs\" {\n    bucket = \"states\"\n  }\n}\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "envs", "prod", "main.tf"), []byte("provider \"google\" {}\n"), 0o600),
		os.Symlink("../../shared/backend.txt", filepath.Join(dir, "envs", "prod", "backend.tf")),
		os.Symlink("../../shared", filepath.Join(dir, "envs", "prod", "folder.tf")),
		os.Symlink("nowhere", filepath.Join(dir, "envs", "prod", "lost.tf")),
	)
	r, err := generate.Generate(generate.Code{Files: os.DirFS(dir), URL: "https://git.example.com/acme/infra.git"})
	if err != nil || len(r.Stacks) != 1 || r.Stacks[0].Spec.Backend == nil || !r.Stacks[0].Spec.Backend.FromCode {
		t.Errorf("%v\n%s", err, manifest.Text(r.Notes))
	}
}
