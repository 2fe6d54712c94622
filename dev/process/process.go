// Package process starts child processes that do not outlive this one, and ends them with all that they started.
//
// Each child leads a session of its own: a Ctrl-C at the terminal does not reach it, and what it starts can be found
// and ended with it, process groups of their own included. When a child ends, for whatever reason, the rest of its
// session is killed before Done says so, as the end of a container's first process ends the container.
//
// This process may end in three ways: a return from main, which should Stop the children first; a signal, the same;
// and SIGKILL, which cannot be answered. For that a Group has a warden (warden.sh): a shell that holds the other end of
// a pipe, and kills what is still listed when the pipe breaks. On Linux the kernel is asked for the same as well.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Process is a running or ended child.
type Process struct {
	// Started is when it was started.
	Started time.Time

	proc *os.Process
	done chan struct{}
	exit Exit // may be read once done is closed
}

// Exit is how a child ended.
type Exit struct {
	// Code is the exit code; for a child that a signal ended, 128 and the signal's number, as shells and containers say
	// it.
	Code int
	// Signal that ended the child, 0 when it exited by itself.
	Signal syscall.Signal
	// At is when it ended.
	At time.Time
}

func (e Exit) String() string {
	if e.Signal != 0 {
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Group is a set of children that end with this process.
type Group struct {
	warden *warden
	live   sync.WaitGroup
}

// NewGroup starts a group's warden.
func NewGroup() (*Group, error) {
	w, err := startWarden()
	if err != nil {
		return nil, err
	}
	return &Group{warden: w}, nil
}

// Close waits for the children to end, which is the caller's business, and then ends the warden.
func (g *Group) Close() error {
	g.live.Wait()
	return g.warden.close()
}

// Start starts cmd as a child. Its standard files must be nil or *os.File, so that nothing has to be copied.
func (g *Group) Start(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	dieWithParent(cmd.SysProcAttr)

	p := &Process{done: make(chan struct{})}
	started := make(chan error)
	g.live.Go(func() {
		// The kernel takes the end of the thread that started the child for the end of its parent, so the thread is
		// kept until the child has ended. It would wait there anyway.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		p.Started = time.Now()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		p.proc = cmd.Process
		g.warden.add(p.Pid())
		started <- nil
		p.wait(cmd)
		g.warden.remove(p.Pid())
		close(p.done)
	})
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Process) wait(cmd *exec.Cmd) {
	err := cmd.Wait()
	p.exit.At = time.Now()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		p.exit.Code = 255 // wait(2) itself went wrong, which says nothing about the child
	} else if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		p.exit.Signal, p.exit.Code = ws.Signal(), 128+int(ws.Signal())
	} else {
		p.exit.Code = ws.ExitStatus()
	}
	killSession(p.Pid())
}

// Pid of the child, which is the id of its session too.
func (p *Process) Pid() int { return p.proc.Pid }

// Done is closed when the child and the rest of its session have ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit waits for Done and says how the child ended.
func (p *Process) Exit() Exit {
	<-p.done
	return p.exit
}

// Terminate asks the child, and only it, to end. It has to end the processes that it started.
func (p *Process) Terminate() {
	_ = p.proc.Signal(syscall.SIGTERM) // no error but that it has ended
}

// Kill ends the child, and so its session, without asking.
func (p *Process) Kill() {
	_ = p.proc.Kill() // no error but that it has ended
}

// Stop asks the child to end, kills it when ctx ends first, and waits for Done. It reports whether it had to be killed.
func (p *Process) Stop(ctx context.Context) (killed bool) {
	p.Terminate()
	select {
	case <-p.done:
		return false
	case <-ctx.Done():
	}
	p.Kill()
	<-p.done
	return true
}
