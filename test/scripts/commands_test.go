package scripts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/test/story"
)

// killOperator kills `cairn-controller serve` with SIGKILL; `cairn dev` restarts it: kill-operator.
func (c cluster) killOperator(ts *testscript.TestScript, _ bool, _ []string) {
	data, err := os.ReadFile(filepath.Join(c.Data, "serve.pid"))
	ts.Check(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
}

// signal stops or continues a process of Cairn: signal operator|server STOP|CONT. The process continues at the end of
// the script.
func (c cluster) signal(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(filepath.Join(c.Data, args[0]+".pid"))
	ts.Check(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	ts.Check(err)
	if args[1] == "CONT" {
		ts.Check(syscall.Kill(pid, syscall.SIGCONT))
		return
	}
	ts.Check(syscall.Kill(pid, syscall.SIGSTOP))
	ts.Defer(func() { ts.Check(syscall.Kill(pid, syscall.SIGCONT)) })
}

// killRunner kills the processes of a pod with SIGKILL: kill-runner POD. It stops all of them first, so that none can
// report how another one ended.
func (c cluster) killRunner(ts *testscript.TestScript, _ bool, args []string) {
	var pod corev1.Pod
	ts.Check(c.Get(context.Background(), client.ObjectKey{Namespace: ts.Getenv("NAMESPACE"), Name: args[0]}, &pod))
	killed := 0
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
		ts.Check(err)
		for _, path := range processes {
			line, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(line, []byte(pod.UID)) {
				continue // it has ended, or belongs to another pod
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			ts.Check(err)
			if syscall.Kill(pid, signal) == nil && signal == syscall.SIGKILL {
				killed++
			}
		}
	}
	if killed == 0 {
		ts.Fatalf("pod %s has no process", args[0])
	}
}

// createStack creates a Stack with a name of a length: create-stack LENGTH.
func (c cluster) createStack(ts *testscript.TestScript, neg bool, args []string) {
	length, err := strconv.Atoi(args[0])
	ts.Check(err)
	manifest := filepath.Join(ts.Getenv("WORK"), "created.yaml")
	ts.Check(os.WriteFile(manifest, fmt.Appendf(nil, `
apiVersion: cairn.dev/v1alpha1
kind: Stack
metadata: {name: %s}
spec:
  source: {inline: {main.tf: 'resource "terraform_data" "it" {}'}}
  apply: Automatic
  outputs: {secret: {name: outputs-%s}}
`, strings.Repeat("n", length), args[0]), 0o600))
	story.Kubectl(ts, neg, []string{"apply", "-f", manifest})
}

// rejectStates creates a policy binding reject-states-NAMESPACE, by which the API server rejects new versions of states
// in the script's namespace, and waits until it takes effect: reject-states.
func (c cluster) rejectStates(ts *testscript.TestScript, _ bool, _ []string) {
	manifest := filepath.Join(ts.Getenv("WORK"), "reject.yaml")
	ts.Check(os.WriteFile(manifest, []byte(strings.ReplaceAll(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: reject-states-NS}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
    resourceRules: [{apiGroups: [cairn.dev], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [states]}]
  validations: [{expression: "!has(object.status) || !has(object.status.version) || object.status.version == 0", message: states are rejected}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: reject-states-NS}
spec: {policyName: reject-states-NS, validationActions: [Deny]}
`, "NS", ts.Getenv("NAMESPACE"))), 0o600))
	c.Output(ts, "apply", "-f", manifest)
	probe := filepath.Join(ts.Getenv("WORK"), "probe.yaml")
	ts.Check(os.WriteFile(probe,
		[]byte(`{apiVersion: cairn.dev/v1alpha1, kind: State, metadata: {name: probe}, status: {version: 1}}`), 0o600))
	c.Eventually(ts, false, []string{"states are rejected", "kubectl", "create", "-f", probe, "--dry-run=server"})
}

// receiver starts a server that adds the body of each request to a file, and sets $RECEIVER to its address. As long as
// a file named FILE.status exists, it responds with the status in it instead.
//
//	receiver FILE
func receiver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: receiver FILE")
	}
	file := ts.MkAbs(args[0])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, err := os.ReadFile(file + ".status"); err == nil {
			code, _ := strconv.Atoi(strings.TrimSpace(string(status)))
			w.WriteHeader(code)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = appendTo(file, append(body, '\n'))
		}
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	ts.Defer(server.Close)
	ts.Setenv("RECEIVER", server.URL)
}

func appendTo(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
