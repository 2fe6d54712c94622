// Package scripts runs testdata/*.txtar against a real `cairn dev`, with plain kubectl. All scripts share one `cairn
// dev`; each has its own namespace.
package scripts

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/test/devcluster"
	"cairn.dev/cairn/test/story"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

// cluster is the `cairn dev` that the scripts share.
type cluster struct {
	*devcluster.Cluster
	story.Environment
}

func newCluster(c *devcluster.Cluster, hooks string) cluster {
	return cluster{c, story.Environment{
		Kubeconfig: c.Kubeconfig, Tools: c.Tools, Bin: c.Bin, Root: c.Root, Hooks: hooks, Audit: c.AuditLog(),
		Host:    "127.0.0.1",
		Written: []string{filepath.Join(c.Data, "bucket"), filepath.Join(c.Data, "pods")},
	}}
}

func TestScripts(t *testing.T) {
	hooks := devcluster.FreeAddress(t)
	args := append(append(engines(t), providerFolder(t)...), "--web-listen="+hooks, "--allow-shell")
	testscript.Run(t, newCluster(devcluster.Start(t, args...), "http://"+hooks).scripts("testdata"))
}

// The scripts stop the operator or the server. They have their own `cairn dev`, with a short runner patience, so that
// runners report an unavailable server within the test.
func TestScriptsThatStopProcesses(t *testing.T) {
	t.Parallel()
	testscript.Run(t, newCluster(devcluster.StartSplit(t, "--runner-patience=5s"), "").scripts("testdata/split"))
}

// The scripts kill `cairn-controller serve`. They have their own `cairn dev`, since requests to a killed server fail.
func TestScriptsThatKillProcesses(t *testing.T) {
	t.Parallel()
	testscript.Run(t, newCluster(devcluster.Start(t), "").scripts("testdata/killed"))
}

// scripts returns the parameters to run the scripts of a folder.
func (c cluster) scripts(dir string) testscript.Params {
	commands := c.Commands()
	maps.Copy(commands, map[string]func(*testscript.TestScript, bool, []string){
		"create-stack":  c.createStack,
		"delete-bucket": deleteBucket,
		"http-state":    stateServer,
		"kill-operator": c.killOperator,
		"kill-runner":   c.killRunner,
		"lock-id":       lockID,
		"receiver":      receiver,
		"reject-states": c.rejectStates,
		"s3":            bucketServer,
		"signal":        c.signal,
		"wait-journal":  c.waitJournal,
	})
	return testscript.Params{Dir: dir, Setup: c.setup, Cmds: commands}
}

// setup creates the namespace of a script, and sets its kubeconfig and tools.
func (c cluster) setup(env *testscript.Env) error {
	name := story.Namespace(env)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Create(context.Background(), namespace); err != nil {
		return err
	}
	env.Setenv("DATA", c.Data)
	env.Setenv("ROOT_MODULES", cmp.Or(os.Getenv("ROOT_MODULES"), "30")) // of adopt-root-modules.txtar
	return c.Setup(env, name)
}
