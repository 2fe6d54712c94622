package stack

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// sizeChanges tells that the terminal has another size, until ctx is done.
func sizeChanges(ctx context.Context) <-chan struct{} {
	signals, changed := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
				select {
				case changed <- struct{}{}:
				default: // the last one was not looked at yet
				}
			}
		}
	}()
	return changed
}
