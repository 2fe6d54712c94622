package process

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"cairn.dev/cairn/internal/engine"
)

// Process is a process of the container.
type Process struct {
	PID int
	// Name of its program.
	Name string
	// Parent is the process that started it or, when that has ended, the one that adopted it.
	Parent int
}

// HasEngine reports whether one of the processes is an engine.
func HasEngine(all []Process) bool {
	return slices.ContainsFunc(all, func(p Process) bool { return engine.IsProgram(p.Name) })
}

// outsideEngines returns those that no engine among them has started.
func outsideEngines(all []Process) []Process {
	byPID := map[int]Process{}
	for _, p := range all {
		byPID[p.PID] = p
	}
	return slices.DeleteFunc(slices.Clone(all), func(p Process) bool {
		for parent, ok := byPID[p.Parent]; ok; parent, ok = byPID[parent.Parent] {
			if engine.IsProgram(parent.Name) {
				return true
			}
		}
		return false
	})
}

// Group is the process group of a script that may run engines, or of Terragrunt. Its engines are interrupted once,
// since an engine drops everything at a second interrupt, and waited for however long they take: while the script
// is stopped, and after the script itself has ended, as a shell does at an interrupt.
type Group struct {
	name  string
	text  io.Writer
	grace time.Duration

	once     sync.Once
	outlived bool
}

// groupTick is how often the processes of a group are listed.
const groupTick = 20 * time.Millisecond

// NewGroup returns the group of one program, which messages call by that name.
func (l *Launcher) NewGroup(name string) *Group {
	return &Group{name: name, text: l.Text, grace: l.grace()}
}

// EngineOutlived reports whether the program ended before an engine that it started.
func (g *Group) EngineOutlived() bool { return g.outlived }

// interrupt sends SIGINT to the group, the first time, but not to what engines have started: they need those
// processes to finish, and stop them themselves.
func (g *Group) interrupt(pid int) {
	g.once.Do(func() {
		for _, p := range outsideEngines(members(pid)) {
			_ = syscall.Kill(p.PID, syscall.SIGINT)
		}
	})
}

// waitForEngines waits for the engines that the program has left, which has ended. When ctx is over they were
// interrupted: by Stop, or by the process that started them.
func (g *Group) waitForEngines(ctx context.Context, pid int) {
	if g.outlived = HasEngine(members(pid)); !g.outlived {
		return
	}
	fmt.Fprintf(g.text, "\n── %s has ended, and an engine that it started has not: it is interrupted and waited for "+
		"──\n", g.name)
	if ctx.Err() == nil {
		g.interrupt(pid)
	}
	tick := time.NewTicker(groupTick)
	defer tick.Stop()
	for HasEngine(members(pid)) {
		<-tick.C
	}
}

// Stop stops the program and all that it started: SIGINT, wait for the engines, SIGTERM, SIGKILL.
func (g *Group) Stop(program *os.Process, ended <-chan struct{}) {
	g.interrupt(program.Pid)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if g.wait(program.Pid, ended) {
			break
		}
		_ = syscall.Kill(-program.Pid, signal)
	}
	_ = syscall.Kill(-program.Pid, syscall.SIGKILL)
}

// wait returns true when the program has ended, and false when its grace is over and no engine runs in the group.
func (g *Group) wait(pid int, ended <-chan struct{}) bool {
	tick := time.NewTicker(groupTick)
	defer tick.Stop()
	for since := time.Now(); ; {
		select {
		case <-ended:
			return true
		case <-tick.C:
			switch {
			case HasEngine(members(pid)):
				since = time.Now()
			case time.Since(since) > g.grace:
				return false
			}
		}
	}
}

// defaultGrace is how long a program has after SIGINT, and again after SIGTERM, unless Launcher.Grace is set.
const defaultGrace = 10 * time.Second

func (l *Launcher) grace() time.Duration { return cmp.Or(l.Grace, defaultGrace) }

// StopGroup stops a program that holds no state and all that it started: SIGINT, SIGTERM, SIGKILL. Once the program has
// ended, what it left in its group is killed too.
func (l *Launcher) StopGroup(program *os.Process, ended <-chan struct{}) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		_ = syscall.Kill(-program.Pid, signal)
		select {
		case <-time.After(l.grace()):
			continue
		case <-ended:
		}
		break
	}
	_ = syscall.Kill(-program.Pid, syscall.SIGKILL)
}

// Interrupt sends SIGINT to a program alone.
func Interrupt(program *os.Process, _ <-chan struct{}) { _ = program.Signal(os.Interrupt) }
