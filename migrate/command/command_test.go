package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"cairn.dev/cairn/internal/cli/session"
)

// quiet returns a session whose output can be read, without a terminal.
func quiet(stdin io.Reader) (s *session.Session, out, errOut *bytes.Buffer) {
	out, errOut = &bytes.Buffer{}, &bytes.Buffer{}
	return session.New(genericiooptions.IOStreams{In: stdin, Out: out, ErrOut: errOut}, "cairn"), out, errOut
}

// typed runs a command with a text as standard input.
func typed(t *testing.T, stdin string, args ...string) (out, errOut string, err error) {
	t.Helper()
	s, o, e := quiet(strings.NewReader(stdin))
	cmd := New(s)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(context.Background())
	return o.String(), e.String(), err
}

// TestInterruptOfStandardInput checks that Ctrl-C ends a read of a terminal or a pipe.
func TestInterruptOfStandardInput(t *testing.T) {
	in, open := io.Pipe()
	defer open.Close()
	s, out, _ := quiet(in)
	ctx, interrupt := context.WithCancel(t.Context())
	cmd := New(s)
	cmd.SetArgs([]string{"migrate", "-f", "-"})
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	if _, err := open.Write([]byte("{")); err != nil { // it reads
		t.Fatal(err)
	}
	interrupt()
	select {
	case err := <-ended:
		var exit session.ExitError
		if !errors.As(err, &exit) || exit.Code != session.ExitInterrupted || out.Len() > 0 {
			t.Errorf("%v, and the output is %s", err, out)
		}
	case <-time.After(time.Minute):
		t.Fatal("the read does not end")
	}
}

const seed = "apiVersion: tf.tf-operator.io/v1alpha1\nkind: Stack\nmetadata: {name: demo}\nspec: {tfconfig: {name: " +
	"code}, tfvars: {name: vars}}\n"

func TestMigrateFiles(t *testing.T) {
	out, errOut, err := typed(t, seed+"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n", "migrate",
		"-f", "-", "-n", "infra")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kind: Stack", "namespace: infra", "apply: Manual", "deletionPolicy: Orphan",
		"name: code"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	for _, want := range []string{"Stack infra/demo", "Manual for now", "Deployment web (apps/v1)", "not known"} {
		if !strings.Contains(errOut, want) {
			t.Errorf("no %q in:\n%s", want, errOut)
		}
	}
	// The output is a valid input, alone and together with the original.
	if again, _, err := typed(t, out, "migrate", "-f", "-"); err != nil || again != out {
		t.Errorf("converted again, it is another: %v\n%s\n%s", err, out, again)
	}
	if kept, _, err := typed(t, seed, "migrate", "-f", "-", "--keep-apply"); err != nil ||
		!strings.Contains(kept, "apply: Automatic") || !strings.Contains(kept, "deletionPolicy: Destroy") {
		t.Errorf("%v\n%s", err, kept)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestMigrateFolders(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a/b/one.yaml": seed, "two.yml": strings.Replace(seed, "demo", "other",
		1), "notes.txt": "not: [yaml",
		// What such folders have beside objects.
		"a/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: " +
			"[b/one.yaml]\n",
		"kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: " +
			"[a, two.yml]\n",
	} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	out, errOut, err := typed(t, "", "migrate", "-f", dir, "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var both struct {
		Objects []struct{ Metadata struct{ Name string } }
		Notes   []struct{ Field, Outcome, Text string }
	}
	if err := json.Unmarshal([]byte(out), &both); err != nil {
		t.Fatal(err)
	}
	if len(both.Objects) != 2 || both.Objects[0].Metadata.Name != "demo" || len(both.Notes) == 0 || errOut != "" {
		t.Errorf("%+v %q", both, errOut)
	}
}

// TestMigrateReportsErrors checks that an error in one input is located, and that nothing is printed for any input.
func TestMigrateReportsErrors(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	if err := os.WriteFile(broken, []byte("a: b: c"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"a file that is no YAML":  {seed, []string{"-f", "-", "-f", broken}, broken + ": document 1: "},
		"a file that is not here": {seed, []string{"-f", "-", "-f", "nowhere.yaml"}, "nowhere.yaml"},
		"a wrong value": {strings.Replace(seed, "name: code", "name: 3", 1), []string{"-f", "-"},
			"spec.tfconfig.name: a string is wanted"},
		"no input":   {"", nil, "usage: cairn migrate (-f FILE... | --from-cluster)"},
		"two inputs": {"", []string{"-f", "-", "--from-cluster"}, "none of the others can be"},
		"a format":   {seed, []string{"-f", "-", "-o", "table"}, "json, yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := typed(t, tt.stdin, append([]string{"migrate"}, tt.args...)...)
			if err == nil || !strings.Contains(err.Error(), tt.want) || out != "" {
				t.Errorf("got %v and %q, want %q", err, out, tt.want)
			}
		})
	}
}

func TestGenerateFromCode(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatal(string(out))
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "envs", "prod"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "envs", "prod", "main.tf"),
		[]byte("terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n  }\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := typed(t, "", "generate", dir); err == nil || !strings.Contains(err.Error(), "--repository") {
		t.Errorf("outside of git: %v", err)
	}
	git("init", "-q")
	if _, _, err := typed(t, "", "generate", dir); err == nil || !strings.Contains(err.Error(), "--repository") {
		t.Errorf("without a remote: %v", err)
	}
	git("remote", "add", "origin", "https://git.example.com/acme/infra.git")
	for _, from := range []string{dir, filepath.Join(dir, "envs")} {
		out, errOut, err := typed(t, "", "generate", from, "-n", "infra")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"url: https://git.example.com/acme/infra.git", "path: envs/prod",
			"name: envs-prod", "fromCode: true", "namespace: infra", "deletionPolicy: Orphan"} {
			if !strings.Contains(out, want) {
				t.Errorf("of %s: no %q in:\n%s", from, want, out)
			}
		}
		if !strings.Contains(errOut, "Folder envs/prod") {
			t.Error(errOut)
		}
	}
	out, _, err := typed(t, "", "generate", dir, "--repository", "git@git.example.com:acme/other.git", "--ref", "main")
	if err != nil || !strings.Contains(out, "url: git@git.example.com:acme/other.git") ||
		!strings.Contains(out, "ref: main") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestGenerateWithAnOriginOnThisMachine checks a local origin, which the cluster cannot fetch from.
func TestGenerateWithAnOriginOnThisMachine(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "--quiet"}, {"remote", "add", "origin", "/srv/git/infra.git"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	_, _, err := typed(t, "", "generate", dir)
	if err == nil || !strings.Contains(err.Error(), "/srv/git/infra.git") ||
		!strings.Contains(err.Error(), "with --repository URL") {
		t.Errorf("%v", err)
	}
	if _, _, err := typed(t, "", "generate", dir, "--repository", "infra"); err == nil ||
		strings.Contains(err.Error(), "origin") {
		t.Errorf("%v", err)
	}
}

// TestGenerateReadsTheFoldersAbove checks a folder of a repository whose engine and backend are in files above it.
func TestGenerateReadsTheFoldersAbove(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "--quiet", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, text := range map[string]string{
		".terraform-version":              "1.9.8\n",
		"root.hcl":                        "remote_state {\n  backend = \"s3\"\n}\n",
		"main.tf":                         "provider \"aws\" {}\n",
		"envs/prod/net/main.tf":           "terraform {\n  required_version = \">= 1.6\"\n}\n",
		"envs/prod/app/terragrunt.hcl":    "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n",
		"envs/prod/dns/main.tf":           "provider \"aws\" {}\n",
		"envs/prod/dns/.opentofu-version": "1.10.0\n",
	} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	out, errOut, err := typed(t, "", "generate", filepath.Join(dir, "envs", "prod"), "--repository",
		"https://git.example.com/acme/infra.git", "-o", "json")
	if err != nil {
		t.Fatal(err, errOut)
	}
	var made struct {
		Objects []struct {
			Metadata struct{ Name string }
			Spec     struct {
				Engine  struct{ Name, Version string }
				Backend struct{ FromCode bool }
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range made.Objects[1:] {
		got[o.Metadata.Name] = fmt.Sprintf("%s %s %t", o.Spec.Engine.Name, o.Spec.Engine.Version,
			o.Spec.Backend.FromCode)
	}
	want := map[string]string{"envs-prod-app": "Terragrunt  true", "envs-prod-dns": "OpenTofu  false",
		"envs-prod-net": "Terraform  false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
