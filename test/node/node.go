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
	// Config is the access of someone who may do everything. Set a UserAgent on a copy to be told apart in the audit log.
	Config *rest.Config
	// Kubeconfig is a file with the same access.
	Kubeconfig string
	// Dir is the node's folder.
	Dir string
	// Tools has kubectl and the others that `make` builds.
	Tools string
	// Host is the address by which pods reach servers on this machine.
	Host string

	lock      *os.File
	group     *process.Group
	authority *authority.Authority
	first     *process.Process
	kubelet   *process.Process

	mu      sync.Mutex
	running []component // in the order they were started
}

// limits are far more than the slowest machine needs.
const (
	startLimit = 3 * time.Minute
	stopLimit  = time.Minute
)

// Start starts a node that lives as long as the test. In a TestMain, for all tests, use Up.
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

// Up starts a node and returns when a pod can run on it. ctx limits the start only; Stop ends what was started, and so does
// the end of this process.
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
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not there after %s: see the logs in %s", startLimit, n.Dir))
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

// clear removes what an earlier node left behind.
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

// prepare makes all files that the node is started with.
func (n *Node) prepare(ctx context.Context) (err error) {
	if err := os.MkdirAll(n.path("pki"), 0o755); err != nil { //nolint:gosec // containers come through here as their own users
		return err
	}
	if n.authority, err = authority.Load(n.path("pki"), "cairn node"); err != nil {
		return fmt.Errorf("make certificates: %w", err)
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
		makeCgroups,
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
	if err := n.makeObjects(ctx); err != nil {
		return err
	}
	return n.awaitReady(ctx)
}

// Stop ends the node and all that is on it. A second Stop does nothing.
func (n *Node) Stop() error {
	if n.lock == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	var wrong []error
	if n.kubelet != nil {
		n.StopKubelet() // who would start containers again
		wrong = append(wrong, n.removeContainers(ctx))
	}
	for _, c := range slices.Backward(n.running) {
		c.proc.Kill()
	}
	if n.first != nil {
		n.first.Kill() // and with it whatever else is in the node
	}
	if n.group != nil {
		wrong = append(wrong, n.group.Close())
	}
	wrong = append(wrong, removeCgroups(ctx), n.lock.Close())
	n.lock = nil
	return errors.Join(wrong...)
}

// Down ends the process that runs the node of this machine, if one does, and clears away what nodes leave behind, the kept
// images included.
func Down(ctx context.Context) error {
	n := &Node{Dir: dir}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	told := 0
	if err := await(ctx, "the node to end", func() (err error) {
		n.lock, err = lock()
		if taken := (*takenError)(nil); errors.As(err, &taken) && taken.pid > 0 && taken.pid != told {
			told = taken.pid
			return errors.Join(err, syscall.Kill(told, syscall.SIGTERM))
		}
		return err
	}); err != nil {
		return err
	}
	return errors.Join(removeCgroups(ctx), os.RemoveAll(n.Dir), n.lock.Close())
}

// Kubectl runs kubectl as someone who may do everything, and returns what it printed.
func (n *Node) Kubectl(ctx context.Context, args ...string) (string, error) {
	return run(ctx, "", n.tool("kubectl"), append([]string{"--kubeconfig", n.Kubeconfig, "--cache-dir", n.path("kubectl-cache")}, args...)...)
}

// Containerd is the path of its socket.
func (n *Node) Containerd() string { return n.path("containerd/containerd.sock") }

// AuditLog is where the writes to the API are kept, to be read with dev.Writes.
func (n *Node) AuditLog() string { return n.path("audit.log") }

func (n *Node) path(name string) string       { return filepath.Join(n.Dir, name) }
func (n *Node) tool(name string) string       { return filepath.Join(n.Tools, name) }
func (n *Node) log(name string) string        { return n.path(name + ".log") }
func (n *Node) kubeconfig(user string) string { return n.path(user + ".kubeconfig") }

func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
