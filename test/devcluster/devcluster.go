// Package devcluster starts a real `cairn dev` for tests and benchmarks.
package devcluster

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/dev/ports"
	"cairn.dev/cairn/test/program"
)

// Cluster is a `cairn dev` that runs until the end of the test.
type Cluster struct {
	client.WithWatch
	// Data is its data folder, Kubeconfig its kubeconfig.
	Data, Kubeconfig string
	// Tools has kubectl and tofu, Bin has cairn, Root is the checkout.
	Tools, Bin, Root string

	devArgs, serveArgs []string
	stop               func()
}

// Start starts `cairn dev` with a new data folder and arguments for `cairn-controller serve`, and stops it at the end
// of the test.
func Start(t testing.TB, serveArgs ...string) *Cluster {
	t.Helper()
	return start(t, nil, serveArgs)
}

// StartSplit is Start with the operator and the server as separate processes.
func StartSplit(t testing.TB, serveArgs ...string) *Cluster {
	t.Helper()
	return start(t, []string{"--split"}, serveArgs)
}

// StartDev is Start with arguments for `cairn dev` itself.
func StartDev(t testing.TB, devArgs []string, serveArgs ...string) *Cluster {
	t.Helper()
	return start(t, devArgs, serveArgs)
}

func start(t testing.TB, devArgs, serveArgs []string) *Cluster {
	t.Helper()
	c, err := newCluster(t.TempDir(), devArgs, serveArgs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.stop() })
	return c
}

func newCluster(data string, devArgs, serveArgs []string) (*Cluster, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	tools, err := dev.BinDir()
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Data: data, Tools: tools, Bin: filepath.Join(root, "bin"), Root: root, devArgs: devArgs, serveArgs: serveArgs,
	}
	c.Kubeconfig = filepath.Join(c.Data, "kubeconfig")
	return c, c.start()
}

// shared is the `cairn dev` that Shared starts and Main stops.
var shared struct {
	start sync.Once
	data  string
	*Cluster
	err error
}

// Shared returns the `cairn dev` that tests of a package share, each in its own namespaces. The first call starts it;
// the package has Main as its TestMain. A test that stops Cairn or counts what it writes has a cluster of its own.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	shared.start.Do(func() {
		if shared.data, shared.err = os.MkdirTemp("", "cairn-dev-"); shared.err == nil {
			shared.Cluster, shared.err = newCluster(shared.data, nil, nil)
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.Cluster
}

// Main is a TestMain. It runs six parallel tests at once unless -parallel is set, since they wait for pods most of the
// time, and stops the cluster of Shared.
func Main(m *testing.M) {
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	program.CollectLess()
	code := m.Run()
	if shared.Cluster != nil && shared.err == nil {
		shared.stop()
	}
	_ = os.RemoveAll(shared.data) // in the folder for temporary files
	os.Exit(code)
}

// FreeAddress returns an address on this machine that nothing listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	address, err := ports.Free(t.Context(), "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// Restart stops `cairn dev`, as Ctrl-C does, and starts it again with the same data folder.
func (c *Cluster) Restart(t testing.TB) {
	t.Helper()
	c.stop()
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) start() error {
	args := append([]string{"dev", "--data", c.Data, "--kubeconfig", c.Kubeconfig, "--bin", c.Tools}, c.devArgs...)
	// no drift checks, unless a test enables them
	args = append(append(args, "--", "--drift-interval=0"), c.serveArgs...)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, filepath.Join(c.Bin, "cairn"), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return err
	}
	if err := cmd.Start(); err != nil {
		cancel()
		return fmt.Errorf("%w: run make build first", err)
	}
	c.stop = func() {
		cancel()
		_ = cmd.Wait() // interrupted above
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "Ctrl-C") {
			if err = c.connect(); err != nil {
				c.stop()
			}
			return err
		}
	}
	c.stop()
	return errors.New("cairn dev ended before it was ready")
}

// AuditLog is the path of the log of writes to the API server.
func (c *Cluster) AuditLog() string { return filepath.Join(c.Data, "controlplane", "audit.log") }

func (c *Cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return err
	}
	if err := v1alpha1.AddToScheme(scheme.Scheme); err != nil {
		return err
	}
	c.WithWatch, err = client.NewWithWatch(config, client.Options{})
	return err
}
