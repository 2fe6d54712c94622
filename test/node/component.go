//go:build linux

package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"cairn.dev/cairn/dev/process"
)

// component is a running program of the node.
type component struct {
	name string
	proc *process.Process
}

// errEnded is the error of a wait for a component that has ended.
var errEnded = errors.New("ended by itself")

// start starts a program in the node's network namespace, with its output in <name>.log.
func (n *Node) start(name, path string, args ...string) error {
	_, err := n.startIn([]string{"--net"}, name, path, args...)
	return err
}

// startInside starts a program in all of the node's namespaces, which programs for containers need: mounts of
// containers are visible only there, and processes that outlive their parent end with the node.
func (n *Node) startInside(name, path string, args ...string) (*process.Process, error) {
	return n.startIn([]string{"--net", "--mount", "--pid"}, name, path, args...)
}

func (n *Node) startIn(namespaces []string, name, path string, args ...string) (*process.Process, error) {
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(n.log(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = out.Close() }() // the process has inherited it
	argv := append([]string{"nsenter", "--target", strconv.Itoa(n.first.Pid())}, namespaces...)
	proc, err := n.group.Start(&exec.Cmd{
		Path: nsenter, Args: append(append(argv, "--", path), args...),
		Dir:    n.Dir, // etcd's sockets have relative names, since the length of a socket's path is limited
		Stdout: out, Stderr: out,
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running = append(n.running, component{name: name, proc: proc})
	return proc, nil
}

// alive returns an error if a component has ended by itself.
func (n *Node) alive() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.running {
		select {
		case <-c.proc.Done():
			return fmt.Errorf("%s %w (%s): %s: see %s", c.name, errEnded, c.proc.Exit(),
				process.LastLine(n.log(c.name)), n.log(c.name))
		default:
		}
	}
	return nil
}
