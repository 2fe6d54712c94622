// Package story has the commands that scripts of a user's day share, whatever the cluster is that they run on.
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

// A Teller runs scripts against a cluster with Cairn in it.
type Teller struct {
	// Kubeconfig of somebody who may do anything.
	Kubeconfig string
	// Tools has kubectl, Bin has cairn, Root is the checkout.
	Tools, Bin, Root string
	// Hooks is where forges tell of pushes; a script may say so by $HOOKS.
	Hooks string
	// Audit is the file with every write to the API server.
	Audit string
	// Written are the folders that Cairn and the pods write to.
	Written []string
	// Host is what pods find this machine by; it is 127.0.0.1 where they are processes of it.
	Host string
}

// Commands are those that scripts can call beside testscript's own.
func (t Teller) Commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"approve":     t.approve,
		"capture":     t.capture,
		"cloud":       t.cloud,
		"eventually":  t.Eventually,
		"fill":        fill,
		"git-answers": t.gitAnswers,
		"git-server":  t.gitServer,
		"hook":        t.hook,
		"idle":        t.idle,
		"kubectl":     Kubectl,
		"nowhere":     t.nowhere,
		"push":        t.push,
		"stack":       t.stack,
	}
}

// Setup gives a script a namespace of its own, a kubeconfig for it, and the tools.
func (t Teller) Setup(env *testscript.Env, namespace string) error {
	if err := expand(env); err != nil {
		return err
	}
	config, err := clientcmd.LoadFromFile(t.Kubeconfig)
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
	env.Setenv("EXAMPLES", filepath.Join(t.Root, "examples"))
	env.Setenv("PATH", strings.Join([]string{t.Tools, t.Bin, os.Getenv("PATH")}, string(os.PathListSeparator)))
	return nil
}

// Namespace is the name of a script's own.
func Namespace(env *testscript.Env) string {
	return "s-" + strings.ToLower(strings.TrimPrefix(filepath.Base(env.WorkDir), "script-"))
}

func compile(ts *testscript.TestScript, pattern string) *regexp.Regexp {
	re, err := regexp.Compile("(?s)" + pattern)
	ts.Check(err)
	return re
}

// expand puts the script's folder where its manifests name it.
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
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), "$WORK", env.WorkDir)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Patience is how long eventually waits: a wait that ends early costs nothing, and a busy machine takes its time.
const Patience = 2 * time.Minute

// Eventually runs a command until its output matches a regular expression: eventually REGEXP COMMAND [ARG...].
func (t Teller) Eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually REGEXP COMMAND [ARG...]")
	}
	want := compile(ts, args[0])
	deadline := time.Now().Add(Patience)
	for {
		out, _ := t.Command(ts, args[1], args[2:]...).CombinedOutput() // one that fails has not the output yet
		if want.Match(out) {
			fmt.Fprintf(ts.Stdout(), "%s", out)
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s never matched %q; it said last:\n%s", strings.Join(args[1:], " "), args[0], out)
		}
		time.Sleep(50 * time.Millisecond) // kubectl is the poller here: it has no watch for a pattern
	}
}

// Command is one that runs as in the script.
func (t Teller) Command(ts *testscript.TestScript, name string, args ...string) *exec.Cmd {
	switch name {
	case "kubectl":
		name = filepath.Join(t.Tools, name)
	case "cairn":
		name = filepath.Join(t.Bin, name)
	}
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+ts.Getenv("KUBECONFIG"), "PATH="+ts.Getenv("PATH"))
	cmd.Dir = ts.Getenv("WORK")
	return cmd
}

// Output is what kubectl prints.
func (t Teller) Output(ts *testscript.TestScript, args ...string) []byte {
	out, err := t.Command(ts, "kubectl", args...).CombinedOutput()
	if err != nil {
		ts.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Kubectl runs kubectl; what it says is there for stdout and stderr. A wait also waits for the object to be made.
func Kubectl(ts *testscript.TestScript, neg bool, args []string) {
	if args[0] == "wait" && args[1] != "--for=delete" && args[3] != "--all" {
		ts.Check(ts.Exec("kubectl", "wait", "--for=create", args[2], "--timeout="+Patience.String()))
	}
	switch err := ts.Exec("kubectl", args...); {
	case err != nil && !neg:
		ts.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	case err == nil && neg:
		ts.Fatalf("kubectl %s succeeded", strings.Join(args, " "))
	}
}

// approve approves the plan that a Run has now, as alice, who may do anything: approve RUN.
func (t Teller) approve(ts *testscript.TestScript, neg bool, args []string) {
	digest := t.Output(ts, "get", "run", args[0], "-o", "jsonpath={.status.plan.digest}")
	approval := fmt.Sprintf(`{"spec":{"approval":{"by":"alice","planDigest":%q}}}`, digest)
	Kubectl(ts, neg, []string{"patch", "run", args[0], "--as=alice", "--as-group=system:masters", "--type=merge", "-p", approval})
}

// stack makes a Stack of the code in a file: stack NAME FILE [FIELD OF THE SPEC]. In the code $WORK is the script's folder.
func (t Teller) stack(ts *testscript.TestScript, _ bool, args []string) {
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

// settled is how long nobody writes before a script takes for written what tells of what went before.
const settled = time.Second

// idle fails if anybody but a real kubelet writes anything to the script's namespace for a time: idle DURATION. It begins once what
// tells of what went before is written, such as events, which happens in the background; a new Run or pod is no such thing.
func (t Teller) idle(ts *testscript.TestScript, _ bool, args []string) {
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	begun := time.Now()
	for since := begun; ; {
		time.Sleep(settled) // what is looked for is that nothing happens
		until := time.Now()
		late := t.writes(ts, since)
		for _, w := range late {
			if w.Verb == "create" && w.Subresource == "" && (w.Resource == "runs" || w.Resource == "pods") {
				ts.Fatalf("one of the %s was made by %s", w.Resource, w.UserAgent)
			}
		}
		if len(late) == 0 {
			break
		}
		if since = until; time.Since(begun) > Patience {
			ts.Fatalf("there is no end of writes after %s", Patience)
		}
	}
	since := time.Now()
	time.Sleep(d)
	if writes := t.writes(ts, since); len(writes) > 0 {
		ts.Fatalf("%d writes in %s", len(writes), d)
	}
}

// writes are those to the script's namespace, but for a real kubelet's: a pod ends as slowly as it likes. They are logged.
func (t Teller) writes(ts *testscript.TestScript, since time.Time) []dev.Write {
	writes, err := dev.Writes(t.Audit, since, func(w dev.Write) bool {
		return w.Namespace == ts.Getenv("NAMESPACE") && !strings.HasPrefix(w.UserAgent, "kubelet/")
	})
	ts.Check(err)
	for _, w := range writes {
		ts.Logf("%s %s %s %s/%s by %s", w.Time.Format(time.StampMilli), w.Verb, w.Resource, w.Subresource, w.Name, w.UserAgent)
	}
	return writes
}

// nowhere fails if a text is in clear in any file that Cairn or the pods wrote, or in any object of the namespace that
// is not a Secret: nowhere TEXT.
func (t Teller) nowhere(ts *testscript.TestScript, _ bool, args []string) {
	text := []byte(args[0])
	for _, root := range t.Written {
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
		out := t.Output(ts, "get", kind, "-o", "yaml")
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

// fill puts $-variables of the script into a file of it: fill FILE [OLD NEW]... replaces texts too.
func fill(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	text := string(data)
	for i := 1; i+1 < len(args); i += 2 {
		text = strings.ReplaceAll(text, args[i], args[i+1])
	}
	for _, name := range []string{"GIT_URL", "GIT_SSH_URL", "GIT_PASSWORD", "GIT_HOST", "NAMESPACE", "WORK", "HOST", "CLOUD", "THING", "PLAN", "SOURCE", "POD", "NODE"} {
		text = strings.ReplaceAll(text, "$"+name, ts.Getenv(name))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// capture puts what a command prints into a variable: capture NAME COMMAND [ARG...].
func (t Teller) capture(ts *testscript.TestScript, _ bool, args []string) {
	out, err := t.Command(ts, args[1], args[2:]...).Output()
	ts.Check(err)
	ts.Setenv(args[0], strings.TrimSpace(string(out)))
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
