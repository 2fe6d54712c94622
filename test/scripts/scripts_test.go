// Package scripts runs testdata/*.txtar: each tells a part of a user's day against a real `cairn dev`, with plain
// kubectl. All scripts share one `cairn dev`; each has a namespace of its own.
package scripts

import (
	"context"
	"maps"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/test/devcluster"
	"cairn.dev/cairn/test/story"
)

// A cluster is the `cairn dev` that the scripts share.
type cluster struct {
	*devcluster.Cluster
	story.Teller
}

func newCluster(c *devcluster.Cluster, hooks string) cluster {
	return cluster{c, story.Teller{
		Kubeconfig: c.Kubeconfig, Tools: c.Tools, Bin: c.Bin, Root: c.Root, Hooks: hooks, Audit: c.AuditLog(), Host: "127.0.0.1",
		Written: []string{filepath.Join(c.Data, "bucket"), filepath.Join(c.Data, "pods")},
	}}
}

func TestScripts(t *testing.T) {
	hooks := devcluster.FreeAddress(t)
	args := append(append(engines(t), providerFolder(t)...), "--web-listen="+hooks, "--allow-shell")
	testscript.Run(t, newCluster(devcluster.Start(t, args...), "http://"+hooks).scripts("testdata"))
}

// A script that stops the operator or the server, for a while. It has a `cairn dev` of its own, and a short patience, so that a
// store that is away or refuses everything is given up on within a test.
func TestScriptsThatStopProcesses(t *testing.T) {
	t.Parallel()
	testscript.Run(t, newCluster(devcluster.StartSplit(t, "--runner-patience=5s"), "").scripts("testdata/split"))
}

// Scripts that kill `cairn-controller serve`. They have a `cairn dev` of their own: what people ask of a server that is not there is refused.
func TestScriptsThatKillProcesses(t *testing.T) {
	t.Parallel()
	testscript.Run(t, newCluster(devcluster.Start(t), "").scripts("testdata/killed"))
}

// scripts are those in a folder, with what they can call.
func (c cluster) scripts(dir string) testscript.Params {
	commands := c.Commands()
	maps.Copy(commands, map[string]func(*testscript.TestScript, bool, []string){
		"http-state":    stateServer,
		"journaled":     c.journaled,
		"kill-operator": c.killOperator,
		"kill-runner":   c.killRunner,
		"lock-id":       lockID,
		"make-stack":    c.makeStack,
		"refuse-states": c.refuseStates,
		"s3":            bucketServer,
		"signal":        c.signal,
		"vanished":      vanished,
	})
	return testscript.Params{Dir: dir, Setup: c.setup, Cmds: commands}
}

// setup gives a script its namespace, its kubeconfig and the tools.
func (c cluster) setup(env *testscript.Env) error {
	name := story.Namespace(env)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Create(context.Background(), namespace); err != nil {
		return err
	}
	env.Setenv("DATA", c.Data)
	return c.Setup(env, name)
}
