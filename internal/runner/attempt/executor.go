// Package attempt does one order of the server: it prepares the workspace, runs the engine step by step and reports.
//
//	Build:  fetch ─► build
//	Plan:   fetch ─► [engine] ─► init ─► [state] ─► plan ─► policy, when there are changes
//	                                                  └───► outputs, when nothing is
//	Shell:  fetch ─► [engine] ─► init ─► shell ─► [state] ─► [rescue]
//	Apply:  [fetch ─► engine ─► init, in another pod than the plan's] ─► apply ─► [state] ─► [rescue] ─► outputs
//
// Each step but state and rescue may have hooks before and after it.
//
// orders.go has these lists. A step is a type with its own fields; what it learns for a later one is its result or, of
// the preparation, in the setup of the workbench.
package attempt

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runner/interrupt"
	"cairn.dev/cairn/internal/runner/report"
	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
)

// Options of an Executor.
type Options struct {
	// TokenFile holds the token for the server.
	TokenFile string
	// Work is a folder that the runner may write to. Its path has to be the same in every pod: code may depend on it.
	Work string
	// Inputs is the folder that orders name their files below.
	Inputs string
	// Environ is the environment of which the engine gets what is not Cairn's own.
	Environ []string
	// HookGrace is how long a hook that is to end has after SIGINT, and again after SIGTERM; ten seconds when zero.
	HookGrace time.Duration
	// Cgroup is the folder of the container's control group; /sys/fs/cgroup when empty.
	Cgroup string
	// DisownedAfter is how long the server may reject the runner before an attempt ends; a minute when zero.
	DisownedAfter time.Duration
	// Output gets what the engine prints, without secrets: the pod's log.
	Output io.Writer
	// Log is the runner's own log.
	Log *slog.Logger
}

// Executor does the orders of one pod, one at a time.
type Executor struct {
	Options
	secrets *redact.Redactor
	work    workspace.Dir
	// ready is the plan that the workspace is ready to apply.
	ready *ready
	// begun are the plans whose apply was begun here. None of them may be applied again: what the first apply created
	// may not be in the state, and would be created twice.
	begun map[string]bool
}

// NewExecutor returns an Executor that has done no order yet.
func NewExecutor(o Options) (*Executor, error) {
	work, err := workspace.Open(o.Work)
	if err != nil {
		return nil, err
	}
	o.DisownedAfter = cmp.Or(o.DisownedAfter, interrupt.DisownedAfter)
	return &Executor{Options: o, secrets: redact.New(), work: work, begun: map[string]bool{}}, nil
}

// How long the end of an attempt waits for the rest of its log, and then for that of its operations: first before the
// report, because the server accepts nothing else of it once the next attempt has begun, and then after it.
const (
	logWait     = 2 * time.Second
	lastLogWait = 10 * time.Second
)

// Run executes an order and reports the result. It fails only when the report could not be sent.
func (e *Executor) Run(ctx context.Context, client *runnerapi.Client, order runnerapi.Order) error {
	client = client.For(order.Attempt, order.Patience)
	log := report.StartLog(client.AppendLog, e.Log)
	defer log.Abandon()
	operations := report.StartOperations(client.AppendOperations, e.secrets, e.Log)
	defer operations.Abandon()
	j := &job{
		Executor: e, order: order, client: client,
		text:       report.Tee{Pod: e.Output, Server: log},
		operations: operations,
		report:     report.StartReporter(client, e.Log),
	}
	done := j.do(ctx)
	log.End(logWait)
	operations.End(logWait)
	finish, cancel := interrupt.Outlive(ctx)
	defer cancel()
	err := j.report.Finish(finish, done)
	log.End(lastLogWait)
	operations.End(lastLogWait)
	if err != nil && done.Failure != nil && done.Failure.Class == stranded {
		return errors.Join(ErrStranded, err)
	}
	return err
}

// clean returns text that is fit to be shown to users.
func (e *Executor) clean(text string) string { return report.Clean(e.secrets, text) }

// token is hidden in logs like any secret: what the engine runs could read it too.
func (e *Executor) token() string {
	data, err := os.ReadFile(e.TokenFile)
	if err != nil {
		return ""
	}
	return string(data)
}
