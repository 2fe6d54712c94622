package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"cairn.dev/cairn/dev/ports"
	"cairn.dev/cairn/dev/process"
	"cairn.dev/cairn/test/faults/proxy"
)

// A cairn is one of Cairn's processes, with a proxy between it and the API server. It is restarted when it ends.
type cairn struct {
	*proxy.Proxy
	// log is the file of its output, over all restarts.
	log string

	group   *process.Group
	program string
	args    []string
	health  string
	over    chan struct{}
	ended   sync.WaitGroup

	mu      sync.Mutex
	current *process.Process
	starts  int
}

// startCairn starts `cairn NAME` as a ServiceAccount in Cairn's own namespace.
func (l *lane) startCairn(ctx context.Context, name, actor, account string, args ...string) (*cairn, error) {
	config, err := l.config(l.own, account)
	if err != nil {
		return nil, err
	}
	health, err := ports.Free(ctx, "127.0.0.1")
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(l.dir, actor+".kubeconfig")
	p, err := proxy.Start(actor, config, l.authority, kubeconfig)
	if err != nil {
		return nil, err
	}
	c := &cairn{
		Proxy: p, log: filepath.Join(l.dir, actor+".log"), group: l.group,
		program: filepath.Join(l.bin, "cairn-controller"),
		args:    append([]string{name, "--kubeconfig=" + kubeconfig, "--health-address=" + health}, args...),
		health:  "http://" + health + "/readyz", over: make(chan struct{}),
	}
	if err := c.start(); err != nil {
		p.Close()
		return nil, err
	}
	c.ended.Go(c.supervise)
	return c, nil
}

func (c *cairn) start() error {
	out, err := os.OpenFile(c.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer out.Close() //nolint:errcheck // the process has inherited it
	p, err := c.group.Start(&exec.Cmd{Path: c.program, Args: append([]string{c.program}, c.args...), Env: os.Environ(),
		Stdout: out, Stderr: out})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current, c.starts = p, c.starts+1
	return nil
}

// supervise restarts the process when it ends, as a Deployment would.
func (c *cairn) supervise() {
	for {
		<-c.process().Done()
		select {
		case <-c.over:
			return
		case <-time.After(100 * time.Millisecond): // it must not loop
		}
		select {
		case <-c.over:
			return
		default:
		}
		if err := c.start(); err != nil {
			return // the timeout of the waiting test reports it
		}
	}
}

func (c *cairn) process() *process.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// began returns how often it was started.
func (c *cairn) began() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.starts
}

// kill kills it with SIGKILL, and waits until its processes have ended. It is restarted.
func (c *cairn) kill() {
	p := c.process()
	p.Kill()
	<-p.Done()
}

// signal sends a signal: syscall.SIGSTOP freezes it, syscall.SIGCONT continues it.
func (c *cairn) signal(s syscall.Signal) error { return syscall.Kill(c.process().Pid(), s) }

// ready waits until it is ready.
func (c *cairn) ready(ctx context.Context) error {
	return until(ctx, patience, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.health, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s is not ready: see %s", c.Actor, c.log)
		}
		return nil
	})
}

// stop ends it without a restart.
func (c *cairn) stop() {
	close(c.over)
	c.kill()
	c.ended.Wait()
	c.kill() // it may have been restarted in between
	c.Close()
}
