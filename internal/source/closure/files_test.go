package closure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Code outside of a repository is in the keys of a ConfigMap, or inline in a Stack.
func TestEngineVersionsThatCodeOutsideOfARepositoryRequires(t *testing.T) {
	pinned := func(constraint, file string) Version { return Version{Pin: Pin{Constraint: constraint}, File: file} }
	c := New(Options{})
	for _, tt := range []struct {
		name       string
		files      map[string]string
		terragrunt bool
		want       Engine
	}{
		{name: "no version", files: map[string]string{"main.tf": ""}},
		{
			name: "version files",
			files: map[string]string{"main.tf": "", ".opentofu-version": "1.9.2\n",
				".terraform-version": "latest:^1.5"},
			want: Engine{OpenTofu: pinned("= 1.9.2", ".opentofu-version"),
				Terraform: pinned("~> 1.5.0", ".terraform-version")},
		},
		{
			name:  "constraints of the code",
			files: map[string]string{"main.tf": requires(">= 1.5"), "b.tofu": requires("~> 1.9")},
			want: Engine{OpenTofu: Version{Required: []string{"~> 1.9"}},
				Terraform: Version{Required: []string{">= 1.5"}}},
		},
		{
			name:  "the same names with other content",
			files: map[string]string{"main.tf": requires(">= 1.6"), "b.tofu": requires("~> 1.10")},
			want: Engine{OpenTofu: Version{Required: []string{"~> 1.10"}},
				Terraform: Version{Required: []string{">= 1.6"}}},
		},
		{
			name: "no constraints of a module below it",
			files: map[string]string{"main.tf": `module "a" { source = "./a" }`, "a/main.tf": requires("1.2.3"),
				"a/.terraform-version": "1.2.3"},
		},
		{
			name:  "a version file that cannot be read",
			files: map[string]string{"main.tf": "", ".terraform-version": "newest"},
			want: Engine{Terraform: Version{
				Pin: Pin{Problem: `version file: "newest" is not a version or a constraint: write one, such as 1.9.2 or ~> 1.8.0`}, File: ".terraform-version"}},
		},
		{name: "code that cannot be read", files: map[string]string{"main.tf": "terraform {"}},
		{name: "a name that leads out of the folder",
			files: map[string]string{"main.tf": "", "../.terraform-version": "1.2.3"}},
		{
			name:       "Terragrunt's file, and the module in the same folder",
			terragrunt: true,
			files: map[string]string{
				"terragrunt.hcl": "terragrunt_version_constraint = \"~> 1.0\"\nterraform_version_constraint = " +
					"\">= 1.6\"\n",
				"main.tf": requires("< 2"), ".terragrunt-version": "1.1.3",
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
			name:       "version files, when Terragrunt's own file is not found",
			terragrunt: true, files: map[string]string{"main.tf": "", ".terragrunt-version": "1.1.3"},
			want: Engine{Terragrunt: pinned("= 1.1.3", ".terragrunt-version")},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string][]byte{}
			for name, text := range tt.files {
				files[name] = []byte(text)
			}
			got, err := c.Engine(t.Context(), files, tt.terragrunt)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
