// Package runner is the program in a Run's pod: it asks the server for an order, executes it, reports, and asks for
// the next one, until the order is to exit.
//
// Every attempt that ends is reported to the server; only when that is not possible does the runner itself fail. It
// has no Kubernetes permission and does not know Kubernetes.
package runner

import (
	"context"
	"fmt"
	"time"

	"cairn.dev/cairn/internal/runner/attempt"
	"cairn.dev/cairn/internal/runnerapi"
)

// Options of a runner.
type Options struct {
	attempt.Options
	// Server is the server's URL, and CA the PEM of the certificate authorities that it has to be from.
	Server string
	CA     []byte
}

// firstPatience is how long a runner that has no order yet waits for the server.
const firstPatience = 10 * time.Minute

// Run executes the server's orders until there are none or ctx is over. It fails only when an attempt could not be
// reported, or the server returns no order.
func Run(ctx context.Context, o Options) error {
	client, err := runnerapi.NewClient(runnerapi.ClientOptions{
		URL: o.Server, CA: o.CA, TokenFile: o.TokenFile, Patience: firstPatience,
	})
	if err != nil {
		return err
	}
	executor, err := attempt.NewExecutor(o.Options)
	if err != nil {
		return err
	}
	for after := int32(0); ; {
		order, err := next(ctx, client, after)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("ask for an order: %w", err)
		}
		switch order.Kind {
		case runnerapi.OrderExit:
			return nil
		case runnerapi.OrderBuild, runnerapi.OrderPlan, runnerapi.OrderApply, runnerapi.OrderShell:
			if err := executor.Run(ctx, client, order); err != nil {
				return fmt.Errorf("report attempt %d: %w", order.Attempt, err)
			}
			after = order.Attempt
			client = client.For(0, max(order.Patience, time.Minute))
		default:
			return fmt.Errorf("the server returned an order %q, which this runner does not know", order.Kind)
		}
	}
}

// next waits for an order that is more than Wait.
func next(ctx context.Context, client *runnerapi.Client, after int32) (runnerapi.Order, error) {
	for began := time.Now(); ; {
		asked := time.Now()
		order, err := client.Order(ctx, after)
		if err != nil || order.Kind != runnerapi.OrderWait {
			return order, err
		}
		if after == 0 && time.Since(began) > firstPatience { // the Run went another way before it named this pod
			return runnerapi.Order{Kind: runnerapi.OrderExit}, nil
		}
		// The server holds the request while there is nothing to do. One that does not must not be flooded.
		select {
		case <-time.After(max(0, 200*time.Millisecond-time.Since(asked))):
		case <-ctx.Done():
			return order, ctx.Err()
		}
	}
}
