//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/dev/authority"
	"cairn.dev/cairn/dev/process"
)

// Node is a running Kubernetes of one node.
type Node struct {
	// Config is that of a cluster administrator. Set UserAgent on a copy to distinguish clients in the audit log.
	Config *rest.Config
	// Kubeconfig is a file with the same access.
	Kubeconfig string
	// Dir is the node's folder.
	Dir string
	// Tools is the folder of kubectl and the other tools that `make` builds.
	Tools string
	// Host is the address by which pods reach servers on this machine.
	Host string

	lock      *os.File
	group     *process.Group
	authority *authority.Authority
	first     *process.Process
	kubelet   *process.Process

	mu      sync.Mutex
	running []component // in the order of their start
}

// The timeouts are long enough for slow machines.
const (
	startLimit = 3 * time.Minute
	stopLimit  = time.Minute
)

// Start starts a node and stops it at the end of the test. In a TestMain, for all tests, use Up.
func Start(t testing.TB) *Node {
	t.Helper()
	n, err := Up(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// Up starts a node and returns when a pod can run on it. ctx limits the start only. The node ends with Stop or with
// this process.
func Up(ctx context.Context) (_ *Node, err error) {
	n := &Node{Dir: dir, Host: host}
	n.Kubeconfig = n.kubeconfig("admin")
	if n.Tools, err = dev.BinDir(); err != nil {
		return nil, err
	}
	if err := check(n.Tools); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Stop())
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %s: see the logs in %s",
		startLimit, n.Dir))
	defer cancel()
	if n.lock, err = lock(); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{n.clear, n.prepare, n.boot, n.startAll} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("start the node: %w", err)
		}
	}
	return n, nil
}

// clear removes the files and cgroups of an earlier node.
func (n *Node) clear(ctx context.Context) error {
	if err := removeCgroups(ctx); err != nil {
		return err
	}
	_, err := os.Stat(n.path(clean))
	keepImages := err == nil
	entries, err := os.ReadDir(n.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Name() == "containerd" && keepImages {
			continue
		}
		if err := os.RemoveAll(n.path(e.Name())); err != nil {
			return err
		}
	}
	if keepImages {
		return errors.Join(os.Remove(n.path(clean)), os.RemoveAll(n.path("containerd/state")))
	}
	return nil
}

// prepare writes all files of the node.
func (n *Node) prepare(ctx context.Context) (err error) {
	if err := os.MkdirAll(n.path("pki"), 0o755); err != nil { //nolint:gosec // users of containers need access
		return err
	}
	if n.authority, err = authority.Load(n.path("pki"), "cairn node"); err != nil {
		return fmt.Errorf("create certificates: %w", err)
	}
	if n.Config, err = n.config("admin", "system:masters"); err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return writeKubeconfig(n.Kubeconfig, n.Config) },
		n.writeControlPlane,
		n.writeWorker,
		func() error { return Build(ctx, "cairn.dev/cairn/test/node/pause", n.path("pause")) },
		n.writePause,
		createCgroups,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	n.group, err = process.NewGroup()
	return err
}

func (n *Node) startAll(ctx context.Context) error {
	if err := n.startAPIServer(); err != nil {
		return err
	}
	if err := n.startContainerd(ctx); err != nil { // while the API server starts
		return err
	}
	if err := n.awaitAPIServer(ctx); err != nil {
		return err
	}
	for _, step := range []func() error{n.startControllers, n.startServices, n.StartKubelet} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := n.createObjects(ctx); err != nil {
		return err
	}
	return n.awaitReady(ctx)
}

// Stop ends the node and everything on it. A second Stop has no effect.
func (n *Node) Stop() error {
	if n.lock == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	var wrong []error
	if n.kubelet != nil {
		n.StopKubelet() // it would restart containers
		wrong = append(wrong, n.removePods(ctx))
	}
	for _, c := range slices.Backward(n.running) {
		c.proc.Kill()
	}
	if n.first != nil {
		n.first.Kill() // with all other processes of the node
	}
	if n.group != nil {
		wrong = append(wrong, n.group.Close())
	}
	wrong = append(wrong, removeCgroups(ctx), n.lock.Close())
	n.lock = nil
	return errors.Join(wrong...)
}

// Down ends the process that runs the node of this machine, if there is one, and removes all files and cgroups of
// nodes, including images.
func Down(ctx context.Context) error {
	n := &Node{Dir: dir}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	signaled := 0
	if err := await(ctx, "the node to end", func() (err error) {
		n.lock, err = lock()
		if taken := (*takenError)(nil); errors.As(err, &taken) && taken.pid > 0 && taken.pid != signaled {
			signaled = taken.pid
			return errors.Join(err, syscall.Kill(signaled, syscall.SIGTERM))
		}
		return err
	}); err != nil {
		return err
	}
	return errors.Join(removeCgroups(ctx), os.RemoveAll(n.Dir), n.lock.Close())
}

// Kubectl runs kubectl as a cluster administrator, and returns its output.
func (n *Node) Kubectl(ctx context.Context, args ...string) (string, error) {
	return run(ctx, "", n.tool("kubectl"),
		append([]string{"--kubeconfig", n.Kubeconfig, "--cache-dir", n.path("kubectl-cache")}, args...)...)
}

// Containerd is the path of its socket.
func (n *Node) Containerd() string { return n.path("containerd/containerd.sock") }

// AuditLog is the path of the log of writes to the API, for dev.Writes.
func (n *Node) AuditLog() string { return n.path("audit.log") }

func (n *Node) path(name string) string       { return filepath.Join(n.Dir, name) }
func (n *Node) tool(name string) string       { return filepath.Join(n.Tools, name) }
func (n *Node) log(name string) string        { return n.path(name + ".log") }
func (n *Node) kubeconfig(user string) string { return n.path(user + ".kubeconfig") }

func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
