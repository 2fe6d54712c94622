//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

// ctr runs containerd's own client on the node's containers and images.
func (n *Node) ctr(ctx context.Context, args ...string) (string, error) {
	return run(ctx, "", n.tool("ctr"), append([]string{"--address", n.Containerd(), "--namespace", "k8s.io"},
		args...)...)
}

// KillContainer sends a signal to the first process of a container that runs, without the kubelet.
func (n *Node) KillContainer(ctx context.Context, namespace, pod, container string, signal syscall.Signal) error {
	ids, err := n.list(ctx, "containers", fmt.Sprintf(
		`labels."io.kubernetes.pod.namespace"==%q,labels."io.kubernetes.pod.name"==%q,labels."io.kubernetes.container.name"==%q`,
		namespace, pod, container))
	if err != nil {
		return err
	}
	tasks, err := n.ctr(ctx, "tasks", "ls")
	if err != nil {
		return err
	}
	for _, id := range ids { // the running one, and earlier ones of the same name
		for line := range strings.Lines(tasks) {
			if f := strings.Fields(line); len(f) == 3 && f[0] == id && f[2] == "RUNNING" {
				_, err := n.ctr(ctx, "tasks", "kill", "--signal", fmt.Sprint(int(signal)), id)
				return err
			}
		}
	}
	return fmt.Errorf("no container %s of pod %s/%s runs", container, namespace, pod)
}

// list returns the IDs of all containers, sandboxes or leases that match the filter.
func (n *Node) list(ctx context.Context, kind string, filter ...string) (ids []string, err error) {
	out, err := n.ctr(ctx, append([]string{kind, "ls"}, filter...)...)
	_, rows, _ := strings.Cut(out, "\n") // the first line has the names of the columns
	for row := range strings.Lines(rows) {
		id, _, _ := strings.Cut(row, " ")
		ids = append(ids, id)
	}
	return ids, err
}

// removePods removes all containers, sandboxes and leases, so that only images remain, and creates the file clean.
func (n *Node) removePods(ctx context.Context) error {
	for _, step := range []struct {
		kind   string
		remove [][]string
	}{
		{"containers", [][]string{{"tasks", "delete", "--force"}, {"containers", "delete"}}},
		{"sandboxes", [][]string{{"sandboxes", "remove", "--force"}}},
		{"leases", [][]string{{"leases", "delete", "--sync"}}}, // with the snapshots of image volumes
	} {
		// Other processes remove them too, so a removal can fail and is retried.
		if err := await(ctx, step.kind+" to be removed", func() error {
			ids, err := n.list(ctx, step.kind)
			if err != nil || len(ids) == 0 {
				return err
			}
			failed := fmt.Errorf("%d remained", len(ids))
			for _, args := range step.remove {
				_, err := n.ctr(ctx, slices.Concat(args, ids)...)
				failed = errors.Join(failed, err)
			}
			return failed
		}); err != nil {
			return err
		}
	}
	return os.WriteFile(n.path(clean), nil, 0o600)
}

// clean is a file that exists while the retained folder of containerd has no pods.
const clean = "containerd/clean"
