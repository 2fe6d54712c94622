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

// component is a part of the node, running.
type component struct {
	name string
	proc *process.Process
}

// errEnded is in the error of a wait that is of no use any more.
var errEnded = errors.New("ended by itself")

// start starts a program in the node's network. What it says is in <name>.log.
func (n *Node) start(name, path string, args ...string) error {
	_, err := n.startIn([]string{"--net"}, name, path, args...)
	return err
}

// startInside starts a program in all of the node's namespaces, as needs be for what deals with containers: their mounts
// are seen only there, and what outlives its parent there ends with the node.
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
	defer func() { _ = out.Close() }() // the process has its own
	argv := append([]string{"nsenter", "--target", strconv.Itoa(n.first.Pid())}, namespaces...)
	proc, err := n.group.Start(&exec.Cmd{
		Path: nsenter, Args: append(append(argv, "--", path), args...),
		Dir:    n.Dir, // etcd's sockets have relative names, since the length of theirs is limited
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

// alive says which component has ended by itself, if one has.
func (n *Node) alive() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.running {
		select {
		case <-c.proc.Done():
			return fmt.Errorf("%s %w (%s): %s: see %s", c.name, errEnded, c.proc.Exit(), process.LastLine(n.log(c.name)), n.log(c.name))
		default:
		}
	}
	return nil
}
