//go:build unix

package stack

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// sizeChanges receives a value when the size of the terminal changed, until ctx is done.
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
				default: // one is pending already
				}
			}
		}
	}()
	return changed
}
