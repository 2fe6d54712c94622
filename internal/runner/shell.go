package runner

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A shell is held open by the runner, and worked in by a person who is let into the pod by Kubernetes (`kubectl exec`, and so
// `cairn shell`) and comes in through Enter. Between the two is a named pipe, the door: whoever is in has it open for writing, so
// that the kernel tells the runner when the last one has left, however that was.
//
//	runner:  fetch ─► init ─► open the door ─► wait ─┬─► all have left
//	                                                 ├─► nobody came
//	Enter:             look for the door ─► in ─► command ─► out
//	                                                 ▲
//	                             canceled, or no time left: SIGTERM to each who is in

// shellEntry is how long a shell waits for the first one to come in.
const shellEntry = 5 * time.Minute

// shellGiven is what a shell is given, in a file that only the user of the pod can read.
type shellGiven struct {
	Dir string   `json:"dir"`
	Env []string `json:"env"`
}

// keepShell does the steps of an order for a shell.
func (a *attempt) keepShell(ctx, process context.Context) error {
	steps, err := a.choose()
	if err != nil {
		return err
	}
	if steps = append(steps, "shell"); a.backend().Own() {
		steps = append(steps, "state")
	}
	a.expect(steps...)
	if err := a.prepare(ctx, false); err != nil {
		return err
	}
	if err := os.RemoveAll(a.erroredState()); err != nil {
		return err
	}
	door, err := a.openShell()
	if err != nil {
		return err
	}
	defer a.closeShell(door)
	if err := a.lockState(ctx); err != nil {
		return err
	}
	a.proxy.stopsAfterLoss(a.lossInShell)
	a.proxy.open(true) // and stays open: what a killed engine sent may still arrive
	err = a.step(ctx, "shell", func(ctx context.Context) (result, error) { return a.hold(ctx, door) })
	unfollowed := a.followAfter(process, err == nil)
	lost := a.rescue(process)
	a.unlockState(process)
	return cmp.Or(lost, err, unfollowed)
}

// statePush is what engines want a lock for who push a state.
const statePush = "state-push"

// lossInShell says what nobody in a shell may do after an apply whose state could not be written: all but put it back. What was no
// apply leaves no file, made nothing, and may be tried again.
func (a *attempt) lossInShell(operation string) bool {
	_, err := os.Stat(a.erroredState())
	return operation != statePush && !errors.Is(err, os.ErrNotExist)
}

// hold waits until the shell is over. That its time is over is an end like any other.
func (a *attempt) hold(ctx context.Context, door *door) (result, error) {
	fmt.Fprintln(a.text, "a shell is open; what is done in it is in no log")
	began := time.Now()
	nobody := time.NewTimer(shellEntry)
	defer nobody.Stop()
	for {
		select {
		case <-door.left:
			return result{message: fmt.Sprintf("%s after %s", door.last(), short(time.Since(began).Round(time.Second)))}, nil
		case <-nobody.C:
			if !door.used() {
				return result{message: "nobody came in within " + short(shellEntry)}, nil
			}
		case <-ctx.Done():
			if door.used() {
				door.evict()
			}
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return result{message: context.Cause(ctx).Error()}, nil
			}
			return result{}, context.Cause(ctx)
		}
	}
}

// openShell writes down what the shell is given, and opens the door.
func (a *attempt) openShell() (*door, error) {
	env, err := a.shellEnvironment()
	if err != nil {
		return nil, err
	}
	given, err := json.Marshal(shellGiven{Dir: a.module(), Env: env})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(a.work.shell(), given, 0o600); err != nil {
		return nil, err
	}
	return openDoor(a.work.door())
}

// closeShell leaves nothing by which anybody could come in.
func (a *attempt) closeShell(d *door) {
	d.close()
	_ = os.Remove(a.work.door())
	_ = os.Remove(a.work.shell())
}

// shellEnvironment gives what the engine gets, but that it may ask the person; and the variable files to those commands that
// take them.
func (a *attempt) shellEnvironment() ([]string, error) {
	env, err := a.aboutRun()
	if err != nil {
		return nil, err
	}
	env = slices.DeleteFunc(env, func(pair string) bool {
		return strings.HasPrefix(pair, "TF_INPUT=") || strings.HasPrefix(pair, "TF_IN_AUTOMATION=")
	})
	if args := a.variableArguments(); len(args) > 0 {
		for _, command := range takeVariables {
			env = append(env, "TF_CLI_ARGS_"+command+"="+strings.Join(args, " "))
		}
	}
	return withoutNUL(env), nil
}

// takeVariables are the commands of an engine that take variable files.
var takeVariables = []string{"plan", "apply", "destroy", "import", "refresh", "console"}

// variableArguments give the variable files to such a command by its TF_CLI_ARGS.
func (a *attempt) variableArguments() []string {
	var args []string
	for _, path := range a.files.paths() {
		args = append(args, "'-var-file="+path+"'")
	}
	return args
}

// door tells who is in a shell.
type door struct {
	pipe *os.File
	// left is closed when somebody came and all have left.
	left chan struct{}

	mu    sync.Mutex
	open  *os.File // our own end, which keeps the pipe open until somebody came
	in    []int    // the processes of those who are in
	ended string   // how the last one left
}

func openDoor(path string) (*door, error) {
	if err := os.RemoveAll(path); err != nil {
		return nil, err
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	// Without O_NONBLOCK it would wait for the first one here.
	pipe, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	open, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	d := &door{pipe: pipe, open: open, left: make(chan struct{})}
	go d.watch()
	return d, nil
}

// watch hears of those who come and go until the last one has left, or the door is closed.
func (d *door) watch() {
	lines := bufio.NewScanner(d.pipe)
	for lines.Scan() {
		d.hear(lines.Text())
	}
	if d.used() {
		close(d.left)
	}
}

// hear takes in a line: "in PID", or "out PID CODE".
func (d *door) hear(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var pid, code int
	if n, _ := fmt.Sscanf(line, "in %d", &pid); n == 1 && pid > 1 {
		d.in = append(d.in, pid)
		if d.open != nil {
			_ = d.open.Close()
			d.open = nil
		}
	} else if n, _ := fmt.Sscanf(line, "out %d %d", &pid, &code); n == 2 {
		d.in = slices.DeleteFunc(d.in, func(p int) bool { return p == pid })
		d.ended = fmt.Sprintf("left with exit code %d", code)
	}
}

// used says that somebody came in.
func (d *door) used() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open == nil
}

// last says how the last one left.
func (d *door) last() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.in) > 0 || d.ended == "" { // the process was killed
		return "left without a word"
	}
	return d.ended
}

// evict tells all who are in to leave, and waits until they have. Enter sees to it that this takes no longer than an engine at
// work needs.
func (d *door) evict() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	told := map[int]bool{}
	for {
		d.mu.Lock()
		for _, pid := range d.in {
			if !told[pid] {
				told[pid] = true
				_ = syscall.Kill(pid, syscall.SIGTERM)
			}
		}
		d.mu.Unlock()
		select {
		case <-d.left:
			return
		case <-tick.C: // somebody may have come in meanwhile
		}
	}
}

// close ends the watch.
func (d *door) close() {
	d.mu.Lock()
	if d.open != nil {
		_ = d.open.Close()
	}
	d.mu.Unlock()
	_ = d.pipe.Close()
}
