package render

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/controller/stackset/generate"
)

const live = `
spec:
  repository: {name: infra}
  generators:
  - terragrunt: {include: ["live/{env}/{name}"], exclude: ["live/*/none"]}
  template:
    metadata: {name: "${params.env}-${params.name}"}
    spec:
      source: {git: {repository: {name: infra}, path: "${directory}"}}
      engine: {name: Terragrunt}
`

// units are what each unit depends on, by directory.
type units map[string][]string

func (u units) contents() Contents { return readUnits{units: u} }

type readUnits struct {
	Contents
	units
}

func (r readUnits) Unit(_ context.Context, dir string) (generate.Unit, error) {
	return generate.Unit{Runs: true, DependsOn: r.units[dir]}, nil
}

func TestStacksOfUnits(t *testing.T) {
	files := []string{"live/prod/app/terragrunt.hcl", "live/prod/db/terragrunt.hcl", "live/prod/vpc/terragrunt.hcl",
		"live/prod/none/terragrunt.hcl"}
	r, problem := New(parsed(t, live))
	if problem != nil {
		t.Fatal(problem)
	}
	var digest string
	for _, step := range []struct {
		name    string
		changes []string
		on      units
		want    string
	}{
		{"no dependency", nil, nil, `null`},
		{"dependencies", nil, units{"live/prod/app": {"live/prod/db", "live/prod/vpc"}},
			`[{"name":"prod-db"},{"name":"prod-vpc"}]`},
		{"they are not kept", nil, units{"live/prod/app": {"live/prod/vpc"}}, `[{"name":"prod-vpc"}]`},
		{"on a unit without a Stack", nil, units{"live/prod/app": {"live/prod/none", "live/prod/db"}},
			`[{"name":"prod-db"}]`},
		{"with those of the template",
			[]string{"engine:", "dependsOn: [{name: base}, {name: prod-vpc}]\n      engine:"},
			units{"live/prod/app": {"live/prod/db", "live/prod/vpc"}},
			`[{"name":"base"},{"name":"prod-vpc"},{"name":"prod-db"}]`},
	} {
		if step.changes != nil {
			if r, problem = New(parsed(t, live, step.changes...)); problem != nil {
				t.Fatal(problem)
			}
		}
		all, problem, err := r.Stacks(t.Context(), files, step.on.contents())
		if problem != nil || err != nil || len(all) != 3 {
			t.Fatal(step.name, all, problem, err)
		}
		object, err := Object(all[0].JSON)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Object([]byte(`{"x":` + step.want + `}`))
		if diff := cmp.Diff(want["x"], object["spec"].(map[string]any)["dependsOn"]); err != nil || diff != "" {
			t.Error(step.name, err, diff)
		}
		if all[0].Digest == digest {
			t.Error(step.name, "has the digest of the step before")
		}
		if digest = all[0].Digest; (step.name == "on a unit without a Stack") != (len(all[0].Elsewhere) == 1) {
			t.Error(step.name, all[0].Elsewhere)
		}
	}
}

func TestWrongUnits(t *testing.T) {
	files := []string{"live/prod/app/terragrunt.hcl", "live/prod/db/terragrunt.hcl"}
	r, problem := New(parsed(t, live))
	if problem != nil {
		t.Fatal(problem)
	}
	all, problem, err := r.Stacks(t.Context(), files,
		units{"live/prod/app": {"live/prod/db"}, "live/prod/db": {"live/prod/app"}}.contents())
	if all != nil || err != nil || problem == nil || problem.Reason != "GeneratorsInvalid" {
		t.Error(all, problem, err)
	}
	if all, problem, err = r.Stacks(t.Context(), files, units(nil).contents()); len(all) != 2 || problem != nil ||
		err != nil {
		t.Error(all, problem, err)
	}
	if _, problem = New(parsed(t, live, "name: infra}, path", `name: infra}, ref: "${params.env}", path`)); problem ==
		nil || problem.Reason != "RenderingFailed" {
		t.Errorf("a capture is permitted in a guarded field: %+v", problem)
	}
}
