//go:build envtest

package stackset

import (
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

// newUnits is a set for the Terragrunt units of a repository: vpc <- db <- app, with a file that they include and the
// code that they run.
func newUnits(t *testing.T) *env {
	e := newEnv(t, func(s *v1alpha1.StackSetSpec) {
		s.Generators = []v1alpha1.StackSetGenerator{{Terragrunt: &v1alpha1.StackSetTerragrunt{
			Include: []string{"live/{env}/{name}"}, Exclude: []string{"live/*/legacy"},
		}}}
		s.Template = parse(t, strings.ReplaceAll(template, "timeout: 60m",
			"engine: {name: Terragrunt}\n  backend: {fromCode: true}"))
	})
	e.Reconciler.Units = closure.New(closure.Options{})
	e.commit(map[string]string{
		"root.hcl":                     "terraform {\n  source = \"${get_repo_root()}/code\"\n}\n",
		"code/main.tf":                 "output \"id\" { value = 1 }\n",
		"live/prod/vpc/terragrunt.hcl": unitOf(), "live/prod/db/terragrunt.hcl": unitOf("../vpc"),
		"live/prod/app/terragrunt.hcl": unitOf("../db", "../legacy"), "live/prod/legacy/terragrunt.hcl": unitOf(),
	})
	return e
}

// unitOf is a terragrunt.hcl.
func unitOf(dependencies ...string) string {
	text := "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n"
	for i, on := range dependencies {
		text += "dependency \"d" + string(rune('a'+i)) + "\" {\n  config_path = \"" + on + "\"\n}\n"
	}
	return text
}

func (e *env) commit(files map[string]string) {
	e.Helper()
	_, err := e.remote.Commit(gitserver.Change{Files: files})
	apiserver.Must(e.T, err)
	e.fetch()
}

// after returns the dependencies of a Stack.
func (e *env) after(name string) string {
	e.Helper()
	var names []string
	for _, on := range e.stack(name).Spec.DependsOn {
		names = append(names, on.Name)
	}
	return strings.Join(names, " ")
}

// TestStackSetOrdersTerragruntUnits checks units of a Git repository: each has a Stack whose spec.dependsOn has the
// order, a commit that changes the order changes one Stack, and nothing is written while the order is not known.
func TestStackSetOrdersTerragruntUnits(t *testing.T) {
	e := newUnits(t)
	e.expect("apply prod-app, apply prod-db, apply prod-vpc", v1alpha1.ReasonRollingOut)
	for name, want := range map[string]string{"prod-vpc": "", "prod-db": "prod-vpc", "prod-app": "prod-db"} {
		if got := e.after(name); got != want {
			t.Errorf("%s depends on %q, want %q", name, got, want)
		}
	}
	e.apply("prod-app", "prod-db", "prod-vpc")
	e.expect("", v1alpha1.ReasonComplete)

	e.commit(map[string]string{"live/prod/app/terragrunt.hcl": unitOf("../vpc")})
	e.expect("apply prod-app", v1alpha1.ReasonRollingOut)
	if got := e.after("prod-app"); got != "prod-vpc" {
		t.Errorf("prod-app depends on %q", got)
	}
	e.apply("prod-app")
	e.expect("", v1alpha1.ReasonComplete)
	e.commit(map[string]string{"code/main.tf": "output \"id\" { value = 2 }\n"}) // no order changes
	e.expect("", v1alpha1.ReasonComplete)

	for _, tt := range []struct{ unit, want string }{
		{unitOf("../app"), "the Terragrunt units live/prod/app -> live/prod/vpc -> live/prod/app depend on each other"},
		{unitOf("../none"), `the repository has no "live/prod/none"`},
		{"terraform {", "unit live/prod/vpc: live/prod/vpc/terragrunt.hcl"},
	} {
		e.commit(map[string]string{"live/prod/vpc/terragrunt.hcl": tt.unit, "live/prod/db/terragrunt.hcl": ""})
		e.expect("", v1alpha1.ReasonGeneratorsInvalid)
		if c := e.ready(); !strings.Contains(c.Message, tt.want) {
			t.Errorf("message %q, want %q", c.Message, tt.want)
		}
	}
	if s := e.stack("prod-db"); s.Spec.Suspend {
		t.Error("a Stack is suspended while the order is not known")
	}
	e.commit(map[string]string{"live/prod/vpc/terragrunt.hcl": unitOf()})
	e.expect("apply prod-db", v1alpha1.ReasonComplete) // it is gone
	if s := e.stack("prod-db"); !s.Spec.Suspend {
		t.Error("the Stack of a unit that is gone is not suspended")
	}
}
