package broadcast

import (
	"sync"
)

// bells wake those who wait for news of something. The zero value is ready to use.
type Broadcaster struct {
	mu   sync.Mutex
	ears map[string]map[chan struct{}]struct{}
}

// listen gives a channel that has something in it whenever there was news since it was read last, until leave is called.
func (b *Broadcaster) Subscribe(of string) (news <-chan struct{}, leave func()) {
	ear := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ears == nil {
		b.ears = map[string]map[chan struct{}]struct{}{}
	}
	if b.ears[of] == nil {
		b.ears[of] = map[chan struct{}]struct{}{}
	}
	b.ears[of][ear] = struct{}{}
	return ear, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.ears[of], ear)
		if len(b.ears[of]) == 0 {
			delete(b.ears, of)
		}
	}
}

// ring tells all who listen that there is news.
func (b *Broadcaster) Notify(of string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ear := range b.ears[of] {
		select {
		case ear <- struct{}{}:
		default: // it was told already
		}
	}
}
