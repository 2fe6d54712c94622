package dev

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"cairn.dev/cairn/dev/process"
)

// The three processes, named as their programs.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
)

// component is one of them, running.
type component struct {
	name string
	log  string
	proc *process.Process
}

// start starts a component and keeps an eye on it: if it ends before Stop, Done is closed.
func (c *ControlPlane) start(name, binDir string, args []string) error {
	logFile := filepath.Join(c.dir, name+".log")
	out, err := os.OpenFile(logFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = out.Close() }() // the process has its own
	path := filepath.Join(binDir, name)
	if !exists(path) {
		return fmt.Errorf("start %s: %s is missing: %s", name, path, runMakeTools)
	}
	proc, err := c.group.Start(&exec.Cmd{
		Path: path, Args: append([]string{name}, args...),
		Dir:    c.dir, // the sockets have relative names, since the length of theirs is limited
		Stdout: out, Stderr: out,
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	started := component{name: name, log: logFile, proc: proc}
	c.running = append(c.running, started)
	c.log.V(1).Info("Component started", "component", name, "pid", proc.Pid())
	c.watchers.Go(func() { c.watch(started) })
	return nil
}

// watch detects a component that ends before Stop.
func (c *ControlPlane) watch(of component) {
	exit := of.proc.Exit()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping || c.err != nil {
		return
	}
	c.err = fmt.Errorf("%s ended (%s): %s: see %s", of.name, exit, process.LastLine(of.log), of.log)
	close(c.done)
}

// Done is closed when a component has ended by itself, after which the control plane is of no use and waits for Stop;
// or when Stop is done.
func (c *ControlPlane) Done() <-chan struct{} { return c.done }

// Err says, once Done is closed, which component ended by itself and how; nil after a Stop that came first.
func (c *ControlPlane) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Stop ends the components, the last one started first, and waits until nothing of them is left. Only etcd has files to
// close, and is given until ctx ends for it. All that the others have confirmed is in etcd, so they are killed; an
// API server asked to end would take a second for it. A second Stop does nothing.
func (c *ControlPlane) Stop(ctx context.Context) (err error) {
	c.stop.Do(func() {
		c.mu.Lock()
		c.stopping = true
		c.mu.Unlock()
		for _, of := range slices.Backward(c.running) {
			if of.name == etcd && c.keep {
				of.proc.Stop(ctx)
			} else {
				of.proc.Kill()
				<-of.proc.Done()
			}
		}
		c.watchers.Wait()
		err = c.cleanUp()
		if c.Err() == nil {
			close(c.done)
		}
		c.log.V(1).Info("Control plane stopped", "dir", c.dir)
	})
	return err
}

func (c *ControlPlane) cleanUp() (err error) {
	if c.group != nil {
		err = c.group.Close()
	}
	if !c.keep && c.dir != "" {
		if rm := os.RemoveAll(c.dir); err == nil {
			err = rm
		}
	}
	if c.lock != nil {
		_ = c.lock.Close() // which gives it back
	}
	return err
}
