package code

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestEngineFor(t *testing.T) {
	type engine = v1alpha1.Engine
	wraps := func(version string, name v1alpha1.EngineName, of string) engine {
		return engine{Name: "Terragrunt", Version: version, Wrapped: &v1alpha1.WrappedEngine{Name: name, Version: of}}
	}
	for name, test := range map[string]struct {
		own   engine
		given *engine
		want  engine
	}{
		"neither says anything": {want: engine{Name: "OpenTofu"}},
		"the Repository says all": {given: &engine{Name: "Terraform", Version: "1.5.7"},
			want: engine{Name: "Terraform", Version: "1.5.7"}},
		"the Stack says all": {own: engine{Name: "OpenTofu", Version: "1.8.0"},
			given: &engine{Name: "Terraform", Version: "1.5.7"}, want: engine{Name: "OpenTofu", Version: "1.8.0"}},
		"another version of the Repository's engine": {own: engine{Version: "1.6.6"},
			given: &engine{Name: "Terraform", Version: "1.5.7"}, want: engine{Name: "Terraform", Version: "1.6.6"}},
		"the Repository's engine by name, and its version": {own: engine{Name: "Terraform"},
			given: &engine{Name: "Terraform", Version: "1.5.7"}, want: engine{Name: "Terraform", Version: "1.5.7"}},
		"another engine does not get that version": {own: engine{Name: "OpenTofu"},
			given: &engine{Name: "Terraform", Version: "1.5.7"}, want: engine{Name: "OpenTofu"}},
		"a Repository that says only a version means OpenTofu": {own: engine{}, given: &engine{Version: "1.8.0"},
			want: engine{Name: "OpenTofu", Version: "1.8.0"}},
		"and so it says nothing for Terraform": {own: engine{Name: "Terraform"}, given: &engine{Version: "1.8.0"},
			want: engine{Name: "Terraform"}},
		"Terragrunt with what it runs": {given: &engine{Name: "Terragrunt", Version: "1.0.0",
			Wrapped: &v1alpha1.WrappedEngine{Name: "Terraform", Version: "1.5.7"}}, want: wraps("1.0.0",
			"Terraform", "1.5.7")},
		"another version of what the Repository's Terragrunt runs": {
			own:   engine{Wrapped: &v1alpha1.WrappedEngine{Version: "1.6.6"}},
			given: new(wraps("1.0.0", "Terraform", "1.5.7")), want: wraps("1.0.0", "Terraform", "1.6.6"),
		},
		"another engine beneath the Repository's Terragrunt": {
			own: wraps("", "OpenTofu", ""), given: new(wraps("1.0.0", "Terraform", "1.5.7")),
			want: wraps("1.0.0", "OpenTofu", ""),
		},
		"an engine that is not Terragrunt gets nothing to run": {own: engine{Name: "Terraform"},
			given: new(wraps("1.0.0", "Terraform", "1.5.7")), want: engine{Name: "Terraform"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &v1alpha1.Repository{Spec: v1alpha1.RepositorySpec{Engine: test.given}}
			stack := &v1alpha1.Stack{Spec: v1alpha1.StackSpec{Engine: test.own}}
			before := stack.DeepCopy()
			if diff := cmp.Diff(test.want, r.EngineFor(stack)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, stack); diff != "" {
				t.Errorf("the Stack was changed: %s", diff)
			}
		})
	}
}
