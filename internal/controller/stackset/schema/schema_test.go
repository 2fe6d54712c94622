package schema

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func object(tb testing.TB, text string, changes ...string) map[string]any {
	tb.Helper()
	o := map[string]any{}
	if err := yaml.Unmarshal([]byte(strings.NewReplacer(changes...).Replace(text)), &o); err != nil {
		tb.Fatal(err)
	}
	return o
}

const stack = `
metadata: {name: prod-net, labels: {team: web}}
spec:
  source: {git: {repository: {name: infra}, path: envs/prod/net}}
  apply: Manual
  variables: [{name: replicas, value: 3}]
`

const stackSet = `
apiVersion: cairn.dev/v1alpha1
kind: StackSet
metadata: {name: platform}
spec:
  repository: {name: infra}
  generators:
  - directories: {include: ["envs/{env}/{name}"]}
  template:
    metadata: {name: "${params.env}-${params.name}"}
    spec: {source: {git: {repository: {name: infra}, path: "${directory}"}}}
  prune: Keep
`

// TestFaultsOfTheSchema checks the kinds of values that the API server rejects. The tests of the chart check the same
// schema with the API server.
func TestFaultsOfTheSchema(t *testing.T) {
	for name, tt := range map[string]struct {
		of      string
		changes []string
		want    string // field and text of the first fault; empty for none
	}{
		"a Stack": {of: stack},
		"a null":  {of: stack, changes: []string{"apply: Manual", "apply: null"}},
		"an enum": {stack, []string{"Manual", "Perhaps"},
			`spec.apply: "Perhaps": supported values: "Manual", "Automatic", "Never"`},
		"a rule": {stack, []string{"envs/prod/net", "../x"}, `spec.source.git.path: "../x": `},
		"a rule of an object": {stack, []string{"{git: {repository: {name: infra}, path: envs/prod/net}}", "{}"},
			`spec.source: {}: exactly one of the fields`},
		"a rule of a default": {stack, []string{"value: 3", "valueFrom: {}"},
			`spec.variables[0].valueFrom: {}: `},
		"a pattern": {stack, []string{"apply: Manual", "dependsOn: [{name: a/b}]"},
			`spec.dependsOn[0].name: "a/b": `},
		"a field that is required": {stack, []string{"apply: Manual", "windows: [{kind: Deny}]"},
			`spec.windows[0].duration: required`},
		"an entry twice": {stack, []string{"apply: Manual", "dependsOn: [{name: a}, {name: a}]"},
			`spec.dependsOn[1]: {"name":"a"}: duplicate value`},
		"a type":                 {stack, []string{"apply: Manual", "suspend: maybe"}, `spec.suspend: "maybe": `},
		"the name of a Stack":    {stack, []string{"prod-net,", "Prod,"}, `metadata.name: "Prod": `},
		"the length of its name": {stack, []string{"prod-net,", strings.Repeat("n", 201) + ","}, "metadata: {"},
		"a StackSet":             {of: stackSet},
		"its enum": {stackSet, []string{"Keep", "Remove"},
			`spec.prune: "Remove": supported values: "Keep", "Delete"`},
		"its rule": {stackSet, []string{"repository: {name: infra}\n  gen", "gen"}, `spec: {`},
		"its generators": {stackSet,
			[]string{"directories: {include", "terragrunt: {exclude: [a], include"}, ""},
		"its generators, two in one": {stackSet, []string{"- directories:", "- list: [{a: 1}]\n    directories:"},
			`spec.generators[0]: {`},
		"its name": {stackSet, []string{"{name: platform}", "{}"}, "metadata.name: required"},
		"a percentage that is none": {stackSet, []string{"prune: Keep", "maxDeletions: 200%"},
			`spec.maxDeletions: "200%": a number of at least 0`},
		"a number below its minimum": {stackSet, []string{"prune: Keep", "rollout: {maxConcurrent: 0}"},
			`spec.rollout.maxConcurrent: 0: `},
		"a label of Cairn": {stackSet,
			[]string{"{name: \"${params.env}", "{labels: {cairn.dev/x: a}, name: \"${params.env}"},
			`spec.template.metadata.labels: {"cairn.dev/x":"a"}: a StackSet cannot set labels`},
	} {
		check := Stack
		if tt.of == stackSet {
			check = StackSet
		}
		faults, err := check(t.Context(), object(t, tt.of, tt.changes...))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(faults) > 0 {
			got = faults[0].Field + ": " + faults[0].Text()
		}
		if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestStackStaysTheSame checks that the defaults of the schema are not added to the object that is checked.
func TestStackStaysTheSame(t *testing.T) {
	o := object(t, stack)
	if _, err := Stack(t.Context(), o); err != nil || len(o) != 2 || len(o["spec"].(map[string]any)) != 3 {
		t.Errorf("%v: %v", o, err)
	}
}

func BenchmarkStack(b *testing.B) {
	o := object(b, stack)
	if _, err := Stack(b.Context(), o); err != nil { // loads the schema
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if faults, err := Stack(b.Context(), o); err != nil || len(faults) > 0 {
			b.Fatal(faults, err)
		}
	}
}
