package closure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine/hclparse"
)

func module(name, source string) string {
	return "module \"" + name + "\" {\n  source = \"" + source + "\"\n}\n"
}

func TestFilesOfTheClosure(t *testing.T) {
	for name, tt := range map[string]struct {
		repository repository
		wanted     Wanted
		files      string
		modules    []string
		open       []string
	}{
		"all below the folder, and nothing of a folder whose name begins with its": {
			repository: repository{"prod/app/main.tf": "", "prod/app/t/x.tftpl": "x",
				"prod/app/.terraform.lock.hcl": "", "prod/app2/main.tf": "", "prod/app.tf": ""},
			wanted: Wanted{Path: "prod/app"},
			files:  "prod/app/.terraform.lock.hcl prod/app/main.tf prod/app/t/x.tftpl",
		},
		"the root: all files": {
			repository: repository{"main.tf": module("a", "./a"), "a/main.tf": "", "README": "x"},
			wanted:     Wanted{Path: "."},
			files:      "README a/main.tf main.tf", modules: []string{"a"},
		},
		"modules, and the modules that they call, from the directory of the caller": {
			repository: repository{"app/main.tf": module("net", "../modules/net"),
				"modules/net/net.tf": module("vpc", "../vpc//sub/.."), "modules/vpc/x/y.json": "1",
				"modules/other/main.tf": ""},
			wanted:  Wanted{Path: "/app/"},
			files:   "app/main.tf modules/net/net.tf modules/vpc/x/y.json",
			modules: []string{"modules/net", "modules/vpc"},
		},
		"modules that call each other, once": {
			repository: repository{"app/main.tf": module("a", "../a"), "a/main.tf": module("b", "../b") + module("app",
				"../app"), "b/main.tf": module("a", "../a")},
			wanted: Wanted{Path: "./app"},
			files:  "a/main.tf app/main.tf b/main.tf", modules: []string{"a", "b"},
		},
		"modules named in .tofu and in JSON": {
			repository: repository{
				"app/a.tofu": module("a", "../a"), "app/b.tf.json": `{"module": {"b": {"source": "../b"}}}`,
				"app/c.tofu.json": `{"module": [{"c": [{"source": "../c"}]}]}`,
				"a/x":             "", "b/x": "", "c/x": "", "d/x": "",
			},
			wanted: Wanted{Path: "app"},
			files:  "a/x app/a.tofu app/b.tf.json app/c.tofu.json b/x c/x", modules: []string{"a", "b", "c"},
		},
		"modules of x.tf and of x.tofu, though each engine reads only one of them": {
			repository: repository{"app/main.tf": module("a", "../a"),
				"app/main.tofu": module("b", "../b") + module("gone", "../gone"), "a/x": "", "b/x": ""},
			wanted: Wanted{Path: "app"},
			files:  "a/x app/main.tf app/main.tofu b/x", modules: []string{"a", "b"},
		},
		"modules of x.tofu for OpenTofu, and of no file that it replaces": {
			repository: repository{"app/main.tf": module("a", "../gone"), "app/main.tofu": module("b", "../b"),
				"b/x": ""},
			wanted: Wanted{Path: "app", Language: LanguageOfOpenTofu},
			files:  "app/main.tf app/main.tofu b/x", modules: []string{"b"},
		},
		"no modules of .tofu for Terraform": {
			repository: repository{"app/main.tf": module("a", "../a"), "app/main.tofu": module("b", "../gone"),
				"app/more.tofu": module("c", "../b"), "a/x": "", "b/x": ""},
			wanted: Wanted{Path: "app", Language: LanguageOfTerraform},
			files:  "a/x app/main.tf app/main.tofu app/more.tofu", modules: []string{"a"},
		},
		"the last source of an override file, and not the ones before": {
			repository: repository{
				"app/main.tf": module("a", "../gone") + module("b", "../b") + module("c", "${var.c}") + module("d",
					"../d"), "app/a_override.tf": module("a", "../gone") + module("b", "hashicorp/consul/aws"),
				"app/override.tf":       module("a", "../a") + module("c", "../c"),
				"app/other_override.tf": "module \"d\" {\n  count = 0\n}\n", "a/x": "", "b/x": "", "c/x": "", "d/x": "",
			},
			wanted:  Wanted{Path: "app"},
			files:   "a/x app/a_override.tf app/main.tf app/other_override.tf app/override.tf c/x d/x",
			modules: []string{"a", "c", "d"},
		},
		"both sources, when only one engine reads the override file": {
			repository: repository{"app/main.tf": module("a", "../a"), "app/override.tofu": module("a", "../b"),
				"a/x": "", "b/x": ""},
			wanted: Wanted{Path: "app"},
			files:  "a/x app/main.tf app/override.tofu b/x", modules: []string{"a", "b"},
		},
		"modules with backslashes, as on Windows": {
			repository: repository{"app/main.tf": module("a", `..\\modules\\a`), "modules/a/x": ""},
			wanted:     Wanted{Path: "app"},
			files:      "app/main.tf modules/a/x", modules: []string{"modules/a"},
		},
		"no remote module, with or without variables": {
			repository: repository{
				"app/main.tf": module("a", "hashicorp/consul/aws") + module("b",
					"git::https://example.com/x.git?ref=${var.ref}") + module("c", "modules/c"), "modules/c/x": "",
			},
			wanted: Wanted{Path: "app"},
			files:  "app/main.tf",
		},
		"no module of a nested folder that is not called": {
			repository: repository{"app/main.tf": module("a", "./a"), "app/a/main.tf": "",
				"app/examples/one/main.tf": module("gone", "../../../gone") + module("b", "../../../b"), "b/x": ""},
			wanted: Wanted{Path: "app"},
			files:  "app/a/main.tf app/examples/one/main.tf app/main.tf", modules: []string{"app/a"},
		},
		"all files, when a source has a variable": {
			repository: repository{"app/main.tf": "\n" + module("a", "../${var.a}"), "b/x": "", "c": ""},
			wanted:     Wanted{Path: "app"},
			files:      "app/main.tf b/x c", open: []string{`app/main.tf:3: module "a"`},
		},
		"all files, when a source in JSON has a variable": {
			repository: repository{"app/main.tf.json": `{"module": {"a": {"source": "../${var.a}"}}}`, "b/x": ""},
			wanted:     Wanted{Path: "app"},
			files:      "app/main.tf.json b/x", open: []string{`app/main.tf.json:1: module "a"`},
		},
		"no module of a hidden file, which no engine reads": {
			repository: repository{"app/main.tf": "", "app/.main.tf": module("gone", "../gone")},
			wanted:     Wanted{Path: "app"},
			files:      "app/.main.tf app/main.tf",
		},
		"the valid parts of a file with syntax errors": {
			repository: repository{"app/main.tf": module("a", "../a") + "resource {{{ \"",
				"app/bad.tf.json": `{"module"`, "a/x": ""},
			wanted: Wanted{Path: "app"},
			files:  "a/x app/bad.tf.json app/main.tf", modules: []string{"a"},
		},
		"no module in a comment or in a text": {
			repository: repository{"app/main.tf": "# " + strings.ReplaceAll(module("a", "../a"), "\n", " ") +
				"\nlocals {\n x = <<E\n" + module("b", "../b") + "E\n}\n"},
			wanted: Wanted{Path: "app"},
			files:  "app/main.tf",
		},
		"files that triggers match": {
			repository: repository{"app/main.tf": "", "shared/a.yaml": "", "shared/x/b.yaml": "",
				"shared/x/y/z/d.yaml": "", "shared/x/c.json": "", "shared2/d.yaml": "", "top.yaml": ""},
			wanted: Wanted{Path: "app", Triggers: []string{"/shared/**/*.yaml", "none/**", "*.none"}},
			files:  "app/main.tf shared/a.yaml shared/x/b.yaml shared/x/y/z/d.yaml",
		},
		"files that a trigger without ** matches, not those in deeper folders": {
			repository: repository{"app/main.tf": "", "a.yaml": "", "x/b.yaml": "", "x/y/c.yaml": "",
				"x/y/z/d.yaml": ""},
			wanted: Wanted{Path: "app", Triggers: []string{"{*,x/*}.yaml", "./x/y/?.yaml"}},
			files:  "a.yaml app/main.tf x/b.yaml x/y/c.yaml",
		},
		"all below a directory that is a trigger": {
			repository: repository{"app/main.tf": "", "shared/a": "", "shared/x/b": "", "shared2/c": ""},
			wanted:     Wanted{Path: "app", Triggers: []string{"shared"}},
			files:      "app/main.tf shared/a shared/x/b",
		},
		"all below a directory with /** after it": {
			repository: repository{"app/main.tf": "", "shared/a": "", "shared/x/b": "", "shared2/c": ""},
			wanted:     Wanted{Path: "app", Triggers: []string{"shared/**"}},
			files:      "app/main.tf shared/a shared/x/b",
		},
		"files that a trigger with escaped brackets matches": {
			repository: repository{"app/main.tf": "", "a[b]/c.tf": "", "ab/c.tf": ""},
			wanted:     Wanted{Path: "app", Triggers: []string{`a\[b\]/*.tf`}},
			files:      "a[b]/c.tf app/main.tf",
		},
		"variable files": {
			repository: repository{"app/main.tf": "", "vars/a.tfvars": "", "vars/b.tfvars": ""},
			wanted:     Wanted{Path: "app", VariableFiles: []string{"./vars/a.tfvars"}},
			files:      "app/main.tf vars/a.tfvars",
		},
		"the nearest version files": {
			repository: repository{"a/b/main.tf": "", "a/.opentofu-version": "1.9.2", ".opentofu-version": "1.8.0",
				".terraform-version": "1.5.7", ".terragrunt-version": "0.60.0", ".tool-versions": "x"},
			wanted: Wanted{Path: "a/b"},
			files:  ".terraform-version a/.opentofu-version a/b/main.tf",
		},
		"targets of symlinks, and of the symlinks there": {
			repository: repository{
				"app/main.tf": "", "app/one": "-> ../shared/one", "app/dir": "-> ../lib", "app/lost": "-> nowhere",
				"app/out": "-> ../../x", "app/abs": "-> /etc", "app/self": "-> self",
				"shared/one": "1", "shared/two": "2", "lib/x": "-> ../shared/three", "shared/three": "3",
			},
			wanted: Wanted{Path: "app"},
			files:  "app/abs app/dir app/lost app/main.tf app/one app/out app/self lib/x shared/one shared/three",
		},
		"modules of code behind a symlink, from the directory of the symlink": {
			repository: repository{"app/main.tf": "-> ../common/main.tf", "common/main.tf": module("a", "./a"),
				"app/a/x": "", "common/a/y": ""},
			wanted: Wanted{Path: "app"},
			files:  "app/a/x app/main.tf common/main.tf", modules: []string{"app/a"},
		},
		"a module behind a symlink, and the modules that it calls from its real directory": {
			repository: repository{"app/main.tf": module("a", "../links/a"), "links/a": "-> ../deep/er/a",
				"deep/er/a/main.tf": module("b", "../b"), "deep/er/b/x": "", "b/y": "", "links/b": "-> none"},
			wanted: Wanted{Path: "app"},
			files:  "app/main.tf deep/er/a/main.tf deep/er/b/x links/a", modules: []string{"deep/er/a", "deep/er/b"},
		},
		"a folder behind a symlink": {
			repository: repository{"now": "-> releases/2", "releases/2/main.tf": module("a", "../a"),
				"releases/a/x": "", "a/y": ""},
			wanted: Wanted{Path: "now"},
			files:  "now releases/2/main.tf releases/a/x", modules: []string{"releases/a"},
		},
		"submodules, without their content": {
			repository: repository{"app/main.tf": module("a", "../vendor/a/x") + module("b", "./b"), "vendor/a": "@",
				"app/b": "@"},
			wanted: Wanted{Path: "app"},
			files:  "app/b app/main.tf vendor/a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustOf(t, tt.repository, tt.wanted)
			if diff := cmp.Diff(tt.files, got.paths()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.modules, got.Modules); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.open, got.Open); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrorsNameTheProblem(t *testing.T) {
	good := repository{"app/main.tf": "", "docs/x": "", "sub": "@", "out": "-> ../..", "abs": "-> /app"}
	for name, tt := range map[string]struct {
		repository repository
		wanted     Wanted
		kind       error
		reason     string
		message    string
	}{
		"no such directory": {good, Wanted{Path: "app/net/x"}, ErrPath, "PathNotFound",
			"no directory app/net/x; the nearest one that exists is app: correct the path"},
		"no such directory at all": {good, Wanted{Path: "ap"}, ErrPath, "PathNotFound",
			"the nearest one that exists is the repository's root"},
		"a file as a path": {good, Wanted{Path: "app/main.tf"}, ErrPath, "PathNotFound",
			"the nearest one that exists is app"},
		"a path out of the repository": {good, Wanted{Path: "app/../../x"}, ErrPath, "PathNotFound",
			"outside of the repository"},
		"a path that leads out": {good, Wanted{Path: "out/x"}, ErrPath, "PathNotFound",
			"symlink to a path outside of the repository"},
		"an absolute symlink": {good, Wanted{Path: "abs"}, ErrPath, "PathNotFound",
			"symlink to a path outside of the repository"},
		"a path in a submodule": {good, Wanted{Path: "sub/x"}, ErrPath, "PathNotFound", "submodule sub"},
		"no code":               {good, Wanted{Path: "docs"}, ErrNoCode, "CodeNotFound", "in docs"},
		"no code in the root":   {good, Wanted{}, ErrNoCode, "CodeNotFound", "in the repository's root"},
		"no Terragrunt": {good, Wanted{Path: "app", Terragrunt: true}, ErrNoCode, "CodeNotFound",
			"terragrunt.hcl"},
		"a directory and a hidden file": {repository{"app/x.tf/y": "", "app/.x.tf": ""}, Wanted{Path: "app"},
			ErrNoCode, "CodeNotFound", "in app"},
		"no variable file": {good, Wanted{Path: "app", VariableFiles: []string{"app/x.tfvars"}},
			ErrVariableFile, "VariableFileNotFound", "no variable file app/x.tfvars; the nearest directory that " +
				"exists is app:"},
		"a directory as variable file": {good, Wanted{Path: "app", VariableFiles: []string{"docs"}},
			ErrVariableFile, "VariableFileNotFound", "docs"},
		"a variable file outside": {good, Wanted{Path: "app", VariableFiles: []string{"../x"}},
			ErrVariableFile, "VariableFileNotFound", "outside of the repository"},
		"a trigger outside": {good, Wanted{Path: "app", Triggers: []string{"../x/**"}}, ErrInvalidGlob,
			"TriggerInvalid", "remove the .."},
		"a module that is not found": {repository{"app/main.tf": "\n\n" + module("net", "../modules/nett"),
			"modules/net/x": ""}, Wanted{Path: "app"}, ErrModule, "ModuleNotFound",
			`app/main.tf:4: module "net" has the source "../modules/nett", but the repository has no directory "modules/nett"; the nearest one that exists is modules:`},
		"a module that is a file": {repository{"app/main.tf": module("a", "./main.tf")}, Wanted{Path: "app"},
			ErrModule, "ModuleNotFound", "app/main.tf:2"},
		"a module out of the repository": {repository{"app/main.tf": module("a", "../../../x"), "x/y": ""},
			Wanted{Path: "app"}, ErrModule, "ModuleNotFound", "outside of the repository"},
		"a module whose symlink leads out": {repository{"app/main.tf": module("a", "./a"), "app/a": "-> ../../a"},
			Wanted{Path: "app"}, ErrModule, "ModuleNotFound", "symlink to a path outside of the repository"},
		"a module whose symlink is a circle": {repository{"app/main.tf": module("a", "./a"), "app/a": "-> b",
			"app/b": "-> a"}, Wanted{Path: "app"}, ErrModule, "ModuleNotFound", `no directory "app/a"`},
		"a large file of code": {repository{"app/main.tf": strings.Repeat("#", 512<<10+1)}, Wanted{Path: "app"},
			ErrTooLarge, "SourceTooLarge", "app/main.tf has 524289 bytes, and the limit is 524288: split it"},
		"a file with many tokens": {repository{"app/main.tf": "terraform {\n" + strings.Repeat("a=1\n", 50_000) +
			"}\n"}, Wanted{Path: "app"}, ErrTooLarge, "SourceTooLarge",
			"app/main.tf: it has 200006 tokens, and the limit is 150000: split it"},
		"a large file of Terragrunt": {repository{"app/terragrunt.hcl": strings.Repeat("#", 512<<10+1)},
			Wanted{Path: "app", Terragrunt: true}, ErrTooLarge, "SourceTooLarge",
			"app/terragrunt.hcl has 524289 bytes"},
		"a large module": {repository{"app/main.tf": module("a", "../a"), "a/main.tf.json": `{"a": [` +
			strings.Repeat("1,", 150_000) + "1]}"}, Wanted{Path: "app"}, ErrTooLarge, "SourceTooLarge",
			"a/main.tf.json: it has more than 150000 values"},
		"much code in all": {large(34), Wanted{Path: "app"}, ErrTooLarge, "SourceTooLarge",
			"have more than 16777216 bytes of code"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := of(t, tt.repository, tt.wanted)
			if !errors.Is(err, tt.kind) || Reason(err) != tt.reason || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("got %s: %v", Reason(err), err)
			}
		})
	}
}

// large is a repository with n large files of code.
func large(n int) repository {
	r := repository{}
	for i := range n {
		r[fmt.Sprintf("app/%d.tf", i)] = fmt.Sprintf("# %d %s\n", i, strings.Repeat("#", 500<<10))
	}
	return r
}

func TestCodeAtTheLimitIsAccepted(t *testing.T) {
	mustOf(t, large(32), Wanted{Path: "app"})
}

// A large variable file is data: it is not parsed, and the paths in it that go up are followed.
func TestPathsInALargeVariableFileAreFollowed(t *testing.T) {
	r := repository{
		"app/main.tf": "", "app/a.auto.tfvars": "# " + strings.Repeat("a", 600<<10) + "\na = \"../x/y\"\n",
		"vars": "b = \"../z\" # " + strings.Repeat("a", 600<<10), "x/y": "1", "x/other": "2", "z": "3",
	}
	w := Wanted{Path: "app", VariableFiles: []string{"vars"}}
	if got := mustOf(t, r, w).paths(); got != "app/a.auto.tfvars app/main.tf vars x/y z" {
		t.Error(got)
	}
}

// While the memory is in use, no further file is parsed.
func TestFilesWaitForTheMemoryToParseThem(t *testing.T) {
	release, err := hclparse.Acquire(t.Context(), hclparse.MaxBytes)
	if err != nil {
		t.Fatal(err)
	}
	tree, blobs := repository{"app/main.tf": "a = 1"}.commit(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := New(Options{}).Of(ctx, tree, blobs, Wanted{Path: "app"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	release()
	mustOf(t, repository{"app/main.tf": "a = 1"}, Wanted{Path: "app"})
}

func TestTheNumberOfModulesIsLimited(t *testing.T) {
	tree, blobs := repository{"app/main.tf": module("a", "../a") + module("b", "../b"), "a/x": "", "b/x": ""}.commit(t)
	if _, err := New(Options{Modules: 2}).Of(t.Context(), tree, blobs, Wanted{Path: "app"}); err != nil {
		t.Error(err)
	}
	if _, err := New(Options{Modules: 1}).Of(t.Context(), tree, blobs, Wanted{Path: "app"}); !errors.Is(err,
		ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestABlobThatCannotBeReadHasNoReason(t *testing.T) {
	tree, _ := repository{"app/main.tf": "x"}.commit(t)
	c := New(Options{})
	if _, err := c.Of(t.Context(), tree, &objects{}, Wanted{Path: "app"}); err == nil || Reason(err) != "" {
		t.Fatalf("got %s: %v", Reason(err), err)
	}
	_, blobs := repository{"app/main.tf": "x"}.commit(t)
	if _, err := c.Of(t.Context(), tree, blobs, Wanted{Path: "app"}); err != nil {
		t.Errorf("the failure was cached: %v", err)
	}
}

func TestAClosureReportsSubmodules(t *testing.T) {
	r := repository{"app/main.tf": "", "with/main.tf": "", "with/deep/sub": "@",
		"calls/main.tf": module("a", "../vendor/a/x"), "vendor/a": "@"}
	for path, want := range map[string]bool{"app": false, "with": true, "calls": true} {
		if got := mustOf(t, r, Wanted{Path: path}).Submodules; got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
