package scripts

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/dev"
)

func compile(ts *testscript.TestScript, pattern string) *regexp.Regexp {
	re, err := regexp.Compile("(?s)" + pattern)
	ts.Check(err)
	return re
}

// idle fails if anybody writes anything to the script's namespace for a time: idle DURATION. It begins once events that
// tell of what went before are written, which happens in the background.
func (c cluster) idle(ts *testscript.TestScript, _ bool, args []string) {
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	time.Sleep(500 * time.Millisecond)
	since := time.Now()
	time.Sleep(d) // what is looked for is that nothing happens
	writes, err := dev.Writes(c.AuditLog(), since, func(w dev.Write) bool {
		return w.Namespace == ts.Getenv("NAMESPACE")
	})
	ts.Check(err)
	for _, w := range writes {
		ts.Logf("%s %s %s %s/%s by %s", w.Time.Format(time.StampMilli), w.Verb, w.Resource, w.Subresource, w.Name, w.UserAgent)
	}
	if len(writes) > 0 {
		ts.Fatalf("%d writes in %s", len(writes), d)
	}
}

// killOperator kills `cairn serve` with SIGKILL; `cairn dev` starts it again.
func (c cluster) killOperator(ts *testscript.TestScript, _ bool, _ []string) {
	data, err := os.ReadFile(filepath.Join(c.Data, "serve.pid"))
	ts.Check(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
}

// signal stops a process of Cairn, or lets it go on: signal operator|server STOP|CONT. It goes on at the end in any case.
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

// killRunner kills the processes of a pod with SIGKILL: kill-runner POD.
func (c cluster) killRunner(ts *testscript.TestScript, _ bool, args []string) {
	var pod corev1.Pod
	ts.Check(c.Get(context.Background(), client.ObjectKey{Namespace: ts.Getenv("NAMESPACE"), Name: args[0]}, &pod))
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	ts.Check(err)
	killed := 0
	for _, path := range processes {
		line, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(line, []byte(pod.UID)) {
			continue // it has ended, or is another's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		ts.Check(err)
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	if killed == 0 {
		ts.Fatalf("pod %s has no process", args[0])
	}
}

// nowhere fails if a text is in clear in any file that Cairn or the pods wrote, or in any object of the namespace that
// is not a Secret: nowhere TEXT.
func (c cluster) nowhere(ts *testscript.TestScript, _ bool, args []string) {
	text := []byte(args[0])
	for _, dir := range []string{"bucket", "pods"} {
		root := filepath.Join(c.Data, dir)
		ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.Contains(path, "/fs/") {
				return ignoreGone(err) // fs is what the pod was given, and its own
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return ignoreGone(err)
			}
			if bytes.Contains(data, text) {
				return fmt.Errorf("%s is in %s", text, path)
			}
			return nil
		}))
	}
	for _, kind := range []string{"stacks", "runs", "states", "events", "pods", "configmaps"} {
		out := c.kubectl(ts, "get", kind, "-o", "yaml")
		if bytes.Contains(out, text) {
			ts.Fatalf("%s is in %s:\n%s", text, kind, out)
		}
	}
}

func ignoreGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// kubectl runs kubectl; what it says is there for stdout and stderr. A wait also waits for the object to be made.
func kubectl(ts *testscript.TestScript, neg bool, args []string) {
	if args[0] == "wait" && args[1] != "--for=delete" && args[3] != "--all" {
		ts.Check(ts.Exec("kubectl", "wait", "--for=create", args[2], "--timeout=60s"))
	}
	switch err := ts.Exec("kubectl", args...); {
	case err != nil && !neg:
		ts.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	case err == nil && neg:
		ts.Fatalf("kubectl %s succeeded", strings.Join(args, " "))
	}
}

// approve approves the plan that a Run has now, as alice, who may do anything: approve RUN.
func (c cluster) approve(ts *testscript.TestScript, neg bool, args []string) {
	digest := c.kubectl(ts, "get", "run", args[0], "-o", "jsonpath={.status.plan.digest}")
	approval := fmt.Sprintf(`{"spec":{"approval":{"by":"alice","planDigest":%q}}}`, digest)
	kubectl(ts, neg, []string{"patch", "run", args[0], "--as=alice", "--as-group=system:masters", "--type=merge", "-p", approval})
}

// makeStack makes a Stack whose name has so many characters: make-stack LENGTH.
func (c cluster) makeStack(ts *testscript.TestScript, neg bool, args []string) {
	length, err := strconv.Atoi(args[0])
	ts.Check(err)
	manifest := filepath.Join(ts.Getenv("WORK"), "made.yaml")
	ts.Check(os.WriteFile(manifest, fmt.Appendf(nil, `
apiVersion: cairn.dev/v1alpha1
kind: Stack
metadata: {name: %s}
spec:
  source: {inline: {main.tf: 'resource "terraform_data" "it" {}'}}
  apply: Automatic
  outputs: {secret: {name: outputs-%s}}
`, strings.Repeat("n", length), args[0]), 0o600))
	kubectl(ts, neg, []string{"apply", "-f", manifest})
}

// stack makes a Stack of the code in a file: stack NAME FILE [FIELD OF THE SPEC]. In the code $WORK is the script's folder.
func (c cluster) stack(ts *testscript.TestScript, _ bool, args []string) {
	spec := "  apply: Automatic\n  retry: {limit: 1, backoff: 2s}\n"
	if len(args) > 2 {
		spec += "  " + args[2] + "\n"
	}
	code := strings.ReplaceAll(ts.ReadFile(args[1]), "$WORK", ts.Getenv("WORK"))
	manifest := filepath.Join(ts.Getenv("WORK"), args[0]+".yaml")
	ts.Check(os.WriteFile(manifest, fmt.Appendf(nil, `
apiVersion: cairn.dev/v1alpha1
kind: Stack
metadata: {name: %s}
spec:
  source:
    inline:
      main.tf: %q
%s`, args[0], code, spec), 0o600))
	kubectl(ts, false, []string{"apply", "-f", manifest})
}

// refuseStates makes the API server refuse every new version of a state in the script's namespace, by the policy binding
// refuse-NAMESPACE, and waits until it does.
func (c cluster) refuseStates(ts *testscript.TestScript, _ bool, _ []string) {
	manifest := filepath.Join(ts.Getenv("WORK"), "refuse.yaml")
	ts.Check(os.WriteFile(manifest, []byte(strings.ReplaceAll(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refuse-NS}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
    resourceRules: [{apiGroups: [cairn.dev], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [states]}]
  validations: [{expression: "!has(object.status) || !has(object.status.version) || object.status.version == 0", message: no room for states}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refuse-NS}
spec: {policyName: refuse-NS, validationActions: [Deny]}
`, "NS", ts.Getenv("NAMESPACE"))), 0o600))
	c.kubectl(ts, "apply", "-f", manifest)
	probe := filepath.Join(ts.Getenv("WORK"), "probe.yaml")
	ts.Check(os.WriteFile(probe, []byte(`{apiVersion: cairn.dev/v1alpha1, kind: State, metadata: {name: probe}, status: {version: 1}}`), 0o600))
	c.eventually(ts, false, []string{"no room for states", "kubectl", "create", "-f", probe, "--dry-run=server"})
}
