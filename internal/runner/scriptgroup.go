package runner

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// scriptGroup is the process group of a script that may run engines. They are interrupted once, since a second interrupt makes an engine
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

// settle waits for the engines that a script has left, which has ended.
func (g *scriptGroup) settle(pid int) {
	if g.left = engineIn(pid); !g.left {
		return
	}
	fmt.Fprintf(g.text, "\n── %s has ended, and an engine that it started has not: it is interrupted and waited for ──\n", g.called)
	g.interrupt(pid)
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
}

func startOutput(to io.Writer) (*scriptOutput, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o := &scriptOutput{read: read, write: write, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		_, _ = io.Copy(to, read)
	}()
	return o, nil
}

// end takes no more after openPipes, whoever has it open still.
func (o *scriptOutput) end() {
	_ = o.write.Close()
	_ = o.read.SetReadDeadline(time.Now().Add(openPipes))
	<-o.done
	_ = o.read.Close()
}
