package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"cairn.dev/cairn/internal/runnerapi"
)

// largestStack is how deep policies may nest their values, in bytes.
const largestStack = 128 << 20

// question is what such a process is asked. The plan comes after it.
type question struct {
	Modules []Module `json:"modules"`
	// Data is how many bytes of memory the process may have.
	Data uint64 `json:"data"`
	// CompileOnly is without a plan.
	CompileOnly bool `json:"compileOnly,omitempty"`
}

// utterance is one message of such a process: the module that it evaluates now, and at last the answer.
type utterance struct {
	Asks   string  `json:"asks,omitempty"`
	Answer *answer `json:"answer,omitempty"`
}

// answer is a result, unless another field has the error.
type answer struct {
	Verdict runnerapi.PolicyResult `json:"verdict"`
	Invalid *Invalid               `json:"invalid,omitempty"`
	Failed  string                 `json:"failed,omitempty"`
}

func (a *answer) result() (runnerapi.PolicyResult, error) {
	switch {
	case a.Invalid != nil:
		return runnerapi.PolicyResult{}, a.Invalid
	case a.Failed != "":
		return runnerapi.PolicyResult{}, errors.New(a.Failed)
	}
	return a.Verdict, nil
}

// Answer is all that a process which an Apart started does: it reads policies and a plan, and writes their results. It
// takes from its own process whatever it does not need for that.
func Answer(ctx context.Context, in io.Reader, out io.Writer) error {
	// Where its parent is gone and cannot kill it. As the first timer it also has the runtime open what it needs for
	// timers.
	time.AfterFunc(2*(startLimit+askLimit), func() { os.Exit(1) })
	runtime.GOMAXPROCS(min(atOnce, runtime.GOMAXPROCS(0)))
	decoder := json.NewDecoder(in)
	var q question
	if err := decoder.Decode(&q); err != nil {
		return fmt.Errorf("read the policies: %w", err)
	}
	debug.SetMaxStack(largestStack)
	debug.SetMemoryLimit(int64(q.Data / 4 * 3)) // from there on it collects garbage, whatever that takes
	if err := confine(q.Data); err != nil {
		return fmt.Errorf("limit this process: %w", err)
	}
	encoder := json.NewEncoder(out)
	verdict, err := q.answer(ctx, io.MultiReader(decoder.Buffered(), in), func(module string) {
		_ = encoder.Encode(utterance{Asks: module}) // the answer fails too if the parent is gone
	})
	a := &answer{Verdict: verdict}
	if err != nil && !errors.As(err, &a.Invalid) {
		a.Failed = err.Error()
	}
	return encoder.Encode(utterance{Answer: a})
}

func (q question) answer(
	ctx context.Context, plan io.Reader, asks func(module string),
) (runnerapi.PolicyResult, error) {
	set, err := Compile(q.Modules)
	if err != nil || q.CompileOnly {
		return runnerapi.PolicyResult{}, err
	}
	planJSON, err := io.ReadAll(plan)
	if err != nil {
		return runnerapi.PolicyResult{}, fmt.Errorf("read the plan: %w", err)
	}
	last := ""
	return set.Check(ctx, planJSON, func(module string) {
		if module != last {
			asks(module)
		}
		last = module
	})
}
