//go:build e2e && linux

package node_test

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"cairn.dev/cairn/test/node"
)

// helper is a variable with which the test binary starts a node and waits to be killed.
const helper = "NODE_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helper) != "" {
		if _, err := node.Up(context.Background()); err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString("up\n")
		select {}
	}
	os.Exit(m.Run())
}

func TestNodeEndsWithItsProcess(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), helper+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", dir+"/admin.kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	cluster{T: t, kube: kube}.runPod("survivor", func(p *corev1.PodSpec) {
		p.Containers[0].Image = "registry.local/pause:1"
	}, "of", "its", "node")
	if all := strings.Join(leftovers(t), "\n"); !strings.Contains(all, "/pause of its node") ||
		!strings.Contains(all, "/etcd ") || !strings.Contains(all, "cgroup ") || !strings.Contains(all, "link ") {
		t.Fatalf("leftovers does not detect a running node:\n%s", all)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed above
	// Cgroups and files remain until Down or the next start.
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := leftovers(t)
		var living []string
		for _, l := range left {
			if !strings.HasPrefix(l, "cgroup") {
				living = append(living, l)
			}
		}
		if len(living) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("outlived its process:\n%s", strings.Join(living, "\n"))
		}
	}
	if err := node.Down(t.Context()); err != nil {
		t.Error(err)
	}
	if left := leftovers(t); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

const dir = "/var/lib/cairn-node"

// leftovers returns the processes, cgroups, mounts and links of a node.
func leftovers(t *testing.T) (left []string) {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		command, _ := os.ReadFile(p + "/cmdline")
		cgroups, _ := os.ReadFile(p + "/cgroup")
		folder, _ := os.Readlink(p + "/cwd")
		if strings.Contains(string(command), dir) || strings.HasPrefix(folder, dir) ||
			strings.Contains(string(cgroups), ":/cairn-node") {
			left = append(left, "process "+filepath.Base(p)+": "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, dir) {
			left = append(left, "mount "+line)
		}
	}
	for _, pattern := range []string{"/sys/fs/cgroup/cairn-node", "/sys/fs/cgroup/*/cairn-node"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, cgroup := range found {
			left = append(left, "cgroup "+cgroup)
		}
	}
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if l.Name == "cairn-node" || l.Name == "cni0" || strings.HasPrefix(l.Name, "veth") {
			left = append(left, "link "+l.Name)
		}
	}
	return left
}
