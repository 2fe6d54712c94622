package code

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/source/closure"
)

func TestTheLanguageOfAStackIsThatOfItsEngine(t *testing.T) {
	for name, tt := range map[string]struct {
		engine v1alpha1.Engine
		want   closure.Language
	}{
		"the default": {want: closure.LanguageOfOpenTofu},
		"Terraform":   {engine: v1alpha1.Engine{Name: "Terraform"}, want: closure.LanguageOfTerraform},
		"Terragrunt":  {engine: v1alpha1.Engine{Name: "Terragrunt"}, want: closure.AnyLanguage},
		"Terragrunt that runs Terraform": {
			engine: v1alpha1.Engine{Name: "Terragrunt", Wrapped: &v1alpha1.WrappedEngine{Name: "Terraform"}},
			want:   closure.LanguageOfTerraform,
		},
		"Terragrunt that runs an engine of a version": {
			engine: v1alpha1.Engine{Name: "Terragrunt", Wrapped: &v1alpha1.WrappedEngine{Version: "1.9.0"}},
			want:   closure.AnyLanguage,
		},
	} {
		t.Run(name, func(t *testing.T) {
			stack := &v1alpha1.Stack{Spec: v1alpha1.StackSpec{Engine: tt.engine,
				Source: v1alpha1.Source{Git: &v1alpha1.GitSource{}}}}
			if got := wanted(&v1alpha1.Repository{}, stack).Language; got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
