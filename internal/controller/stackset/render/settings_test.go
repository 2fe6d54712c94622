package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/internal/controller/stackset/generate"
)

// fileMap are files by path. Each read is counted.
type fileMap struct {
	generate.Units
	files map[string]string
	reads int
	err   error
}

func (m *fileMap) ID(path string) string { return m.files[path] }

func (m *fileMap) Read(_ context.Context, path string, limit int64) ([]byte, error) {
	m.reads++
	if int64(len(m.files[path])) > limit {
		return nil, ErrTooLarge
	}
	return []byte(m.files[path]), m.err
}

const withFiles = `
spec:
  repository: {name: infra}
  generators:
  - directories: {include: ["services/{name}"], settingsFile: cairn.yaml}
  template:
    metadata: {name: "${params.name}"}
    spec:
      source: {git: {repository: {name: infra}, path: "${directory}"}}
      variables: [{name: replicas, value: 1}, {name: region, value: eu}, {name: token, valueFrom: {secret: {name: a, key: b}}}]
      variableFiles: [{path: all.tfvars}]
`

// specOf is the spec of the Stack of services/web with a settings file.
func specOf(t *testing.T, template, settings string) (string, string) {
	t.Helper()
	r, problem := New(parsed(t, template))
	if problem != nil {
		t.Fatal(problem)
	}
	files := &fileMap{files: map[string]string{"services/web/main.tf": "", "services/web/cairn.yaml": settings}}
	all, problem, err := r.Stacks(t.Context(), slices.Sorted(maps.Keys(files.files)), files)
	switch {
	case err != nil || len(all) > 1:
		t.Fatal(err, all)
	case problem != nil:
		return "", problem.Reason + ": " + problem.Message
	}
	var stack struct{ Spec json.RawMessage }
	if err := json.Unmarshal(all[0].JSON, &stack); err != nil {
		t.Fatal(err)
	}
	return string(stack.Spec), ""
}

func TestSettingsAreAddedToTheTemplate(t *testing.T) {
	const source, token = `"source":{"git":{"path":"services/web","repository":{"name":"infra"}}}`,
		`{"name":"token","valueFrom":{"secret":{"key":"b","name":"a"}}}`
	const files, variables = `"variableFiles":[{"path":"all.tfvars"}]`,
		`"variables":[{"name":"replicas","value":1},{"name":"region","value":"eu"},` + token + `]`
	for name, tt := range map[string]struct{ settings, want, wrong string }{
		"no settings": {"", `{` + source + `,` + files + `,` + variables + `}`, ""},
		"a variable is added": {"variables: [{name: size, value: 9007199254740993}]", `{` + source + `,` + files +
			`,` + strings.TrimSuffix(variables, "]") + `,{"name":"size","value":9007199254740993}]}`, ""},
		"a variable is another": {"variables: [{name: replicas, value: 3}]", `{` + source + `,` + files + `,` +
			strings.Replace(variables, `"value":1`, `"value":3`, 1) + `}`, ""},
		"a variable has one value": {"variables: [{name: token, value: x}]", `{` + source + `,` + files + `,` +
			strings.Replace(variables, token, `{"name":"token","value":"x"}`, 1) + `}`, ""},
		"a variable file is the last one": {"variableFiles: [{path: web.tfvars}]",
			`{` + source + `,"variableFiles":[{"path":"all.tfvars"},{"path":"web.tfvars"}],` + variables + `}`, ""},
		"lists that the template does not have": {"dependsOn: [{name: net}]\nsource: {git: {triggers: [a]}}",
			`{"dependsOn":[{"name":"net"}],` + strings.Replace(source, `"}}}`, `"},"triggers":["a"]}}`, 1) + `,` +
				files + `,` + variables + `}`, ""},
		"a text that is no expression": {"variables: [{name: region, value: '${params.name}'}]",
			`{` + source + `,` + files + `,` + strings.Replace(variables, `"eu"`, `"${params.name}"`, 1) + `}`, ""},
		"a field that it cannot set": {"apply: Automatic", "",
			`RenderingFailed: services/web/cairn.yaml: apply cannot be set here, and has the value "Automatic"`},
		"a value of another type": {"variableFiles: [{path: 5}]", "",
			"RenderingFailed: services/web/cairn.yaml: spec.variableFiles.path is of type number, and has to be of " +
				"type string"},
		"a name that YAML reads as a bool": {"variables: [{name: n, value: 5}]", "",
			"spec.variables.name is of type bool, and has to be of type string (quote texts such as n, no, " +
				"on and yes)"},
		"a list that is an object": {`variables: {"[]": {name: a}}`, "",
			`services/web/cairn.yaml: variables.[] cannot be set here`},
		"a variable without a name": {"variables: [{value: 1}]", "",
			"RenderingFailed: services/web/cairn.yaml: spec.variables[0] has no name"},
		"a dependency without a name": {"dependsOn: [{name: net}, {name: ''}]", "",
			"RenderingFailed: services/web/cairn.yaml: spec.dependsOn[1] has no name"},
		"a variable twice": {"variables: [{name: a, value: 1}, {name: a, value: 2}]", "",
			`services/web/cairn.yaml: spec.variables[0] and [1] are both "a"`},
		"a file that is too large": {strings.Repeat("# comment\n", 2000), "",
			"RenderingFailed: services/web/cairn.yaml: it has more than 16384 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, wrong := specOf(t, withFiles, tt.settings)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if !strings.HasPrefix(wrong, tt.wrong) && !strings.Contains(wrong, tt.wrong) ||
				(wrong == "") != (tt.wrong == "") {
				t.Errorf("the error %q, want %q", wrong, tt.wrong)
			}
		})
	}
	if _, wrong := specOf(t, strings.Replace(withFiles, ", settingsFile: cairn.yaml", "", 1),
		"apply: Automatic"); wrong != "" {
		t.Errorf("a file that the StackSet does not read: %s", wrong)
	}
}

// A settings file removes nothing of an entry that it cannot set, but the source of a value that it sets.
func TestEntriesKeepWhatASettingsFileCannotSet(t *testing.T) {
	object := func(text string) map[string]any {
		t.Helper()
		o, err := Object([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	spec := object(`{"dependsOn": [{"name": "net", "future": "a"}], "variables": [{"name": "a", "valueFrom": {}, "future": "b"}, {"name": "b", "valueFrom": {}}]}`)
	add("spec", spec, object(`{"dependsOn": [{"name": "net"}, {"name": "dns"}], "variables": [{"name": "a", "value": 1}, {"name": "b"}]}`))
	want := object(`{"dependsOn": [{"name": "net", "future": "a"}, {"name": "dns"}],
		"variables": [{"name": "a", "value": 1, "future": "b"}, {"name": "b", "valueFrom": {}}]}`)
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Error(diff)
	}
	spec = object(`{"variables": ["of a wrong type"]}`)
	if add("spec", spec, object(`{"variables": [{"value": 1}]}`)); len(spec["variables"].([]any)) != 2 {
		t.Errorf("%v", spec)
	}
}

// TestChangeOfASettingsFileChangesItsStack checks that a file is read once for each content, and that a change of it
// changes one Stack. A file that cannot be read is no fault of the file.
func TestChangeOfASettingsFileChangesItsStack(t *testing.T) {
	r, problem := New(parsed(t, withFiles))
	if problem != nil {
		t.Fatal(problem)
	}
	contents := &fileMap{files: map[string]string{"README.md": "", "other/cairn.yaml": "apply: Automatic",
		"services/docs/cairn.yaml": "apply: Automatic"}}
	for i := range 20 {
		contents.files[fmt.Sprintf("services/s%d/main.tf", i)] = ""
		contents.files[fmt.Sprintf("services/s%d/cairn.yaml", i)] = "variables: [{name: replicas, value: 2}]"
	}
	digests := func() map[string]string {
		t.Helper()
		all, problem, err := r.Stacks(t.Context(), slices.Sorted(maps.Keys(contents.files)), contents)
		if problem != nil || err != nil {
			t.Fatal(problem, err)
		}
		found := map[string]string{}
		for _, one := range all {
			found[one.Name] = one.Digest
		}
		return found
	}
	before := digests()
	if len(before) != 20 || contents.reads != 20 {
		t.Fatalf("%d Stacks, %d reads", len(before), contents.reads)
	}
	contents.files["services/s7/cairn.yaml"] = "variables: [{name: replicas, value: 3}]"
	after := digests()
	if contents.reads != 21 || r.Rendered != 21 {
		t.Errorf("%d reads, %d rendered", contents.reads, r.Rendered)
	}
	if before["s7"] == after["s7"] {
		t.Error("the Stack did not change")
	}
	if after["s7"] = before["s7"]; !maps.Equal(before, after) {
		t.Error("another Stack changed")
	}
	contents.files["services/s7/cairn.yaml"], contents.err = "variables: []", errors.New("git was killed")
	if _, problem, err := r.Stacks(t.Context(), slices.Sorted(maps.Keys(contents.files)), contents); problem != nil ||
		!errors.Is(err, contents.err) {
		t.Errorf("%v, %v", problem, err)
	}
}

// Users who push write the files, which are in memory.
func TestStacksWithSettingsHaveASizeInAll(t *testing.T) {
	r, problem := New(parsed(t, withFiles, "generators:", "maxStacks: 20000\n  generators:"))
	if problem != nil {
		t.Fatal(problem)
	}
	r.last = map[string]decision.Rendered{}
	contents := &fileMap{files: map[string]string{}}
	for i := range mostSettings>>20 + 1 { // as if each had a MiB
		dir := fmt.Sprintf("services/s%d", i)
		contents.files[dir+"/main.tf"], contents.files[dir+"/cairn.yaml"] = "", "#"
		r.last[fmt.Sprintf("%s\x00{\"name\":\"s%d\"}\x00#", dir, i)] = decision.Rendered{JSON: make([]byte, 1<<20)}
	}
	_, problem, err := r.Stacks(t.Context(), slices.Sorted(maps.Keys(contents.files)), contents)
	if err != nil || problem == nil || !strings.Contains(problem.Message, "have more than 67108864 bytes in all") {
		t.Error(problem, err)
	}
}

// FuzzSettings checks that a settings file, whatever is in it, changes nothing but what it can set.
func FuzzSettings(f *testing.F) {
	for _, text := range []string{
		"variables: [{name: a, value: {b: 1}}]", "dependsOn: [{name: a}]\nsource: {git: {triggers: [a]}}",
		"variableFiles: [{path: a.tfvars}]",
		"apply: Automatic", `{"variables": [{"name": "a", "valueFrom": {}}]}`, "a: &a [*a]", "---\n---\n",
		"source.git.path: x", "source: {git: {path: x}}",
	} {
		f.Add([]byte(text))
	}
	const rendered = `{"metadata":{"name":"a"},"spec":{"source":{"git":{"path":"a","repository":{"name":"infra"}}},"variables":[{"name":"a","value":1}]}}`
	without := func(data []byte) *v1alpha1.Stack {
		s, err := decode(context.Background(), data)
		if err != nil {
			return nil
		}
		s.Spec.Variables, s.Spec.VariableFiles, s.Spec.DependsOn, s.Spec.Source.Git.Triggers = nil, nil, nil, nil
		return s
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		data, err := withSettings(t.Context(), []byte(rendered), "cairn.yaml",
			&fileMap{files: map[string]string{"cairn.yaml": string(text)}})
		if err != nil {
			return
		}
		if diff := cmp.Diff(without([]byte(rendered)), without(data)); diff != "" {
			t.Error(diff)
		}
		s, err := decode(t.Context(), data)
		if err != nil { // a value that the schema rejects
			return
		}
		for _, v := range s.Spec.Variables {
			if v.ValueFrom != nil {
				t.Errorf("%+v", v)
			}
		}
		for _, v := range s.Spec.VariableFiles {
			if v.Secret != nil || v.ConfigMap != nil {
				t.Errorf("%+v", v)
			}
		}
	})
}
