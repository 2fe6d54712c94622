// Package scripts runs testdata/*.txtar: each tells a part of a user's day against a real `cairn dev`, with plain
// kubectl. All scripts share one `cairn dev`; each has a namespace of its own.
package scripts

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"cairn.dev/cairn/test/devcluster"
)

// A cluster is the `cairn dev` that the scripts share.
type cluster struct {
	*devcluster.Cluster
	// hooks is where forges tell of pushes.
	hooks string
}

func TestScripts(t *testing.T) {
	// A short patience, so that a store that refuses everything is given up on within a test.
	hooks := devcluster.FreeAddress(t)
	args := append(append(engines(t), providerFolder(t)...), "--runner-patience=5s", "--web-listen="+hooks)
	c := cluster{devcluster.Start(t, args...), "http://" + hooks}
	testscript.Run(t, c.scripts("testdata"))
}

// Scripts that stop the operator or the server, for a while. They have a `cairn dev` of their own.
func TestScriptsThatStopProcesses(t *testing.T) {
	t.Parallel()
	c := cluster{Cluster: devcluster.StartSplit(t, "--runner-patience=5s")}
	testscript.Run(t, c.scripts("testdata/split"))
}

// scripts are those in a folder, with what they can call.
func (c cluster) scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir:   dir,
		Setup: c.setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"approve":       c.approve,
			"capture":       c.capture,
			"eventually":    c.eventually,
			"fill":          fill,
			"git-answers":   c.gitAnswers,
			"git-server":    c.gitServer,
			"hook":          c.hook,
			"idle":          c.idle,
			"kill-operator": c.killOperator,
			"kill-runner":   c.killRunner,
			"kubectl":       kubectl,
			"make-stack":    c.makeStack,
			"nowhere":       c.nowhere,
			"push":          c.push,
			"refuse-states": c.refuseStates,
			"signal":        c.signal,
			"stack":         c.stack,
		},
	}
}

// setup gives a script its namespace, its kubeconfig and the tools.
func (c cluster) setup(env *testscript.Env) error {
	name := "s-" + strings.ToLower(strings.TrimPrefix(filepath.Base(env.WorkDir), "script-"))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Create(context.Background(), namespace); err != nil {
		return err
	}
	if err := expand(env); err != nil {
		return err
	}
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		return err
	}
	config.Contexts[config.CurrentContext] = &clientcmdapi.Context{
		Cluster: config.Contexts[config.CurrentContext].Cluster, AuthInfo: config.Contexts[config.CurrentContext].AuthInfo, Namespace: name,
	}
	kubeconfig := filepath.Join(env.WorkDir, ".kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		return err
	}
	env.Values[repositories{}] = &scriptServers{}
	env.Setenv("NAMESPACE", name)
	env.Setenv("KUBECONFIG", kubeconfig)
	env.Setenv("DATA", c.Data)
	env.Setenv("EXAMPLES", filepath.Join(c.Root, "examples"))
	env.Setenv("PATH", strings.Join([]string{c.Tools, c.Bin, os.Getenv("PATH")}, string(os.PathListSeparator)))
	return nil
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

// patience is how long eventually waits.
const patience = 60 * time.Second

// eventually runs a command until its output matches a regular expression: eventually REGEXP COMMAND [ARG...].
func (c cluster) eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually REGEXP COMMAND [ARG...]")
	}
	want := compile(ts, args[0])
	deadline := time.Now().Add(patience)
	for {
		out, _ := c.command(ts, args[1], args[2:]...).CombinedOutput() // one that fails has not the output yet
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

// command is one that runs as in the script.
func (c cluster) command(ts *testscript.TestScript, name string, args ...string) *exec.Cmd {
	switch name {
	case "kubectl":
		name = filepath.Join(c.Tools, name)
	case "cairn":
		name = filepath.Join(c.Bin, name)
	}
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+ts.Getenv("KUBECONFIG"), "PATH="+ts.Getenv("PATH"))
	cmd.Dir = ts.Getenv("WORK")
	return cmd
}

func (c cluster) kubectl(ts *testscript.TestScript, args ...string) []byte {
	out, err := c.command(ts, "kubectl", args...).CombinedOutput()
	if err != nil {
		ts.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}
