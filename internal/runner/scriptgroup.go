package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// scriptGroup is the process group of a script that may run engines, or of Terragrunt. They are interrupted once, since a second interrupt makes an engine
// drop everything, and waited for however long they take: also by who has to end the script, and when the script itself has ended, as a
// shell does at an interrupt.
type scriptGroup struct {
	*runner
	called string
	text   io.Writer

	once sync.Once
	// left says that the script ended before an engine that it started.
	left bool
}

// groupTick is how often it is looked who is left in a group.
const groupTick = 20 * time.Millisecond

// interrupt tells all in the group to end, the first time, but for what engines have started: that they need to finish, and tell it
// themselves.
func (g *scriptGroup) interrupt(pid int) {
	g.once.Do(func() {
		for _, d := range outsideEngines(members(pid)) {
			_ = syscall.Kill(d.pid, syscall.SIGINT)
		}
	})
}

// outsideEngines are those that no engine among them has started.
func outsideEngines(all []descendant) []descendant {
	by := map[int]descendant{}
	for _, d := range all {
		by[d.pid] = d
	}
	return slices.DeleteFunc(slices.Clone(all), func(d descendant) bool {
		for parent, ok := by[d.parent]; ok; parent, ok = by[parent.parent] {
			if slices.Contains(engines, parent.name) {
				return true
			}
		}
		return false
	})
}

// settle waits for the engines that a script has left, which has ended. When ctx is over they were interrupted: by us or, in our stead, by who
// started them.
func (g *scriptGroup) settle(ctx context.Context, pid int) {
	if g.left = engineIn(pid); !g.left {
		return
	}
	fmt.Fprintf(g.text, "\n── %s has ended, and an engine that it started has not: it is interrupted and waited for ──\n", g.called)
	if ctx.Err() == nil {
		g.interrupt(pid)
	}
	tick := time.NewTicker(groupTick)
	defer tick.Stop()
	for engineIn(pid) {
		<-tick.C
	}
}

// end ends the script and all that it started: it asks, waits for the engines, tells, kills.
func (g *scriptGroup) end(program *os.Process, ended <-chan struct{}) {
	g.interrupt(program.Pid)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if g.patient(program.Pid, ended) {
			break
		}
		_ = syscall.Kill(-program.Pid, signal)
	}
	_ = syscall.Kill(-program.Pid, syscall.SIGKILL)
}

// patient waits until the script has ended, or no engine is at work in it and its grace is over.
func (g *scriptGroup) patient(pid int, ended <-chan struct{}) bool {
	tick := time.NewTicker(groupTick)
	defer tick.Stop()
	for since := time.Now(); ; {
		select {
		case <-ended:
			return true
		case <-tick.C:
			switch {
			case engineIn(pid):
				since = time.Now()
			case time.Since(since) > cmp.Or(g.HookGrace, hookGrace):
				return false
			}
		}
	}
}

// engineIn says that an engine is at work in a process group.
func engineIn(group int) bool {
	return slices.ContainsFunc(members(group), func(d descendant) bool { return slices.Contains(engines, d.name) })
}

// scriptOutput is what a script and all that it started print, until nobody has it open or end is called.
type scriptOutput struct {
	read, write *os.File
	done        chan struct{}
	// err is why not all of it was taken.
	err error
}

// scriptOutputs are the one or two of a program.
type scriptOutputs []*scriptOutput

// startOutputs passes on what a program prints to where it would print, which is one place or two.
func startOutputs(cmd *exec.Cmd) (all scriptOutputs, err error) {
	out, err := startOutput(cmd.Stdout)
	if err != nil {
		return nil, err
	}
	if cmd.Stderr == cmd.Stdout {
		cmd.Stdout, cmd.Stderr = out.write, out.write
		return scriptOutputs{out}, nil
	}
	told, err := startOutput(cmd.Stderr)
	if err != nil {
		return nil, errors.Join(err, out.end())
	}
	cmd.Stdout, cmd.Stderr = out.write, told.write
	return scriptOutputs{out, told}, nil
}

func startOutput(to io.Writer) (*scriptOutput, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o := &scriptOutput{read: read, write: write, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		if _, o.err = io.Copy(to, read); errors.Is(o.err, os.ErrDeadlineExceeded) {
			o.err = nil
		}
		_ = read.Close() // what takes no more must not hold up who prints
	}()
	return o, nil
}

// end takes no more after openPipes, whoever has it open still. Its error is that not all was taken before.
func (all scriptOutputs) end() error {
	var err error
	for _, o := range all {
		err = errors.Join(err, o.end())
	}
	return err
}

func (o *scriptOutput) end() error {
	_ = o.write.Close()
	_ = o.read.SetReadDeadline(time.Now().Add(openPipes))
	<-o.done
	return o.err
}
