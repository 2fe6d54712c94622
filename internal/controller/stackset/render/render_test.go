package render

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
)

const set = `
spec:
  repository: {name: infra}
  generators:
  - matrix:
    - directories: {include: ["services/{name}"]}
    - list: [{env: dev, replicas: 1}, {env: prod, replicas: 3}]
  template:
    metadata: {name: "${params.name}-${params.env}", labels: {env: "${params.env}"}}
    spec:
      source: {git: {repository: {name: infra}, path: "${directory}"}}
      variables: [{name: replicas, value: "${params.replicas}"}]
`

func parsed(t testing.TB, text string, changes ...string) *v1alpha1.StackSet {
	t.Helper()
	s := &v1alpha1.StackSet{}
	if err := yaml.Unmarshal([]byte(strings.NewReplacer(changes...).Replace(text)), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStacks(t *testing.T) {
	files := []string{"services/web/main.tf", "services/api/main.tf", "services/docs/README.md"}
	for name, tt := range map[string]struct {
		changes       []string
		want          string
		reason, wrong string
	}{
		"each directory in each environment": {nil, "api-dev api-prod web-dev web-prod", "", ""},
		"an integer stays one": {[]string{"${params.replicas}", "${params.replicas + 1}"},
			"api-dev api-prod web-dev web-prod", "", ""},
		"an unknown field": {[]string{"variables:", "variabels:"}, "", "RenderingFailed",
			`spec.template.spec: unknown field "spec.variabels", with the value [{"name":"replicas","value":1}] (directory services/api) with params env=dev, name=api`},
		"an unknown field of an entry": {[]string{"{name: replicas,", "{name: replicas, sensitive: yes,"}, "",
			"RenderingFailed",
			`unknown field "spec.variables[0].sensitive", with the value true (directory services/api)`},
		"a long value of an unknown field": {[]string{"variables:", "note: " + strings.Repeat("x", 200) +
			"\n      variables:"}, "", "RenderingFailed",
			`unknown field "spec.note", with the value "` + strings.Repeat("x", 98) + "… (directory services/api)"},
		"a directory in an unknown field": {[]string{"source:", "sorce:"}, "", "RenderingFailed",
			"directory is not permitted in this field"},
		"a value of another type": {[]string{"variables: [{name: replicas, value: \"${params.replicas}\"}]",
			"suspend: \"${params.env}\""}, "", "RenderingFailed",
			`of type bool, with the value "dev" (directory services/api)`},
		"a name that is none": {[]string{"${params.name}-${params.env}", "${params.name}_${params.env}"}, "",
			"RenderingFailed", `template.metadata.name: "api_dev": a name has lowercase letters`},
		"all that have an error": {[]string{"${params.name}-${params.env}", "${params.name}_${params.env}"}, "",
			"RenderingFailed",
			`with params env=dev, name=api, replicas=1; 3 more of its Stacks have an error: services/api, services/web`},
		"a value that is none": {[]string{"variables:", "apply: \"${params.env == 'prod' ? 'Perhaps' : 'Manual'}\"\n " +
			"     variables:"}, "", "RenderingFailed",
			`spec.template.spec.apply: "Perhaps": supported values: "Manual", "Automatic", "Never" (directory services/api) with params env=prod`},
		"a value that a rule rejects": {[]string{"path: \"${directory}\"", "path: \"../${directory}\""}, "",
			"RenderingFailed",
			`spec.template.spec.source.git.path: "../services/api": must be a path relative to the root of the repository`},
		"a field that is required": {[]string{"source: {git: {repository: {name: infra}, path: \"${directory}\"}}",
			"timeout: 1h"}, "", "RenderingFailed",
			`spec.template.spec.source: required (directory services/api)`},
		"a variable without a name": {[]string{"[{name: replicas,", "[{"}, "", "RenderingFailed",
			`spec.template.spec: spec.variables[0] has no name (directory services/api)`},
		"a variable twice": {[]string{"[{name: replicas,", "[{name: a, value: 1}, {name: replicas}, {name: replicas,"},
			"", "RenderingFailed",
			`spec.variables[1] and [2] are both "replicas"`},
		"a value of a set twice": {[]string{"variables:", "windows: [{kind: Deny, schedule: '0 0 * * *', duration: " +
			"1h, operations: [Apply, Apply]}]\n      variables:"}, "",
			"RenderingFailed", `spec.windows.operations[0] and [1] are both "Apply"`},
		"a label that is none": {[]string{"{env: \"${params.env}\"}", "{env: \"${params.env} x\"}"}, "",
			"RenderingFailed", "template.metadata.labels"},
		"a label of Cairn": {[]string{"labels: {env: ", "labels: {cairn.dev/x: "}, "", "RenderingFailed",
			"template.metadata.labels.cairn.dev/x: a StackSet cannot set it"},
		"an annotation of kubectl": {[]string{"labels: {env: ",
			"annotations: {kubectl.kubernetes.io/last-applied-configuration: "}, "",
			"RenderingFailed", "a StackSet cannot set it"},
		"an expression that fails": {[]string{"params.replicas", "params.gone"}, "", "RenderingFailed",
			"no such key: gone (directory services/api)"},
		"a pattern that is none": {[]string{"services/{name}", "services/{name"}, "", "GeneratorsInvalid",
			"spec.generators[0]: matrix[0]: directories.include[0]"},
		"too many": {[]string{"spec:\n  rep", "spec:\n  maxStacks: 3\n  rep"}, "", "GeneratorsInvalid",
			"spec.maxStacks (3)"},
	} {
		t.Run(name, func(t *testing.T) {
			r, problem := New(parsed(t, set, tt.changes...))
			var names []string
			if problem == nil {
				all, p, err := r.Stacks(t.Context(), files, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, one := range all {
					names = append(names, one.Name)
				}
				problem = p
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			switch {
			case problem == nil && tt.reason != "", problem != nil && problem.Reason != tt.reason:
				t.Errorf("problem %+v, want %s", problem, tt.reason)
			case problem != nil && !strings.Contains(problem.Message, tt.wrong):
				t.Errorf("message %q, want %q in it", problem.Message, tt.wrong)
			}
		})
	}
}

func TestStacksAreRenderedOnce(t *testing.T) {
	var files []string
	r, problem := New(parsed(t, set))
	if problem != nil {
		t.Fatal(problem)
	}
	for _, tt := range []struct {
		add  string
		want int
	}{{"services/web/main.tf", 2}, {"README.md", 2}, {"services/api/main.tf", 4}} {
		files = append(files, tt.add)
		if _, problem, err := r.Stacks(t.Context(), files, nil); problem != nil || err != nil || r.Rendered != tt.want {
			t.Errorf("%s: %d were rendered, want %d: %v, %v", tt.add, r.Rendered, tt.want, problem, err)
		}
	}
}

func TestManyStacksWithErrorsAreCounted(t *testing.T) {
	var files []string
	for i := range 100 {
		files = append(files, fmt.Sprintf("services/A%02d/main.tf", i))
	}
	r, problem := New(parsed(t, set))
	if problem != nil {
		t.Fatal(problem)
	}
	_, problem, err := r.Stacks(t.Context(), append(files, "services/web/main.tf"), nil)
	want := "; 199 more of its Stacks have an error: services/A00, services/A01, services/A02, services/A03, " +
		"services/A04, and 95 more"
	if err != nil || problem == nil || !strings.HasSuffix(problem.Message, want) {
		t.Errorf("%v, %+v, want %q", err, problem, want)
	}
	if _, problem, _ := r.Stacks(t.Context(), []string{"services/web/main.tf"}, nil); problem != nil ||
		r.Rendered != 2 {
		t.Errorf("%+v, and %d were rendered: what has no error is rendered once", problem, r.Rendered)
	}
}

func TestDifferences(t *testing.T) {
	const rendered = `{"metadata": {"name": "a", "labels": {"env": "dev"}}, "spec": {
		"source": {"git": {"repository": {"name": "infra"}, "path": "a"}}, "suspend": false, "apply": "Manual", "timeout": "60m",
		"variables": [{"name": "n", "value": 3}, {"name": "o", "value": {"a": [1, 2]}}], "requireApprovalFor": ["Delete"],
		"hooks": [{"step": "plan", "when": "Before", "script": "true"}], "runner": {"resources": {"limits": {"cpu": "0.5"}}}}}`
	as := func(changes ...string) *v1alpha1.Stack {
		s := &v1alpha1.Stack{}
		if err := yaml.UnmarshalStrict([]byte(strings.NewReplacer(changes...).Replace(rendered)), s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, tt := range map[string]struct {
		stack  *v1alpha1.Stack
		ignore []string
		want   string
	}{
		"the same":                        {as(), nil, ""},
		"another way to write the values": {as(`"60m"`, `"1h"`), nil, ""},
		"fields besides": {as(`"suspend": false`, `"workspace": "x"`, `["Delete"]`, `["Replace", "Delete"]`, `"dev"`,
			`"dev", "own": "x"`,
			`"script": "true"`, `"script": "true", "onFailure": "Fail"`, `[{"name": "n"`,
			`[{"name": "m", "value": 1}, {"name": "n"`), nil, ""},
		"another order": {as(`{"name": "n", "value": 3}, {"name": "o", "value": {"a": [1, 2]}}`,
			`{"name": "o", "value": {"a": [1, 2]}}, {"name": "n", "value": 3}`), nil, ""},
		"another value":                  {as(`"Manual"`, `"Never"`), nil, "spec.apply"},
		"one that may be another":        {as(`"Manual"`, `"Never"`), []string{"spec.apply"}, ""},
		"a value where there is none":    {as(`"suspend": false`, `"suspend": true`), nil, "spec.suspend"},
		"another entry of a list":        {as(`"value": 3`, `"value": 4`), nil, "spec.variables.value"},
		"an entry that is gone":          {as(`{"name": "n", "value": 3}, `, ``), nil, "spec.variables"},
		"an entry of a set that is gone": {as(`["Delete"]`, `["Replace"]`), nil, "spec.requireApprovalFor"},
		"a list that is one value": {
			as(`"hooks": [`, `"hooks": [{"step": "plan", "when": "After", "script": "x"}, `), nil, "spec.hooks"},
		"a label": {as(`"dev"`, `"prod"`), nil, "metadata.labels.env"},
		"an object that is gone": {as(`"runner": {"resources": {"limits": {"cpu": "0.5"}}}`, `"runner": {}`),
			nil, "spec.runner.resources.limits.cpu"},
		"a list in a value with one entry": {as(`[1, 2]`, `[1]`), nil, "spec.variables.value.a"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Differences([]byte(rendered), tt.stack, tt.ignore)
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// TestListKeys checks that the lists whose entries are merged are those of the CRD.
func TestListKeys(t *testing.T) {
	data, err := os.ReadFile("../../../../charts/cairn/files/crds/cairn.dev_stacks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	var walk func(string, apiextensionsv1.JSONSchemaProps)
	walk = func(path string, of apiextensionsv1.JSONSchemaProps) {
		if kind := of.XListType; kind != nil && *kind != "atomic" {
			if len(of.XListMapKeys) > 1 {
				t.Errorf("%s has %d keys", path, len(of.XListMapKeys))
			}
			found[path] = strings.Join(of.XListMapKeys, ",")
		}
		for name, next := range of.Properties {
			walk(path+"."+name, next)
		}
		if of.Items != nil && of.Items.Schema != nil {
			walk(path, *of.Items.Schema)
		}
	}
	walk("spec", crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"])
	if fmt.Sprint(found) != fmt.Sprint(listKeys) {
		t.Errorf("the CRD has %v, and listKeys %v", found, listKeys)
	}
}
