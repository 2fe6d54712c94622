package stackset

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
)

const platform = `
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: cairn.dev/v1alpha1
kind: StackSet
metadata: {name: platform, namespace: prod}
spec:
  repository: {name: infra}
  generators:
  - directories:
      include: ["envs/{env}/{name}"]
      exclude: ["envs/*/sandbox"]
  template:
    metadata: {name: "${params.env}-${params.name}", labels: {directory.cairn.dev/env: "${params.env}"}}
    spec:
      source: {git: {repository: {name: infra}, path: "${directory}"}}
      variables: [{name: replicas, value: "${params.env == 'prod' ? 3 : 1}"}]
`

// checkoutOf creates a working tree. Files whose names begin with + are new, and others are committed.
func checkoutOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	run := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "git",
			append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q")
	for name, text := range files {
		if !strings.HasPrefix(name, "+") {
			write(name, text)
		}
	}
	run("add", ".")
	run("commit", "-qm", "all")
	for name, text := range files {
		if name, isNew := strings.CutPrefix(name, "+"); isNew {
			write(name, text)
		}
	}
	return dir
}

var infra = map[string]string{
	".gitignore": "ignored/\n", "README.md": "",
	"envs/dev/net/main.tf": "module \"net\" {\n  source = \"../../../lib\"\n}\n", "envs/prod/net/main.tf": "",
	"envs/prod/net/files/a.txt": "",
	"envs/dev/sandbox/main.tf":  "", "modules/net/main.tf": "", "examples/all/main.tf": "", "lib/main.tf": "",
	"legacy/mail/main.tf":   "",
	"+envs/dev/new/main.tf": "", "+ignored/main.tf": "", "envs/dev/deleted/main.tf": "",
}

// previewOf runs the command on a file with this text.
func previewOf(t *testing.T, text, dir string, args ...string) (out, errOut string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "set.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var o, e bytes.Buffer
	cmd := previewCommand(session.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &o, ErrOut: &e},
		"cairn"))
	cmd.SetArgs(append([]string{file, "--dir", dir}, args...))
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

func TestPreview(t *testing.T) {
	dir := checkoutOf(t, infra)
	if err := os.RemoveAll(filepath.Join(dir, "envs", "dev", "deleted")); err != nil {
		t.Fatal(err)
	}
	out, errOut, err := previewOf(t, platform, filepath.Join(dir, "envs"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(out) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	if diff := cmp.Diff([]string{
		"STACK DIRECTORY PARAMS", "dev-net envs/dev/net env=dev name=net", "dev-new envs/dev/new env=dev name=new",
		"prod-net envs/prod/net env=prod name=net",
	}, rows); diff != "" {
		t.Error(diff)
	}
	want := "StackSet platform generates 3 Stacks.\nDirectories that probably contain a root module, and have no " +
		"Stack (1): legacy/mail.\n"
	if diff := cmp.Diff(want, errOut); diff != "" {
		t.Error(diff)
	}
}

func TestPreviewPrintsObjects(t *testing.T) {
	out, _, err := previewOf(t, platform, checkoutOf(t, infra), "-o", "yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []v1alpha1.Stack }
	if err := yaml.Unmarshal([]byte(out), &list); err != nil || len(list.Items) != 4 {
		t.Fatalf("%v\n%s", err, out)
	}
	s := list.Items[3]
	if s.Kind != "Stack" || s.Name != "prod-net" || s.Namespace != "prod" ||
		s.Labels[v1alpha1.StackSetLabel] != "platform" ||
		s.Labels["directory.cairn.dev/env"] != "prod" || s.Spec.Source.Git.Path != "envs/prod/net" ||
		string(s.Spec.Variables[0].Value.Raw) != "3" {
		t.Errorf("%s", out)
	}
}

// TestPreviewReadsSettingsFiles checks that a preview has the settings of the working tree, as the operator reads them.
func TestPreviewReadsSettingsFiles(t *testing.T) {
	text := strings.Replace(platform, `exclude: ["envs/*/sandbox"]`, "settingsFile: cairn.yaml", 1)
	dir := checkoutOf(t, map[string]string{"envs/dev/net/main.tf": "",
		"envs/dev/net/cairn.yaml": "variables: [{name: replicas, value: 5}]", "envs/dev/cairn.yaml": "x"})
	out, _, err := previewOf(t, text, dir, "-o", "yaml")
	var list struct{ Items []v1alpha1.Stack }
	if err := errors.Join(err, yaml.Unmarshal([]byte(out), &list)); err != nil || len(list.Items) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	if v := list.Items[0].Spec.Variables; len(v) != 1 || string(v[0].Value.Raw) != "5" {
		t.Errorf("%+v", v)
	}
	for settings, want := range map[string]string{
		"apply: Automatic":                        `RenderingFailed: envs/dev/net/cairn.yaml: apply cannot be set here, and has the value "Automatic"`,
		"# " + strings.Repeat("x", 20_000) + "\n": "envs/dev/net/cairn.yaml: it has more than 16384 bytes",
	} {
		dir := checkoutOf(t, map[string]string{"envs/dev/net/main.tf": "", "envs/dev/net/cairn.yaml": settings})
		if _, _, err := previewOf(t, text, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestPreviewFails(t *testing.T) {
	dir := checkoutOf(t, infra)
	for name, tt := range map[string]struct{ old, new, want string }{
		"names collide": {"${params.env}-${params.name}", "${params.name}",
			"NamesCollide: include in template.metadata.name what differs between these items:\n  net: envs/dev/net, " +
				"envs/prod/net"},
		"no such param": {"params.env == 'prod'", "params.stage == 'prod'",
			"${params.stage == 'prod' ? 3 : 1}: no such key: stage (directory envs/dev/deleted)"},
		"unknown field":    {"variables:", "variabels:", `variabels`},
		"field of the set": {"generators:", "generator:", `unknown field "spec.generator"`},
		"broken pattern":   {"envs/{env}/{name}", "envs/{env}/../{name}", "GeneratorsInvalid"},
		"another version": {"cairn.dev/v1alpha1", "cairn.dev/v2",
			"the apiVersion of StackSet platform is not cairn.dev/v1alpha1"},
		"no StackSet": {"kind: StackSet", "kind: Stack", "has no StackSet"},
		"no checkout": {"", "", "is in no working tree of git"},
		"not a name": {"${params.env}-${params.name}", "${params.env}_${params.name}",
			"a name has lowercase letters"},
		"an operator label": {`labels: {directory.cairn.dev/env: "${params.env}"}`, "labels: {cairn.dev/stackset: a}",
			"a StackSet cannot set labels of cairn.dev"},
	} {
		t.Run(name, func(t *testing.T) {
			at := dir
			if tt.old == "" {
				at = t.TempDir()
			}
			out, _, err := previewOf(t, strings.ReplaceAll(platform, tt.old, tt.new), at)
			if err == nil || !strings.Contains(err.Error(), tt.want) || out != "" {
				t.Errorf("the error is %v, and not %q; the output is %q", err, tt.want, out)
			}
		})
	}
}

func TestOfSeveralStackSetsOneIsSelected(t *testing.T) {
	dir := checkoutOf(t, infra)
	two := platform + "---\n" + strings.Replace(platform[strings.Index(platform, "---")+4:], "name: platform",
		"name: second", 1)
	if _, _, err := previewOf(t, two, dir); err == nil ||
		!strings.Contains(err.Error(), "select one of platform, second with --name") {
		t.Errorf("the error is %v", err)
	}
	if _, errOut, err := previewOf(t, two, dir, "--name", "second"); err != nil ||
		!strings.Contains(errOut, "StackSet second generates") {
		t.Errorf("%v: %s", err, errOut)
	}
}

// TestCompare checks what differs from the cluster: all Stacks, also with a limit of deletions or a rollout.
func TestCompare(t *testing.T) {
	sets, err := decodeSets(t.Context(), []byte(platform))
	if err != nil {
		t.Fatal(err)
	}
	set := sets[0]
	rendered, err := renderSet(t.Context(), set,
		checkout{files: []string{"envs/dev/net/main.tf", "envs/prod/net/main.tf", "envs/prod/db/main.tf"}})
	if err != nil {
		t.Fatal(err)
	}
	var stacks []v1alpha1.Stack
	for _, r := range rendered[:2] {
		var stack v1alpha1.Stack
		if err := yaml.Unmarshal(r.JSON, &stack); err != nil {
			t.Fatal(err)
		}
		stack.Namespace, stack.Labels[v1alpha1.StackSetLabel] = set.Namespace, "platform"
		stack.Annotations = map[string]string{v1alpha1.RenderedAnnotation: r.Digest}
		stacks = append(stacks, stack)
	}
	stacks[1].Spec.Suspend = true // is not of the template
	stacks[1].Spec.Source.Git.Path = "elsewhere"
	for _, name := range []string{"gone-1", "gone-2"} {
		stacks = append(stacks,
			v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: name,
				Labels: map[string]string{v1alpha1.StackSetLabel: "platform"}}})
	}
	got, message, err := compare(set, rendered, stacks, v1alpha1.StackGrantList{})
	if err != nil {
		t.Fatal(err)
	}
	want := []change{
		{Action: "Suspend", Stack: "gone-1"}, {Action: "Suspend", Stack: "gone-2"},
		{Action: "Create", Stack: rendered[2].Name, Directory: rendered[2].Directory},
		{Action: "Change", Stack: rendered[1].Name, Directory: rendered[1].Directory,
			Fields: []string{"spec.source.git.path"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(message, "spec.maxDeletions allows 1 at once") {
		t.Errorf("the message is %q", message)
	}
	stacks[0].Labels = nil
	if _, _, err := compare(set, rendered, stacks, v1alpha1.StackGrantList{}); err == nil ||
		!strings.Contains(err.Error(), "StackNotOwned") {
		t.Errorf("the error of a Stack of another owner is %v", err)
	}
}
