//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Paths and addresses. They are constants, since one node runs on a machine.
const (
	dir      = "/var/lib/cairn-node"
	lockFile = "/run/cairn-node.lock"

	nodeName    = "node1"
	address     = "172.31.255.1" // of the node
	host        = "172.31.255.2" // of this machine for the node
	pods        = "10.244.0.0/24"
	services    = "10.96.0.0/16"
	firstIP     = "10.96.0.1" // of the Service "kubernetes"
	dnsIP       = "10.96.0.10"
	endpoint    = "https://" + address + ":6443"
	hostLink    = "cairn-node"
	cgroup      = "/cairn-node"
	cgroupMount = "/sys/fs/cgroup"
)

// takenError has the process that runs the existing node.
type takenError struct{ pid int }

func (e *takenError) Error() string {
	return fmt.Sprintf("process %d runs a node already, and there can be one on a machine", e.pid)
}

// lock ensures one node per machine. The kernel releases the lock when this process ends.
func lock() (*os.File, error) {
	f, err := os.OpenFile(lockFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the node: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 32))
		_ = f.Close()
		pid, _ := strconv.Atoi(string(holder))
		return nil, &takenError{pid}
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteString(strconv.Itoa(os.Getpid()))
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock the node: %w", err)
	}
	return f, nil
}

// boot starts the first process of the node in new namespaces, and connects them with this machine.
func (n *Node) boot(ctx context.Context) error {
	_, _ = run(ctx, "", "modprobe", "--all", "br_netfilter", "overlay") // fails where they are built in
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	n.first, err = n.group.Start(&exec.Cmd{
		Path: n.path("pause"), Args: []string{"pause", "node"}, Dir: "/", Stdout: w,
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET},
	})
	_ = w.Close()
	if err != nil {
		return fmt.Errorf("start the node's first process: %w", err)
	}
	// It closes the pipe when it is ready, and writes errors to it before that.
	if end, ok := ctx.Deadline(); ok {
		_ = r.SetReadDeadline(end) // pipes support it
	}
	if output, err := io.ReadAll(r); err != nil {
		return fmt.Errorf("prepare the node's namespaces: %w", err)
	} else if len(output) > 0 {
		return fmt.Errorf("prepare the node's namespaces: %s", output)
	}
	pid := strconv.Itoa(n.first.Pid())
	// The kernel deletes the other end of the link, and with it the routes, with the node's network.
	_, _ = run(ctx, "", "ip", "link", "delete", hostLink) // the kernel deletes it asynchronously
	if _, err := run(ctx, strings.Join([]string{
		"link add " + hostLink + " type veth peer name eth0 netns " + pid,
		"address add " + host + "/30 dev " + hostLink,
		"link set " + hostLink + " up",
		"route add " + pods + " via " + address,
		"route add " + services + " via " + address,
	}, "\n"), "ip", "-batch", "-"); err != nil {
		return err
	}
	_, err = run(ctx, strings.Join([]string{
		"link set lo up",
		"address add " + address + "/30 dev eth0",
		"link set eth0 up",
	}, "\n"), "nsenter", "--target", pid, "--net", "--", "ip", "-batch", "-")
	return err
}

// createCgroups creates the parent cgroup of the kubelet in each hierarchy.
func createCgroups() error {
	if controllers, err := os.ReadFile(cgroupMount + "/cgroup.controllers"); err == nil { // version 2
		for c := range strings.FieldsSeq(string(controllers)) {
			if err := os.WriteFile(cgroupMount+"/cgroup.subtree_control", []byte("+"+c), 0); err != nil {
				return fmt.Errorf("enable cgroup controller %s: %w", c, err)
			}
		}
	}
	for _, root := range cgroupRoots() {
		if err := os.MkdirAll(root, 0o755); err != nil { //nolint:gosec // the mode of all cgroups
			return fmt.Errorf("create cgroup: %w", err)
		}
	}
	return nil
}

// removeCgroups removes them, once the last process in them has ended.
func removeCgroups(ctx context.Context) error {
	for _, root := range cgroupRoots() {
		if err := await(ctx, "the end of "+root, func() error { return removeCgroup(root) }); err != nil {
			return err
		}
	}
	return nil
}

// removeCgroup removes a cgroup and those in it, and kills their processes. The files of a cgroup cannot be removed
// individually.
func removeCgroup(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := removeCgroup(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	procs, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
	for line := range strings.FieldsSeq(string(procs)) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it fails only if the process has ended
		}
	}
	if err := syscall.Rmdir(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove cgroup %s: %w", path, err)
	}
	return nil
}

// cgroupRoots returns the node's cgroups: one in version 2, one for each controller in version 1.
func cgroupRoots() []string {
	if _, err := os.Stat(filepath.Join(cgroupMount, "cgroup.controllers")); err == nil {
		return []string{cgroupMount + cgroup}
	}
	controllers, _ := filepath.Glob(cgroupMount + "/*/cgroup.procs")
	var roots []string
	for _, procs := range controllers {
		roots = append(roots, filepath.Dir(procs)+cgroup)
	}
	return roots
}

// run runs a program to its end and returns what it printed.
func run(ctx context.Context, stdin string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return string(out), fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err,
			strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}

// await calls check until it succeeds, and returns its last error when ctx ends first.
func await(ctx context.Context, what string, check func() error) error {
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		err := check()
		if err == nil {
			tick.Stop()
			return nil
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return fmt.Errorf("wait for %s: %w: %w", what, context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}
