package closure

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/test/program"
)

func requires(version string) string {
	return `terraform { required_version = "` + version + `" }` + "\n"
}

func compatible(version string) string {
	return "language {\n  compatible_with {\n    opentofu = \"" + version + "\"\n  }\n}\n"
}

func TestEngineVersionsThatTheCodeRequires(t *testing.T) {
	for name, tt := range map[string]struct {
		repository repository
		want       Engine
	}{
		"no version": {repository{"a/b/main.tf": ""}, Engine{}},
		"the nearest version file of each engine": {
			repository{"a/b/main.tf": "", "a/.opentofu-version": "1.9.2\n", ".opentofu-version": "1.8.0",
				".terraform-version": "latest:^1.5"},
			Engine{OpenTofu: Version{Pin: Pin{Constraint: "= 1.9.2"}, File: "a/.opentofu-version"},
				Terraform: Version{Pin: Pin{Constraint: "~> 1.5.0"}, File: ".terraform-version"}},
		},
		"a version file may be a symlink": {
			repository{"a/b/main.tf": "", "a/b/.opentofu-version": "-> ../v", "a/v": "1.9.2"},
			Engine{OpenTofu: Version{Pin: Pin{Constraint: "= 1.9.2"}, File: "a/b/.opentofu-version"}},
		},
		"a directory, and a symlink without a target, are no version files": {
			repository{"a/b/main.tf": "", "a/b/.opentofu-version/x": "", "a/.opentofu-version": "-> x",
				".opentofu-version": "1.9.2"},
			Engine{OpenTofu: Version{Pin: Pin{Constraint: "= 1.9.2"}, File: ".opentofu-version"}},
		},
		"an invalid version file is a problem, not an error": {
			repository{"a/b/main.tf": "", ".opentofu-version": "new\n",
				".terraform-version": strings.Repeat("#", 5000)},
			Engine{
				OpenTofu: Version{
					Pin: Pin{Problem: `version file: "new" is not a version or a constraint: write one, such as 1.9.2 or ~> 1.8.0`}, File: ".opentofu-version"},
				Terraform: Version{
					Pin: Pin{Problem: "version file: it has more than 4096 bytes, which is the limit: write only the " +
						"version into it"}, File: ".terraform-version"},
			},
		},
		"each engine reads its own files": {
			repository{
				"a/b/a.tf": requires(">= 1.5"), "a/b/b.tf.json": `{"terraform": {"required_version": "< 2"}}`,
				"a/b/c.tofu": requires(">= 1.8"), "a/b/d.tofu.json": `{"terraform": [{"required_version": "< 3"}]}`,
				"a/b/e.tf": compatible(">= 1.12"),
			},
			Engine{OpenTofu: Version{Required: []string{">= 1.8", "< 3", ">= 1.12"}},
				Terraform: Version{Required: []string{">= 1.5", "< 2"}}},
		},
		"OpenTofu does not read a .tf with a .tofu of the same name": {
			repository{"a/b/a.tf": compatible(">= 1.13") + requires(">= 1.5"), "a/b/a.tofu": compatible(">= 1.12")},
			Engine{OpenTofu: Version{Required: []string{">= 1.12"}}, Terraform: Version{Required: []string{">= 1.5"}}},
		},
		"invalid constraints and those with variables are left to the engine": {
			repository{"a/b/a.tf": requires("new") + requires("${var.x}") +
				"terraform { required_version = 1 }\nterraform { required_version = null }\n"},
			Engine{},
		},
		"constraints of modules and nested folders are ignored": {
			repository{"a/b/a.tf": module("c", "../c"), "a/c/c.tf": requires("1.1.1"), "a/b/d/d.tf": requires("1.1.2")},
			Engine{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, mustOf(t, tt.repository, Wanted{Path: "a/b"}).Engine); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The test runs OpenTofu, and compares the constraints that it enforces with those that Engine has.
func TestOpenTofuEnforcesTheConstraintsThatWeReport(t *testing.T) {
	tofu := program.Path(t, "tofu")
	for name, files := range map[string]repository{
		"required_version in .tf":      {"main.tf": requires("99.0.0")},
		"required_version in .tf.json": {"main.tf.json": `{"terraform": {"required_version": "99.0.0"}}`},
		"required_version in .tofu":    {"main.tofu": requires("99.0.0")},
		"required_version in .tofu.json": {
			"main.tofu.json": `{"terraform": {"required_version": "99.0.0"}}`},
		"required_version beside compatible_with": {"main.tofu": requires("99.0.0") + compatible(">= 1.12.0")},
		"compatible_with in .tf":                  {"main.tf": compatible(">= 99.0.0")},
		"compatible_with in .tf.json": {
			"main.tf.json": `{"language": {"compatible_with": {"opentofu": ">= 99.0.0"}}}`},
		"compatible_with in .tf that a .tofu covers": {"main.tf": compatible(">= 99.0.0"), "main.tofu": ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := validate(t.Context(), tofu, dir)
			if err != nil && !strings.Contains(out, "Incompatible module") {
				t.Fatal(out)
			}
			engine := mustOf(t, files, Wanted{}).Engine
			if enforced := err != nil; enforced != (len(engine.OpenTofu.Required) > 0) {
				t.Errorf("OpenTofu enforces it: %t; we report %q", enforced, engine.OpenTofu.Required)
			}
		})
	}
}

func validate(ctx context.Context, tofu, dir string) (string, error) {
	cmd := exec.CommandContext(ctx, tofu, "validate", "-no-color")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.DevNull, "CHECKPOINT_DISABLE=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
