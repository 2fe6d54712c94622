//go:build e2e

// Package e2e installs Cairn on a real node by its chart, from its images, and runs scripts there.
package e2e

import (
	"context"
	"maps"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/node"
	"cairn.dev/cairn/test/story"
)

// scripts is the order of the scripts. Those of a group run at the same time, as many as there are processors: they
// change neither the installation nor the node. Of test/scripts, which runs on processes, it has those whose result
// containers or a Service can change.
var scripts = [][]string{
	{"install"}, {"engines"},
	{
		"tenants", "../../scripts/testdata/example", "../../scripts/testdata/git",
		"shell", "minimal-image", "runner-killed", "pod-deleted", "out-of-memory", "pod-pending",
	},
	{"upgrade"}, {"provider-image"}, {"build"}, {"node-drained"}, {"node-lost"}, {"split-mode"}, {"uninstall"},
}

func TestScripts(t *testing.T) {
	c := start(t)
	for _, group := range scripts {
		files := make([]string, len(group))
		for i, name := range group {
			files[i] = filepath.Join("testdata", name+".txtar")
		}
		passed := t.Run(filepath.Base(group[0]), func(t *testing.T) {
			testscript.Run(t, testscript.Params{Files: files, Setup: c.setup, Cmds: c.commands()})
		})
		if !passed && group[0] == "install" {
			t.FailNow() // the other scripts need the installation
		}
	}
}

// scheme has the types that the tests read.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}()

// cluster is a real node.
type cluster struct {
	*node.Node
	client.WithWatch
	story.Environment
	t testing.TB
}

// start starts the node, with the images of `make e2e-images`.
func start(t testing.TB) cluster {
	n := node.Start(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "plain.tar")
	must(t, node.Image{Ref: "registry.local/plain:1",
		Files: map[string]string{"/usr/bin/tofu": filepath.Join(n.Tools, "tofu")}}.Write(plain))
	for _, archive := range []string{filepath.Join(root, "bin", "images", "cairn.tar"),
		filepath.Join(root, "bin", "images", "cairn-tools.tar"),
		filepath.Join(root, "bin", "images", "cairn-builder.tar"), plain} {
		if err := n.Load(t.Context(), archive); err != nil {
			t.Fatalf("%v: run make e2e-images first", err)
		}
	}
	loadProviders(t, n, providerImage, nil)
	kube, err := client.NewWithWatch(n.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return cluster{n, kube, story.Environment{
		Kubeconfig: n.Kubeconfig, Tools: n.Tools, Bin: filepath.Join(root, "bin"), Root: root, Host: n.Host,
		Audit:   n.AuditLog(),
		Written: []string{filepath.Join(n.Dir, "volumes"), filepath.Join(n.Dir, "pod-logs")},
	}, t}
}

func (c cluster) commands() map[string]func(*testscript.TestScript, bool, []string) {
	commands := c.Commands()
	maps.Copy(commands, map[string]func(*testscript.TestScript, bool, []string){
		"cloud":          cloud,
		"continue":       proceed,
		"created":        created,
		"kill-container": c.kill,
		"kubelet":        c.kubelet,
		"orphan-all":     c.orphanAll,
		"provider-lock":  c.lock,
		"registry":       c.registry,
		"releases":       c.releases,
		"s3":             c.s3,
		"wait-created":   waitCreated,
	})
	return commands
}

// setup creates the namespace of a script, which is not deleted.
func (c cluster) setup(env *testscript.Env) error {
	name := story.Namespace(env)
	if err := c.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}); err != nil {
		return err
	}
	env.Values[clouds{}] = &counter{created: map[string]int{}, host: c.Node.Host}
	env.Setenv("CHART", filepath.Join(c.Root, "charts", "cairn"))
	env.Setenv("HOST", c.Node.Host)
	service := &corev1.Service{}
	if c.Get(context.Background(), client.ObjectKey{Namespace: "cairn-system", Name: "cairn"}, service) == nil {
		env.Setenv("HOOKS", "http://"+service.Spec.ClusterIP+":8080")
	}
	return c.Setup(env, name)
}

// kill sends a signal to the first process of a container without the kubelet: kill-container POD CONTAINER SIGNAL.
func (c cluster) kill(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]syscall.Signal{"KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM, "STOP": syscall.SIGSTOP,
		"CONT": syscall.SIGCONT}
	ts.Check(c.KillContainer(context.Background(), ts.Getenv("NAMESPACE"), args[0], args[1], signals[args[2]]))
}

// kubelet stops the node's kubelet, and starts it again: kubelet stop|start.
func (c cluster) kubelet(ts *testscript.TestScript, _ bool, args []string) {
	if args[0] == "stop" {
		c.StopKubelet()
		return
	}
	ts.Check(c.StartKubelet())
}

// orphanAll deletes all Stacks with deletionPolicy Orphan: orphan-all.
func (c cluster) orphanAll(ts *testscript.TestScript, _ bool, _ []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*story.Timeout)
	defer cancel()
	var stacks v1alpha1.StackList
	ts.Check(c.List(ctx, &stacks))
	for _, s := range stacks.Items {
		ts.Check(c.Patch(ctx, &s,
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"deletionPolicy":"Orphan"}}`))))
		ts.Check(c.Delete(ctx, &s))
	}
	for len(stacks.Items) > 0 {
		time.Sleep(50 * time.Millisecond)
		ts.Check(c.List(ctx, &stacks))
	}
}
