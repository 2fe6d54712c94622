package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/test/faults/proxy"
)

// The programs of a control plane.
const (
	etcd      = "etcd"
	apiServer = "kube-apiserver"
)

// pidOf returns the process ID of a program of the control plane among the children of this process.
func pidOf(program string) (int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// pid (program) state parent
		_, rest, _ := bytes.Cut(data, []byte("("+program+") "))
		if fields := strings.Fields(string(rest)); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) &&
			fields[0] != "Z" {
			return strconv.Atoi(filepath.Base(filepath.Dir(path)))
		}
	}
	return 0, fmt.Errorf("%s does not run", program)
}

// killed kills a program of the control plane with SIGKILL. revive restarts the control plane.
func (c *cluster) killed(program string) error {
	pid, err := pidOf(program)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	<-c.plane.Done()
	return nil
}

// revive restarts a control plane of which a program was killed, with its data, which between may change.
func (c *cluster) revive(ctx context.Context, between func() error) error {
	if err := c.plane.Stop(ctx); err != nil {
		return err
	}
	if err := between(); err != nil {
		return err
	}
	plane, err := dev.Start(ctx, c.planeOptions())
	if err != nil {
		return err
	}
	c.plane = plane
	return nil
}

func (c *cluster) etcdData() string { return filepath.Join(c.dir, "controlplane", "etcd") }
func (c *cluster) snapshot() string { return filepath.Join(c.dir, "etcd-before") }

// keep copies the data of etcd. It is stopped meanwhile, so that the copy is what a kill would leave.
func (c *cluster) keep() (err error) {
	if err := os.RemoveAll(c.snapshot()); err != nil {
		return err
	}
	pid, err := pidOf(etcd)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, syscall.Kill(pid, syscall.SIGCONT)) }()
	return os.CopyFS(c.snapshot(), os.DirFS(c.etcdData()))
}

// restore restores the copy of keep, as an administrator would from a backup: the control plane is stopped, and
// restarted with it. So is the node, as the documentation of Kubernetes recommends for all that watches.
func (c *cluster) restore(ctx context.Context) error {
	c.stopNode()
	c.stopNode = nil
	if err := c.killed(apiServer); err != nil {
		return err
	}
	if err := c.revive(ctx, func() error {
		if err := os.RemoveAll(c.etcdData()); err != nil {
			return err
		}
		return os.CopyFS(c.etcdData(), os.DirFS(c.snapshot()))
	}); err != nil {
		return err
	}
	return c.startNode(ctx)
}

// outages kills and restarts the API server or etcd at writes.
var outages = suite{name: "outages", lanes: 1, points: outagePoints}

func outagePoints(b baseline) []point {
	var all []point
	s := stories[0]
	for i, w := range b[s.name].Writes {
		if i%5 != 0 {
			continue // each takes some time, and the end of the API server is the same for all clients
		}
		for _, program := range []string{apiServer, etcd} {
			for _, after := range []bool{false, true} {
				fault := program + " killed before"
				if after {
					fault = program + " killed after"
				}
				all = append(all, point{
					name: s.name + ", " + w.String() + ": " + fault, fault: fault,
					try: func(ctx context.Context, l *lane) (bool, error) {
						return l.outage(ctx, b, s, w, program, after)
					},
				})
			}
		}
	}
	return all
}

// outage runs a story in which a program of the control plane is killed at a write.
func (l *lane) outage(ctx context.Context, b baseline, s story, at proxy.Write, program string, after bool) (bool,
	error) {
	var (
		once    sync.Once
		reached bool
		wrong   error
		revived sync.WaitGroup
	)
	t, err := l.runStory(ctx, s, hooks{begin: func() {
		for _, c := range l.cairns() {
			c.OnWrite(func(call *proxy.Call) {
				if call.Write.String() != at.String() {
					call.Pass()
					return
				}
				passes := true
				once.Do(func() {
					passes, reached = false, true
					if after {
						call.Forward(ctx)
					}
					if wrong = l.killed(program); wrong != nil {
						return
					}
					revived.Go(func() { wrong = l.revive(ctx, func() error { return nil }) })
				})
				if passes {
					call.Pass()
					return
				}
				call.Cut()
			})
		}
	}})
	revived.Wait()
	if err = errors.Join(err, wrong); err == nil {
		err = b.same(s, t)
	}
	return reached, err
}
