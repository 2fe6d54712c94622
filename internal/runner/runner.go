// Package runner is the pod's side of Cairn: it asks the store for an order, does it, reports, and asks for the next
// one, until it is told to exit.
//
//	order Build:  fetch ─► build
//	order Plan:   fetch ─► [engine] ─► init ─► plan ─► policy, when something is to be done
//	                                             └───► outputs, when nothing is
//	order Shell:  fetch ─► [engine] ─► init ─► shell ─► [rescue]
//	order Apply:  [fetch ─► engine ─► init, in another pod than the plan's] ─► apply ─► [rescue] ─► outputs
//
// Each of them but rescue may have hooks before and after it.
//
// Whatever becomes of an attempt is told to the store; only when that is not possible is it the runner's own failure.
// It holds no Kubernetes permission and knows nothing of Kubernetes.
package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"cairn.dev/cairn/internal/redact"
	"cairn.dev/cairn/internal/store"
)

// Options of a runner.
type Options struct {
	// Store is the store's URL, and CA the PEM of the only authorities that its certificate may be from.
	Store string
	CA    []byte
	// TokenFile holds the token for the store.
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
	// DisownedAfter is how long the store may go on to refuse the runner before an attempt ends; a minute when zero.
	DisownedAfter time.Duration
	// Output gets what the engine prints, without secrets: the pod's log.
	Output io.Writer
	// Log gets what the runner itself has to say.
	Log *slog.Logger
}

// firstPatience is how long a runner that has no order yet waits for the store.
const firstPatience = 10 * time.Minute

// errInterrupted is why an attempt ends when the runner is told to stop.
var errInterrupted = errors.New(store.Interrupted)

// Interrupted gives a context to run with, and what interrupts it: the attempt under way ends as soon as the engine has
// saved its state, and is reported.
func Interrupted(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, func() { cancel(errInterrupted) }
}

// runner does orders, one at a time.
type runner struct {
	Options
	client  *store.Client
	secrets *redact.Redactor
	work    workspace
	// gitEnv is what git, which the engine starts, knows the hosts of modules by in the workspace as it is.
	gitEnv []string
	// ready is the plan that the workspace is ready to apply.
	ready *ready
	// begun are the plans whose apply was begun here. None of them may be applied once more: what the first time made
	// may not be in the state, and would be made twice.
	begun map[string]bool
}

// ready is what a plan leaves for its apply.
type ready struct {
	digest string
	files  variableFiles
	engine tool
	about  *aboutPlan
	// backendType is the type of the engine's own backend, if it has one.
	backendType string
}

// Run does the orders of the store until there are no more or ctx is interrupted. It fails only when the store could not
// be told how an attempt went, or gives no order.
func Run(ctx context.Context, o Options) error {
	client, err := store.NewClient(store.ClientOptions{URL: o.Store, CA: o.CA, TokenFile: o.TokenFile, Patience: firstPatience})
	if err != nil {
		return err
	}
	work, err := openWorkspace(o.Work)
	if err != nil {
		return err
	}
	r := &runner{Options: o, client: client, secrets: redact.New(), work: work, begun: map[string]bool{}}
	for after := int32(0); ; {
		order, err := r.next(ctx, after)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("ask for an order: %w", err)
		}
		switch order.Kind {
		case store.OrderExit:
			return nil
		case store.OrderBuild, store.OrderPlan, store.OrderApply, store.OrderShell:
			if err := r.attempt(ctx, order); err != nil {
				return fmt.Errorf("report attempt %d: %w", order.Attempt, err)
			}
			after = order.Attempt
			r.client = r.client.For(0, max(order.Patience, time.Minute))
		default:
			return fmt.Errorf("the store gave an order %q, which this runner does not know", order.Kind)
		}
	}
}

// next waits for an order that is more than Wait.
func (r *runner) next(ctx context.Context, after int32) (store.Order, error) {
	for began := time.Now(); ; {
		asked := time.Now()
		order, err := r.client.Order(ctx, after)
		if err != nil || order.Kind != store.OrderWait {
			return order, err
		}
		if after == 0 && time.Since(began) > firstPatience { // the Run went another way before it named this pod
			return store.Order{Kind: store.OrderExit}, nil
		}
		// The store holds the request while there is nothing to do. One that does not must not be flooded.
		select {
		case <-time.After(max(0, 200*time.Millisecond-time.Since(asked))):
		case <-ctx.Done():
			return order, ctx.Err()
		}
	}
}

// token is kept out of logs like any secret: what the engine runs could read it too.
func (r *runner) token() string {
	data, err := os.ReadFile(r.TokenFile)
	if err != nil {
		return ""
	}
	return string(data)
}
