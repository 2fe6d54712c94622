package policy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"cairn.dev/cairn/internal/runnerapi"
)

// What a process that evaluates may take, whatever it is at.
const (
	// startLimit is for its start, reading the plan and compiling the policies.
	startLimit = 20 * time.Second
	// compileLimit is for that where only they are compiled.
	compileLimit = 10 * time.Second
	// askLimit is for the policies, from the first one on.
	askLimit = 10 * time.Second
	// ownData is its memory beside the plan, and dataPerByte what a byte of the plan takes as a value, at worst about.
	ownData     = 1 << 30
	dataPerByte = 32
	// mostSaid is how much of its output is read: that which is asked, and 200 findings.
	mostSaid = 8 << 20
	// mostComplaint is how much is kept of its standard error.
	mostComplaint = 4 << 10
)

// atOnce is how many processes of an Apart ask at a time and how many compile, and how many processors each keeps busy,
// at most.
const atOnce = 2

// atLeast is which part of the time for compiling a process has to have worked before the policies are to blame that it
// was too little. Otherwise the machine was busy.
const atLeast = 10

var (
	errStart  = fmt.Errorf("%w: not read and compiled in time", ErrCutOff)
	errTime   = fmt.Errorf("%w after %s", ErrCutOff, askLimit)
	errMemory = fmt.Errorf("%w memory: more than %d MiB and %d times the plan", ErrTooMuch, ownData>>20, dataPerByte)
	errStack  = fmt.Errorf("%w memory: a value that they look at nests too deep, or branches too much", ErrTooMuch)
)

// Apart compiles and asks policies, each time in a process of its own that is killed when it takes too much. The
// process has an empty environment and only three open pipes, and ends with this one. NewApart creates one.
type Apart struct {
	program             string
	args                []string
	start, compile, ask time.Duration
	data                uint64
	// asking and compiling are those that do: policies that are only compiled wait for no plan.
	asking, compiling chan struct{}
}

// NewApart creates an Apart whose processes are this program, called with these arguments; it calls Answer then.
func NewApart(args ...string) (*Apart, error) {
	program, err := thisProgram()
	if err != nil {
		return nil, fmt.Errorf("this program, which evaluates policies as another process: %w", err)
	}
	return &Apart{
		program: program, args: args, start: startLimit, compile: compileLimit, ask: askLimit, data: ownData,
		asking: make(chan struct{}, atOnce), compiling: make(chan struct{}, atOnce),
	}, nil
}

// Evaluate compiles policies and asks them about a plan in the engine's JSON. What is wrong with their text is an
// *Invalid. It comes back in any case.
func (a *Apart) Evaluate(ctx context.Context, modules []Module, planJSON []byte) (runnerapi.PolicyResult, error) {
	if len(modules) == 0 {
		return runnerapi.PolicyResult{}, nil
	}
	q := question{Modules: modules, Data: a.data + dataPerByte*uint64(len(planJSON))}
	return a.put(ctx, a.asking, q, planJSON, a.start)
}

// Compile returns what is wrong with policies: an *Invalid, or ErrTooMuch where compiling them takes too much. It comes
// back in any case.
func (a *Apart) Compile(ctx context.Context, modules []Module) error {
	_, err := a.put(ctx, a.compiling, question{Modules: modules, Data: a.data, CompileOnly: true}, nil, a.compile)
	return err
}

// put has a process of its own answer a question when it is its turn. In time it has to begin to ask policies.
func (a *Apart) put(
	ctx context.Context, turns chan struct{}, q question, planJSON []byte, start time.Duration,
) (runnerapi.PolicyResult, error) {
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-ctx.Done():
		return runnerapi.PolicyResult{}, context.Cause(ctx)
	}
	about, err := json.Marshal(q)
	if err != nil {
		return runnerapi.PolicyResult{}, err
	}
	running, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	cmd := exec.CommandContext(running, a.program, a.args...)
	cmd.Args[0] = os.Args[0] // its name in the list of processes
	complaint := &beginning{}
	cmd.Stdin, cmd.Stderr = io.MultiReader(bytes.NewReader(about), bytes.NewReader(planJSON)), complaint
	cmd.Env, cmd.Dir = []string{}, "/" // nil would be the environment of this process
	cmd.SysProcAttr = attributes()
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return runnerapi.PolicyResult{}, fmt.Errorf("%w: %w", ErrCutOff, err)
	}
	// Linux ends a child with the thread that started it. A locked thread does not end before.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return runnerapi.PolicyResult{}, fmt.Errorf("%w: start a process for them: %w", ErrCutOff, err)
	}
	late := time.AfterFunc(start, func() { kill(errStart) })
	asked := ""
	got, failed := listen(io.LimitReader(out, mostSaid), func(module string) {
		if asked == "" {
			late.Stop()
			late = time.AfterFunc(a.ask, func() { kill(errTime) })
		}
		asked = module
	})
	late.Stop()
	why := context.Cause(running)
	kill(nil)
	ended := cmd.Wait()
	switch {
	case got != nil:
		return got.result()
	case ctx.Err() != nil:
		return runnerapi.PolicyResult{}, context.Cause(ctx)
	case errors.Is(why, errStart) && q.CompileOnly && worked(cmd.ProcessState) >= start/atLeast:
		why = fmt.Errorf("%w time: not compiled after %s", ErrTooMuch, start)
	case why != nil:
	case complaint.about("out of memory"):
		why = errMemory
	case complaint.about("stack overflow"):
		why = errStack
	default:
		why = fmt.Errorf("%w: the process that asks them: %w", ErrCutOff, cmp.Or(failed, ended, io.ErrUnexpectedEOF))
	}
	if asked != "" {
		why = fmt.Errorf("%s: %w", asked, why)
	}
	return runnerapi.PolicyResult{}, why
}

// worked is how much processor time a process had.
func worked(p *os.ProcessState) time.Duration {
	if p == nil { // unknown
		return 0
	}
	return p.UserTime() + p.SystemTime()
}

// listen reads the messages of the process, up to the answer. Without one the error is nil when it ended before.
func listen(out io.Reader, asks func(module string)) (*answer, error) {
	for decoder := json.NewDecoder(out); ; {
		var one utterance
		switch err := decoder.Decode(&one); {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		case one.Answer != nil:
			return one.Answer, nil
		}
		asks(one.Asks)
	}
}

// beginning keeps the first bytes of what is written to it.
type beginning struct{ kept bytes.Buffer }

func (b *beginning) Write(p []byte) (int, error) {
	b.kept.Write(p[:min(len(p), mostComplaint-b.kept.Len())])
	return len(p), nil
}

func (b *beginning) about(what string) bool { return strings.Contains(b.kept.String(), what) }
