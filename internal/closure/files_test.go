package closure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWhatCodeInNoRepositorySaysAboutTheEngine: a ConfigMap's keys, or the files of inline code.
func TestWhatCodeInNoRepositorySaysAboutTheEngine(t *testing.T) {
	pinned := func(constraint, file string) Version { return Version{Pin: Pin{Constraint: constraint}, File: file} }
	c := New(Options{})
	for _, tt := range []struct {
		name       string
		files      map[string]string
		terragrunt bool
		want       Engine
	}{
		{name: "nothing", files: map[string]string{"main.tf": ""}},
		{
			name:  "version files",
			files: map[string]string{"main.tf": "", ".opentofu-version": "1.9.2\n", ".terraform-version": "latest:^1.5"},
			want:  Engine{OpenTofu: pinned("= 1.9.2", ".opentofu-version"), Terraform: pinned("~> 1.5.0", ".terraform-version")},
		},
		{
			name:  "what the code requires",
			files: map[string]string{"main.tf": requires(">= 1.5"), "b.tofu": requires("~> 1.9")},
			want:  Engine{OpenTofu: Version{Required: []string{"~> 1.9"}}, Terraform: Version{Required: []string{">= 1.5"}}},
		},
		{
			name:  "the same names with other content",
			files: map[string]string{"main.tf": requires(">= 1.6"), "b.tofu": requires("~> 1.10")},
			want:  Engine{OpenTofu: Version{Required: []string{"~> 1.10"}}, Terraform: Version{Required: []string{">= 1.6"}}},
		},
		{
			name:  "not what a module below it requires",
			files: map[string]string{"main.tf": `module "a" { source = "./a" }`, "a/main.tf": requires("1.2.3"), "a/.terraform-version": "1.2.3"},
		},
		{
			name:  "a version file that cannot be read",
			files: map[string]string{"main.tf": "", ".terraform-version": "newest"},
			want:  Engine{Terraform: Version{Pin: Pin{Problem: `version file: "newest" is no version and no constraint`}, File: ".terraform-version"}},
		},
		{name: "code that cannot be read", files: map[string]string{"main.tf": "terraform {"}},
		{name: "a name that leads elsewhere", files: map[string]string{"main.tf": "", "../.terraform-version": "1.2.3"}},
		{
			name:       "Terragrunt's file, and the module beside it",
			terragrunt: true,
			files: map[string]string{
				"terragrunt.hcl": "terragrunt_version_constraint = \"~> 1.0\"\nterraform_version_constraint = \">= 1.6\"\n",
				"main.tf":        requires("< 2"), ".terragrunt-version": "1.1.3",
			},
			want: Engine{
				OpenTofu:  Version{Required: []string{">= 1.6"}},
				Terraform: Version{Required: []string{">= 1.6", "< 2"}},
				Terragrunt: Version{
					Pin: Pin{Constraint: "= 1.1.3"}, File: ".terragrunt-version", Required: []string{"~> 1.0"},
				},
			},
		},
		{
			name:       "version files, where Terragrunt's own file is missing",
			terragrunt: true, files: map[string]string{"main.tf": "", ".terragrunt-version": "1.1.3"},
			want: Engine{Terragrunt: pinned("= 1.1.3", ".terragrunt-version")},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string][]byte{}
			for name, text := range tt.files {
				files[name] = []byte(text)
			}
			if diff := cmp.Diff(tt.want, c.Engine(t.Context(), files, tt.terragrunt)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
