package snapshot

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/source/closure"
)

func TestChooseEngine(t *testing.T) {
	pinned := func(constraint string) closure.Version {
		return closure.Version{Pin: closure.Pin{Constraint: constraint}, File: "f"}
	}
	broken := closure.Version{
		Pin:  closure.Pin{Problem: "version file: it is empty: write a version into it, such as 1.9.2"},
		File: "live/.opentofu-version"}
	terragrunt := func(version string, wrapped *v1alpha1.WrappedEngine) v1alpha1.Engine {
		return v1alpha1.Engine{Name: "Terragrunt", Version: version, Wrapped: wrapped}
	}
	both := closure.Engine{
		OpenTofu: closure.Version{Required: []string{"~> 1.9", "< 2"}}, Terraform: pinned("= 1.5.7"),
		Terragrunt: pinned("~> 1.0"),
	}
	tofu, terraform := v1alpha1.EngineOpenTofu, v1alpha1.EngineTerraform
	for name, test := range map[string]struct {
		stackEngine v1alpha1.Engine
		code        closure.Engine
		want        v1alpha1.Engine
		wrapped     []v1alpha1.WrappedEngine
		problem     string
	}{
		"no version and no engine": {want: v1alpha1.Engine{Name: "OpenTofu"}},
		"the code's version, without one of the Stack": {
			stackEngine: v1alpha1.Engine{Name: "Terraform"}, code: both,
			want: v1alpha1.Engine{Name: "Terraform", Version: "= 1.5.7"},
		},
		"all that the code requires": {code: both, want: v1alpha1.Engine{Name: "OpenTofu", Version: "~> 1.9, < 2"}},
		"the Stack's version before the code's": {
			stackEngine: v1alpha1.Engine{Name: "Terraform", Version: "1.6.0"}, code: both,
			want: v1alpha1.Engine{Name: "Terraform", Version: "1.6.0"},
		},
		"a version file that cannot be read": {code: closure.Engine{OpenTofu: broken},
			problem: "live/.opentofu-version: version file: it is empty: write a version into it, such as 1.9.2"},
		"a version file that cannot be read, of another engine": {
			stackEngine: v1alpha1.Engine{Name: "Terraform"}, code: closure.Engine{OpenTofu: broken},
			want: v1alpha1.Engine{Name: "Terraform"},
		},
		"a version file that cannot be read, with a version of the Stack": {
			stackEngine: v1alpha1.Engine{Version: "1.9.0"}, code: closure.Engine{OpenTofu: broken},
			want: v1alpha1.Engine{Name: "OpenTofu", Version: "1.9.0"},
		},

		"Terragrunt":                {stackEngine: terragrunt("", nil), want: terragrunt("", nil)},
		"Terragrunt with a version": {stackEngine: terragrunt("1.1.3", nil), want: terragrunt("1.1.3", nil)},
		"Terragrunt with the engine that the code requires": {
			stackEngine: terragrunt("", nil), code: both, want: terragrunt("~> 1.0", nil),
			wrapped: []v1alpha1.WrappedEngine{{Name: tofu, Version: "~> 1.9, < 2"},
				{Name: terraform, Version: "= 1.5.7"}},
		},
		"Terragrunt with an engine of the Stack, in the code's version": {
			stackEngine: terragrunt("1.1.3", &v1alpha1.WrappedEngine{Name: terraform}), code: both,
			want:    terragrunt("1.1.3", nil),
			wrapped: []v1alpha1.WrappedEngine{{Name: terraform, Version: "= 1.5.7"}},
		},
		"Terragrunt with an engine and a version of the Stack": {
			stackEngine: terragrunt("", &v1alpha1.WrappedEngine{Name: tofu, Version: "1.8.0"}), code: both,
			want:    terragrunt("~> 1.0", nil),
			wrapped: []v1alpha1.WrappedEngine{{Name: tofu, Version: "1.8.0"}},
		},
		"Terragrunt with an engine of the Stack, in any version": {
			stackEngine: terragrunt("", &v1alpha1.WrappedEngine{Name: terraform}), want: terragrunt("", nil),
			wrapped: []v1alpha1.WrappedEngine{{Name: terraform}},
		},
		"Terragrunt with a version of the Stack for any engine": {
			stackEngine: terragrunt("", &v1alpha1.WrappedEngine{Version: "~> 1.5"}), want: terragrunt("", nil),
			wrapped: []v1alpha1.WrappedEngine{{Name: tofu, Version: "~> 1.5"}, {Name: terraform, Version: "~> 1.5"}},
		},
		"Terragrunt, and the version file of OpenTofu cannot be read": {
			stackEngine: terragrunt("", nil), code: closure.Engine{OpenTofu: broken},
			problem: "live/.opentofu-version: version file: it is empty: write a version into it, such as 1.9.2",
		},
		"Terragrunt, and the version file of Terraform, which is not the first choice, cannot be read": {
			stackEngine: terragrunt("", nil), code: closure.Engine{OpenTofu: pinned("= 1.9.0"), Terraform: broken},
			want:    terragrunt("", nil),
			wrapped: []v1alpha1.WrappedEngine{{Name: tofu, Version: "= 1.9.0"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, wrapped, problem := chooseEngine(test.stackEngine, test.code)
			message := ""
			if problem != nil {
				message, got, wrapped = problem.Message, v1alpha1.Engine{}, nil
				if problem.Reason != "EngineVersionInvalid" {
					t.Errorf("the reason is %s", problem.Reason)
				}
			}
			if message != test.problem {
				t.Errorf("the problem is %q, not %q", message, test.problem)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.wrapped, wrapped); diff != "" {
				t.Error(diff)
			}
		})
	}
}
