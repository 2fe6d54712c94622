// Package devcluster starts a real `cairn dev` for tests and benchmarks.
package devcluster

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/test/ports"
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

// Start starts `cairn dev` with a new data folder and arguments for `cairn-controller serve`, and stops it at the end of the test.
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
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	tools, err := dev.BinDir()
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Data: t.TempDir(), Tools: tools, Bin: filepath.Join(root, "bin"), Root: root, devArgs: devArgs, serveArgs: serveArgs}
	c.Kubeconfig = filepath.Join(c.Data, "kubeconfig")
	c.start(t)
	t.Cleanup(func() { c.stop() })
	return c
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
	c.start(t)
}

func (c *Cluster) start(t testing.TB) {
	t.Helper()
	args := append([]string{"dev", "--data", c.Data, "--kubeconfig", c.Kubeconfig, "--bin", c.Tools}, c.devArgs...)
	args = append(append(args, "--", "--drift-interval=0"), c.serveArgs...) // no drift checks, unless a test enables them
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, filepath.Join(c.Bin, "cairn"), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: run make build first", err)
	}
	c.stop = func() {
		cancel()
		_ = cmd.Wait() // interrupted above
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "Ctrl-C") {
			c.connect(t)
			return
		}
	}
	t.Fatal("cairn dev ended before it was ready")
}

// AuditLog is the path of the log of writes to the API server.
func (c *Cluster) AuditLog() string { return filepath.Join(c.Data, "controlplane", "audit.log") }

func (c *Cluster) connect(t testing.TB) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	if c.WithWatch, err = client.NewWithWatch(config, client.Options{}); err != nil {
		t.Fatal(err)
	}
}
