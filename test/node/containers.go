//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// ctr runs containerd's own client on the node's containers and images.
func (n *Node) ctr(ctx context.Context, args ...string) (string, error) {
	return run(ctx, "", "ctr", append([]string{"--address", n.Containerd(), "--namespace", "k8s.io"}, args...)...)
}

// KillContainer sends a signal to the first process of a container that runs, without the kubelet.
func (n *Node) KillContainer(ctx context.Context, namespace, pod, container string, signal syscall.Signal) error {
	ids, err := n.containers(ctx, fmt.Sprintf(
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

func (n *Node) containers(ctx context.Context, filter ...string) ([]string, error) {
	out, err := n.ctr(ctx, append([]string{"containers", "ls", "--quiet"}, filter...)...)
	return strings.Fields(out), err
}

// removeContainers removes all containers, so that only images remain, and creates the file clean.
func (n *Node) removeContainers(ctx context.Context) error {
	// Other processes remove containers too, so a removal can fail and is retried.
	if err := await(ctx, "containers to be removed", func() error {
		ids, err := n.containers(ctx)
		if err != nil || len(ids) == 0 {
			return err
		}
		_, killed := n.ctr(ctx, append([]string{"tasks", "delete", "--force"}, ids...)...)
		_, deleted := n.ctr(ctx, append([]string{"containers", "delete"}, ids...)...)
		if deleted == nil {
			return nil
		}
		return errors.Join(killed, deleted)
	}); err != nil {
		return err
	}
	return os.WriteFile(n.path(clean), nil, 0o600)
}

// clean is a file that exists while the retained folder of containerd has no containers.
const clean = "containerd/clean"
