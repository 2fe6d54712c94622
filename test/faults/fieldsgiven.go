package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/cgi" //nolint:gosec // what is wrong with it was mended in Go 1.6.3
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
)

// codeOfFields is the code of carriers: it has a variable of each type, and no resources.
const codeOfFields = `
variable "v" { default = "0" }
variable "w" { default = 0 }
output "x" { value = var.v }
`

// given creates the objects that carriers refer to, in the lane's namespace.
func (l *lane) given(ctx context.Context) error {
	git, err := gitServer()
	if err != nil {
		return err
	}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: l.space, Name: name} }
	stack := &v1alpha1.Stack{}
	if err := yaml.UnmarshalStrict([]byte(`
metadata: {name: given}
spec:
  source: {configMap: {name: given}}
  apply: Automatic
  deletionPolicy: Orphan
`), stack); err != nil {
		return err
	}
	stack.Namespace = l.space
	repository := &v1alpha1.Repository{ObjectMeta: meta("given"), Spec: v1alpha1.RepositorySpec{URL: git + "/infra.git",
		Ref: "main"}}
	for _, o := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: meta("given"), Data: map[string]string{"main.tf": codeOfFields,
			"all.tfvars": "w = 2", "v": "1", "script": "true", "apply": `tofu apply "$CAIRN_PLAN_FILE"`}},
		&corev1.Secret{ObjectMeta: meta("given"), StringData: map[string]string{"v": "1", "username": "u",
			"password": "p", "token": "given-webhook-token"}},
		&corev1.ConfigMap{ObjectMeta: meta("tfvars"), Data: map[string]string{"a.tfvars": "w = 3"}},
		&corev1.Secret{ObjectMeta: meta("tfvars"), StringData: map[string]string{"a.tfvars": "w = 3"}},
		&corev1.ConfigMap{ObjectMeta: meta("envs"), Data: map[string]string{"B": "1"}},
		&corev1.Secret{ObjectMeta: meta("envs"), StringData: map[string]string{"B": "1"}},
		&corev1.ConfigMap{ObjectMeta: meta("policies"),
			Data: map[string]string{"none.rego": "package main\n\nwarn contains \"never\" if input.never"}},
		&corev1.ServiceAccount{ObjectMeta: meta("given")},
		repository, stack,
	} {
		if err := client.IgnoreAlreadyExists(l.Create(ctx, o)); err != nil {
			return err
		}
	}
	for _, kind := range []string{"Repository", "Stack"} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cairn.dev/v1alpha1", "kind": kind}}
		o.SetNamespace(l.space)
		o.SetName("given")
		r, err := l.settled(ctx, o)
		if err == nil && !r.ready {
			err = errors.New(r.String())
		}
		if err != nil {
			return fmt.Errorf("%s given: %w", kind, err)
		}
	}
	return nil
}

// waitingRun creates a Stack whose Run waits for an approval, and returns the Run.
func (l *lane) waitingRun(ctx context.Context, o *unstructured.Unstructured) error {
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: l.space, Name: o.GetName()}}
	if err := yaml.UnmarshalStrict([]byte(`
source: {inline: {main.tf: 'resource "terraform_data" "a" {}'}}
apply: Manual
deletionPolicy: Orphan
runner: {idleTimeout: 1s}
`), &stack.Spec); err != nil {
		return err
	}
	if err := l.Create(ctx, stack); err != nil {
		return err
	}
	o.SetName(stack.Name + "-1")
	return until(ctx, patience, func(ctx context.Context) error {
		if err := l.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if phase, _, _ := unstructured.NestedString(o.Object, "status", "phase"); phase !=
			string(v1alpha1.PhaseAwaitingApproval) {
			return fmt.Errorf("the Run is %s", phase)
		}
		return nil
	})
}

// gitServer serves a repository infra.git over HTTP until the end of this process.
var gitServer = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "cairn-faults-git-")
	if err != nil {
		return "", err
	}
	run := func(in string, args ...string) (string, error) {
		c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-C", in},
			args...)...)
		out, err := c.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("git %v: %w: %s", args, err, out)
		}
		return strings.TrimSpace(string(out)), err
	}
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(filepath.Join(work, "env"), 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(work, "env", "main.tf"), []byte(codeOfFields), 0o600); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "Begin"},
		{"clone", "-q", "--bare", ".", filepath.Join(dir, "infra.git")},
	} {
		if _, err := run(work, args...); err != nil {
			return "", err
		}
	}
	libexec, err := run(work, "--exec-path")
	if err != nil {
		return "", err
	}
	return httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(libexec, "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"},
	}).URL, nil
})
