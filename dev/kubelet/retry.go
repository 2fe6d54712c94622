package kubelet

import (
	"context"
	"time"
)

// retry calls f until it says that no more is to be done, with pauses that grow, or until ctx is done.
func retry(ctx context.Context, longest time.Duration, f func() (done bool)) bool {
	for pause := longest / 32; !f(); pause = min(2*pause, longest) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
	return true
}
