// Package story has the testscript commands that scripts share, for any cluster.
package story

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/tools/clientcmd"

	"cairn.dev/cairn/dev"
)

// Environment is a cluster with Cairn that scripts run against.
type Environment struct {
	// Kubeconfig is that of a cluster administrator.
	Kubeconfig string
	// Tools has kubectl, Bin has cairn, Root is the checkout.
	Tools, Bin, Root string
	// Hooks is the base URL of webhooks; $HOOKS of a script overrides it.
	Hooks string
	// Audit is the file with every write to the API server.
	Audit string
	// Written are the folders that Cairn and the pods write to.
	Written []string
	// Host is the address of this machine for pods; it is 127.0.0.1 where they are processes on it.
	Host string
}

// Commands are the script commands in addition to testscript's own.
func (e Environment) Commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"approve":     e.approve,
		"capture":     e.capture,
		"cloud":       e.cloud,
		"eventually":  e.Eventually,
		"fill":        fill,
		"git-respond": e.gitRespond,
		"git-server":  e.gitServer,
		"idle":        e.idle,
		"kubectl":     Kubectl,
		"no-leak":     e.noLeak,
		"push":        e.push,
		"stack":       e.stack,
		"webhook":     e.webhook,
	}
}

// Setup sets the namespace, the kubeconfig and the tools of a script.
func (e Environment) Setup(env *testscript.Env, namespace string) error {
	if err := expand(env); err != nil {
		return err
	}
	config, err := clientcmd.LoadFromFile(e.Kubeconfig)
	if err != nil {
		return err
	}
	config.Contexts[config.CurrentContext].Namespace = namespace
	kubeconfig := filepath.Join(env.WorkDir, ".kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		return err
	}
	env.Values[repositories{}] = &scriptServers{}
	env.Values[clouds{}] = &scriptCloud{}
	env.Setenv("NAMESPACE", namespace)
	env.Setenv("KUBECONFIG", kubeconfig)
	env.Setenv("EXAMPLES", filepath.Join(e.Root, "examples"))
	env.Setenv("GOGC", os.Getenv("GOGC"))
	env.Setenv("PATH", strings.Join([]string{e.Tools, e.Bin, os.Getenv("PATH")}, string(os.PathListSeparator)))
	return nil
}

// Namespace returns the name of the script's namespace.
func Namespace(env *testscript.Env) string {
	return "s-" + strings.ToLower(strings.TrimPrefix(filepath.Base(env.WorkDir), "script-"))
}

func compile(ts *testscript.TestScript, pattern string) *regexp.Regexp {
	re, err := regexp.Compile("(?s)" + pattern)
	ts.Check(err)
	return re
}

// expand replaces $WORK in the manifests of a script.
func expand(env *testscript.Env) error {
	manifests, err := filepath.Glob(filepath.Join(env.WorkDir, "*.yaml"))
	if err != nil {
		return err
	}
	for _, path := range manifests {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), "$WORK", env.WorkDir)),
			0o600); err != nil {
			return err
		}
	}
	return nil
}

// Timeout is how long eventually waits: long enough for a busy machine, since a wait ends as soon as its condition
// holds.
const Timeout = 2 * time.Minute

// Eventually runs a command until its output matches a regular expression: eventually REGEXP COMMAND [ARG...].
func (e Environment) Eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually REGEXP COMMAND [ARG...]")
	}
	want := compile(ts, args[0])
	deadline, pause := time.Now().Add(Timeout), 100*time.Millisecond
	for {
		out, _ := e.Command(ts, args[1], args[2:]...).CombinedOutput() // a command that fails is retried
		if want.Match(out) {
			fmt.Fprintf(ts.Stdout(), "%s", out)
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("the output of %s did not match %q; the last output is:\n%s", strings.Join(args[1:], " "),
				args[0], out)
		}
		// kubectl cannot watch for a pattern, and to start it takes a processor for 50 milliseconds.
		time.Sleep(pause)
		pause = min(pause*3/2, 600*time.Millisecond)
	}
}

// Command returns a command with the environment of the script.
func (e Environment) Command(ts *testscript.TestScript, name string, args ...string) *exec.Cmd {
	switch name {
	case "kubectl":
		name = filepath.Join(e.Tools, name)
	case "cairn":
		name = filepath.Join(e.Bin, name)
	}
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+ts.Getenv("KUBECONFIG"), "PATH="+ts.Getenv("PATH"))
	cmd.Dir = ts.Getenv("WORK")
	return cmd
}

// Output returns what kubectl prints.
func (e Environment) Output(ts *testscript.TestScript, args ...string) []byte {
	out, err := e.Command(ts, "kubectl", args...).CombinedOutput()
	if err != nil {
		ts.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Kubectl runs kubectl, with its output for stdout and stderr. A wait also waits until the object exists.
func Kubectl(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec("kubectl", args...)
	missing := err != nil && strings.Contains(ts.ReadFile("stderr"), "(NotFound)")
	if missing && args[0] == "wait" && args[1] != "--for=delete" && args[3] != "--all" {
		ts.Check(ts.Exec("kubectl", "wait", "--for=create", args[2], "--timeout="+Timeout.String()))
		err = ts.Exec("kubectl", args...)
	}
	switch {
	case err != nil && !neg:
		ts.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	case err == nil && neg:
		ts.Fatalf("kubectl %s succeeded", strings.Join(args, " "))
	}
}

// approve approves the current plan of a Run as alice, a cluster administrator: approve RUN.
func (e Environment) approve(ts *testscript.TestScript, neg bool, args []string) {
	digest := e.Output(ts, "get", "run", args[0], "-o", "jsonpath={.status.plan.digest}")
	approval := fmt.Sprintf(`{"spec":{"approval":{"by":"alice","planDigest":%q}}}`, digest)
	Kubectl(ts, neg, []string{"patch", "run", args[0], "--as=alice", "--as-group=system:masters", "--type=merge",
		"-p", approval})
}

// stack creates a Stack with the code of a file: stack NAME FILE [FIELD OF THE SPEC]. It replaces $WORK in the code.
func (e Environment) stack(ts *testscript.TestScript, _ bool, args []string) {
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
	Kubectl(ts, false, []string{"apply", "-f", manifest})
}

// settled is how long no write happens until idle assumes that background writes, such as events, are done.
const settled = time.Second

// idle fails if any client but a kubelet writes to the script's namespace for a time: idle DURATION. It starts once
// background writes, such as events, are done; a new Run or pod is not a background write and fails it.
func (e Environment) idle(ts *testscript.TestScript, _ bool, args []string) {
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	start := time.Now()
	for since := start; ; {
		time.Sleep(settled) // the absence of writes is checked
		until := time.Now()
		late := e.writes(ts, since)
		for _, w := range late {
			if w.Verb == "create" && w.Subresource == "" && (w.Resource == "runs" || w.Resource == "pods") {
				ts.Fatalf("%s created one of the %s", w.UserAgent, w.Resource)
			}
		}
		if len(late) == 0 {
			break
		}
		if since = until; time.Since(start) > Timeout {
			ts.Fatalf("writes continue after %s", Timeout)
		}
	}
	since := time.Now()
	time.Sleep(d)
	if writes := e.writes(ts, since); len(writes) > 0 {
		ts.Fatalf("%d writes in %s", len(writes), d)
	}
}

// writes returns and logs the writes to the script's namespace, except a kubelet's, which reports the end of pods late.
func (e Environment) writes(ts *testscript.TestScript, since time.Time) []dev.Write {
	writes, err := dev.Writes(e.Audit, since, func(w dev.Write) bool {
		return w.Namespace == ts.Getenv("NAMESPACE") && !strings.HasPrefix(w.UserAgent, "kubelet/")
	})
	ts.Check(err)
	for _, w := range writes {
		ts.Logf("%s %s %s %s/%s by %s", w.Time.Format(time.StampMilli), w.Verb, w.Resource, w.Subresource, w.Name,
			w.UserAgent)
	}
	return writes
}

// noLeak fails if a file that Cairn or the pods wrote contains a text, or any object of the namespace except Secrets:
// no-leak TEXT.
func (e Environment) noLeak(ts *testscript.TestScript, _ bool, args []string) {
	text := []byte(args[0])
	for _, root := range e.Written {
		ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.Contains(path, "/fs/") {
				return ignoreNotExist(err) // fs is the input of the pod and its own files
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return ignoreNotExist(err)
			}
			if bytes.Contains(data, text) {
				return fmt.Errorf("%s is in %s", text, path)
			}
			return nil
		}))
	}
	for _, resource := range []string{"stacks", "runs", "states", "events", "pods", "configmaps"} {
		out := e.Output(ts, "get", resource, "-o", "yaml")
		if bytes.Contains(out, text) {
			ts.Fatalf("%s is in %s:\n%s", text, resource, out)
		}
	}
}

func ignoreNotExist(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// fill replaces $-variables of the script in a file, and other texts: fill FILE [OLD NEW]...
func fill(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	text := string(data)
	for i := 1; i+1 < len(args); i += 2 {
		text = strings.ReplaceAll(text, args[i], args[i+1])
	}
	for _, name := range []string{"GIT_URL", "GIT_SSH_URL", "GIT_PASSWORD", "GIT_HOST", "NAMESPACE", "WORK", "HOST",
		"CLOUD", "THING", "PLAN", "SOURCE", "POD", "NODE", "RECEIVER"} {
		text = strings.ReplaceAll(text, "$"+name, ts.Getenv(name))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// capture sets a variable to the output of a command: capture NAME COMMAND [ARG...].
func (e Environment) capture(ts *testscript.TestScript, _ bool, args []string) {
	out, err := e.Command(ts, args[1], args[2:]...).Output()
	ts.Check(err)
	ts.Setenv(args[0], strings.TrimSpace(string(out)))
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
