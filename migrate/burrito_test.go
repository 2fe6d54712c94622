package migrate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/migrate/convert/manifest"
)

// TestEngineOfABurritoLayer checks that the engine is that of the repository unless the layer sets another one, as in
// burrito.
func TestEngineOfABurritoLayer(t *testing.T) {
	type engine = v1alpha1.Engine
	grunt := func(version string, name v1alpha1.EngineName, of string) engine {
		return engine{Name: "Terragrunt", Version: version, Wrapped: &v1alpha1.WrappedEngine{Name: name, Version: of}}
	}
	for name, test := range map[string]struct {
		repository, layer string
		// given is the engine of the Repository, own that of the Stack, and runs the effective one.
		given *engine
		own   engine
		runs  engine
	}{
		"the repository sets all": {
			`terraform: {enabled: true, version: "1.5.7"}`, ``,
			&engine{Name: "Terraform", Version: "1.5.7"}, engine{}, engine{Name: "Terraform", Version: "1.5.7"},
		},
		"the layer sets the same": {
			`terraform: {enabled: true, version: "1.5.7"}`, `terraform: {enabled: true}`,
			&engine{Name: "Terraform", Version: "1.5.7"}, engine{}, engine{Name: "Terraform", Version: "1.5.7"},
		},
		"the layer has another version": {
			`terraform: {enabled: true, version: "1.5.7"}`, `terraform: {version: "1.6.6"}`,
			&engine{Name: "Terraform", Version: "1.5.7"}, engine{Name: "Terraform", Version: "1.6.6"},
			engine{Name: "Terraform", Version: "1.6.6"},
		},
		"the layer has another engine, in the version that the repository has for it": {
			`{terraform: {enabled: true, version: "1.5.7"}, opentofu: {version: "1.9.0"}}`, `opentofu: {enabled: true}`,
			&engine{Name: "Terraform", Version: "1.5.7"}, engine{Name: "OpenTofu", Version: "1.9.0"},
			engine{Name: "OpenTofu", Version: "1.9.0"},
		},
		"the layer has another engine, in any version": {
			`terraform: {enabled: true, version: "1.5.7"}`, `opentofu: {enabled: true}`,
			&engine{Name: "Terraform", Version: "1.5.7"}, engine{Name: "OpenTofu"}, engine{Name: "OpenTofu"},
		},
		"Terragrunt of the repository": {
			`{terraform: {enabled: true, version: "1.5.7"}, terragrunt: {enabled: true, version: "1.0.0"}}`, ``,
			new(grunt("1.0.0", "Terraform", "1.5.7")), engine{}, grunt("1.0.0", "Terraform", "1.5.7"),
		},
		"Terragrunt of the repository, disabled by the layer": {
			`{terraform: {enabled: true, version: "1.5.7"}, terragrunt: {enabled: true, version: "1.0.0"}}`,
			`terragrunt: {enabled: false}`,
			new(grunt("1.0.0", "Terraform", "1.5.7")), engine{Name: "Terraform", Version: "1.5.7"},
			engine{Name: "Terraform", Version: "1.5.7"},
		},
		"the layer adds Terragrunt": {
			`opentofu: {enabled: true, version: "1.9.0"}`, `terragrunt: {enabled: true, version: "1.1.3"}`,
			&engine{Name: "OpenTofu", Version: "1.9.0"}, grunt("1.1.3", "OpenTofu", "1.9.0"),
			grunt("1.1.3", "OpenTofu", "1.9.0"),
		},
		"burrito 0.4": {
			`terraform: {version: "1.5.7", terragrunt: {enabled: true, version: "1.0.0"}}`, ``,
			new(grunt("1.0.0", "Terraform", "1.5.7")), engine{}, grunt("1.0.0", "Terraform", "1.5.7"),
		},
		"the repository enables none": {
			`terraform: {version: "1.5.7"}`, `terraform: {enabled: true}`,
			nil, engine{Name: "Terraform", Version: "1.5.7"}, engine{Name: "Terraform", Version: "1.5.7"},
		},
		"neither enables one": {`{}`, ``, nil, engine{Name: "OpenTofu"}, engine{Name: "OpenTofu"}},
	} {
		t.Run(name, func(t *testing.T) {
			const object = "apiVersion: config.terraform.padok.cloud/v1alpha1\nkind: %s\nmetadata: {name: a, " +
				"namespace: b}\nspec:\n  %s\n"
			spec := func(settings, more string) string {
				if settings == "" || settings == "{}" {
					return "{" + more + "}"
				}
				if settings[0] == '{' {
					settings = settings[1 : len(settings)-1]
				}
				return "{" + settings + ", " + more + "}"
			}
			r := convertText(t, fmt.Appendf(nil, object+"---\n"+object,
				"TerraformRepository", spec(test.repository, `repository: {url: "https://git.example.com/a"}`),
				"TerraformLayer", spec(test.layer, `path: net, branch: main, repository: {name: a, namespace: b}`)))
			if len(r.Repositories) != 1 || len(r.Stacks) != 1 {
				t.Fatalf("%+v", r.Notes)
			}
			repo, stack := r.Repositories[0], r.Stacks[0]
			if diff := cmp.Diff(test.given, repo.Spec.Engine); diff != "" {
				t.Errorf("the Repository: %s", diff)
			}
			if diff := cmp.Diff(test.own, stack.Spec.Engine); diff != "" {
				t.Errorf("the Stack: %s", diff)
			}
			if diff := cmp.Diff(test.runs, repo.EngineFor(&stack)); diff != "" {
				t.Errorf("the effective engine: %s", diff)
			}
		})
	}
}

// TestEmptyListsOfALayer checks that an empty list of a layer, as templates write it, does not override that of the
// repository, as in burrito.
func TestEmptyListsOfALayer(t *testing.T) {
	r := convertText(t, []byte(`
apiVersion: config.terraform.padok.cloud/v1alpha1
kind: TerraformRepository
metadata: {name: a}
spec:
  repository: {url: "https://git.example.com/a"}
  overrideRunnerSpec: {env: [{name: AWS_PROFILE, value: prod}], extraInitArgs: [-backend-config=key=prod]}
---
apiVersion: config.terraform.padok.cloud/v1alpha1
kind: TerraformLayer
metadata: {name: net}
spec: {path: net, branch: main, repository: {name: a}, overrideRunnerSpec: {env: [], extraInitArgs: []}}
`))
	s := r.Stacks[0].Spec
	if len(s.Env) != 1 || string(s.Backend.Config["key"].Raw) != `"prod"` ||
		strings.Contains(manifest.Text(r.Notes), "nothing is known") {
		t.Errorf("%v %v\n%s", s.Env, s.Backend.Config, manifest.Text(r.Notes))
	}
}
