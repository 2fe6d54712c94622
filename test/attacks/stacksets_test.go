package attacks

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/internal/controller/stackset/generate"
	"cairn.dev/cairn/internal/controller/stackset/render"
	"cairn.dev/cairn/internal/lifecycle/variableset"
	"cairn.dev/cairn/internal/source/git"
)

// hostileSet has a rule, a ServiceAccount and a hook, and takes what it can from names of directories.
const hostileSet = `
spec:
  repository: {name: infra}
  generators:
  - directories: {include: ["envs/{env}/{name}"]}
  template:
    metadata:
      name: "${params.env}"
      annotations: {of: "${params.name}"}
    spec:
      source: {git: {repository: {name: infra}, path: "${directory}"}}
      variables: [{name: of, value: "${params.name}"}]
      apply: Manual
      deletionPolicy: Protect
      runner: {serviceAccountName: limited}
      hooks: [{step: plan, when: After, script: ./check}]
`

// TestDirectoryNamesChooseNoOtherNamespace checks that a user who pushes to the repository places Stacks in
// spec.namespaces alone: any other name stops the StackSet.
func TestDirectoryNamesChooseNoOtherNamespace(t *testing.T) {
	for name, want := range map[string]string{
		"shop": "shop", "platform": "", "kube-system": "none", "cairn-system": "none", "shop,kube-system": "none",
		"..": "none", "shop\n": "none",
		"${'kube-system'}": "none", "Shop": "none", "*": "none", "default": "none", "null": "none", "shop/x": "none",
		" ": "none",
	} {
		set := &v1alpha1.StackSet{}
		if err := yaml.UnmarshalStrict([]byte(hostileSet), set); err != nil {
			t.Fatal(err)
		}
		set.Namespace, set.Spec.Namespaces = "platform", []string{"shop", "crm"}
		set.Spec.Template.Metadata.Name, set.Spec.Template.Metadata.Namespace = "x", "${params.name}"
		r, problem := render.New(set)
		if problem != nil {
			t.Fatal(problem.Message)
		}
		all, problem, err := r.Stacks(t.Context(), []string{"envs/dev/" + name + "/main.tf"}, nil)
		switch {
		case err != nil:
			t.Fatal(err)
		case want == "none" && problem == nil && len(all) > 0:
			t.Errorf("directory %q has a Stack in namespace %q", name, all[0].Namespace)
		case want != "none" && (problem != nil || all[0].Namespace != want):
			t.Errorf("directory %q: %+v, %+v", name, problem, all)
		}
	}
}

// TestDirectoryNamesSetNoOtherField checks names of directories, from a real repository, that contain expressions,
// JSON, YAML and control characters: the Stacks of a StackSet have them as text where the template reads them, and
// nowhere else.
func TestDirectoryNamesSetNoOtherField(t *testing.T) {
	set := &v1alpha1.StackSet{}
	if err := yaml.UnmarshalStrict([]byte(hostileSet), set); err != nil {
		t.Fatal(err)
	}
	names := []string{
		"${params.env}", "$${params.env}", "${'x'}", "${", "}", "{name}", "**", "%s%d", "-rf", "$(id)", "`id`", "'",
		`","runner":{"serviceAccountName":"admin"},"x":"`, "\"}]\nrunner: {serviceAccountName: admin}\n", `\u0022`,
		"a\nhooks: []", "\t", "\x01", "x\u2028y", "\u202egnp", "...", "~", "null", "true", "0", "apply",
		"spec.runner.serviceAccountName", strings.Repeat("n", 200),
	}
	dir := t.TempDir()
	for i, name := range names {
		module := filepath.Join(dir, "envs", fmt.Sprintf("e%02d", i), name)
		if err := os.MkdirAll(module, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(module, "main.tf"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stacks := stacksOf(t, set, dir)
	if len(stacks) != len(names) {
		t.Fatalf("%d Stacks of %d directories", len(stacks), len(names))
	}
	for i, name := range names {
		want := &v1alpha1.Stack{}
		if err := yaml.Unmarshal(set.Spec.Template.Spec.Raw, &want.Spec); err != nil {
			t.Fatal(err)
		}
		want.Name = fmt.Sprintf("e%02d", i)
		want.Annotations = map[string]string{"of": name}
		want.Spec.Source.Git.Path = "envs/" + want.Name + "/" + name
		want.Spec.Variables[0].Value.Raw = fmt.Appendf(nil, "%s", jsonOf(t, name))
		got := stacks[slices.IndexFunc(stacks, func(s v1alpha1.Stack) bool { return s.Name == want.Name })]
		if diff := cmp.Diff(string(jsonOf(t, want)), string(jsonOf(t, got))); diff != "" {
			t.Errorf("directory %q: %s", name, diff)
		}
	}
}

// TestDirectoriesChooseNoVariableSet checks that users who push get no values of a VariableSet whose selector does not
// name a label of directories: by the name of a directory, or by its settings file. A set that names one is for them.
func TestDirectoriesChooseNoVariableSet(t *testing.T) {
	set := func(key string) v1alpha1.VariableSet {
		s := v1alpha1.VariableSet{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}
		s.Spec.StackSelector.MatchLabels = map[string]string{key: "prod"}
		s.Spec.Env = []corev1.EnvVar{
			{Name: "TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "token"}}}}
		return s
	}
	const template = `
spec:
  repository: {name: infra}
  generators:
  - matrix:
    - directories: {include: ["{team}/{name}"], settingsFile: cairn.yaml}
    - list: [{env: dev}]
  template:
    metadata: {name: "${params.team}-${params.name}", labels: LABELS}
    spec: {source: {git: {repository: {name: infra}, path: "${directory}"}}}
`
	const rejected = "RenderingFailed"
	for title, tt := range map[string]struct {
		labels, settings string
		by               string // the label that the VariableSet selects by
		want             string
	}{
		"a label that a directory would set": {`{env: "${params.team}"}`, "", "env", rejected},
		"a choice by a directory": {`{env: "${params.team == 'prod' ? 'prod' : 'dev'}"}`, "",
			"env", rejected},
		"a name of a label that a directory would set": {`{"${params.name}": prod}`, "", "env", rejected},
		"a list beside a directory":                    {`{env: "${params.env}"}`, "", "env", "none"},
		"a label in a settings file": {`{env: dev}`, "metadata: {labels: {env: prod}}",
			"env", rejected},
		"a label at the top of a settings file": {`{env: dev}`, "labels: {env: prod}", "env", rejected},
		"a variable in a settings file":         {`{env: dev}`, `variables: [{name: env, value: prod}]`, "env", "none"},
		"a label of directories":                {`{directory.cairn.dev/env: "${params.team}"}`, "", "env", "none"},
		"a VariableSet that names it": {`{directory.cairn.dev/env: "${params.team}"}`, "",
			"directory.cairn.dev/env", "TOKEN"},
	} {
		t.Run(title, func(t *testing.T) {
			stackSet := &v1alpha1.StackSet{}
			if err := yaml.UnmarshalStrict([]byte(strings.Replace(template, "LABELS", tt.labels, 1)),
				stackSet); err != nil {
				t.Fatal(err)
			}
			files := settings{"prod/env/main.tf": "", "prod/env/cairn.yaml": tt.settings}
			r, problem := render.New(stackSet)
			var rendered []decision.Rendered
			if problem == nil {
				var err error
				if rendered, problem, err = r.Stacks(t.Context(), slices.Sorted(maps.Keys(files)), files); err != nil {
					t.Fatal(err)
				}
			}
			got := "none"
			if problem != nil {
				got = problem.Reason
			}
			for _, one := range rendered {
				s := &v1alpha1.Stack{}
				if err := yaml.UnmarshalStrict(one.JSON, s); err != nil {
					t.Fatal(err)
				}
				with, err := variableset.Apply(s, []v1alpha1.VariableSet{set(tt.by)})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range with.Spec.Env {
					got = e.Name
				}
			}
			if got != tt.want || (problem == nil) != (len(rendered) == 1) {
				t.Errorf("got %s of %d Stacks, want %s", got, len(rendered), tt.want)
			}
		})
	}
}

// settings are files of a commit by path.
type settings map[string]string

func (s settings) ID(path string) string { return s[path] }

func (s settings) Read(_ context.Context, path string, _ int64) ([]byte, error) {
	return []byte(s[path]), nil
}

func (s settings) Unit(context.Context, string) (generate.Unit, error) { return generate.Unit{}, nil }

// stacksOf commits a folder, and renders the Stacks of a StackSet from the listing of the commit by git.
func stacksOf(t *testing.T, set *v1alpha1.StackSet, dir string) (all []v1alpha1.Stack) {
	t.Helper()
	var listing []byte
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "--all"},
		{"-c", "user.name=Alice", "-c", "user.email=alice@example.com", "commit", "--quiet", "--message", "Names"},
		{"ls-tree", "-r", "-t", "-z", "HEAD"},
	} {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).Output()
		if err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
		listing = out
	}
	tree, err := git.ParseTree("tree", listing)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	tree.Walk("", func(e git.Entry) {
		if e.Kind == git.KindFile {
			files = append(files, e.Path)
		}
	})
	r, problem := render.New(set)
	if problem != nil {
		t.Fatal(problem.Message)
	}
	rendered, problem, err := r.Stacks(t.Context(), files, nil)
	if problem != nil || err != nil {
		t.Fatal(problem, err)
	}
	for _, one := range rendered {
		s := v1alpha1.Stack{}
		if err := yaml.UnmarshalStrict(one.JSON, &s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func jsonOf(t *testing.T, o any) []byte {
	t.Helper()
	data, err := yaml.Marshal(o)
	if err == nil {
		data, err = yaml.YAMLToJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}
