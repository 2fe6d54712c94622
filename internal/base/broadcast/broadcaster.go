// Package broadcast wakes the subscribers of a topic. A notification carries no data: a subscriber reads what changed
// itself.
package broadcast

import "sync"

// Broadcaster notifies subscribers by topic. The zero value is ready to use.
type Broadcaster[Topic comparable] struct {
	mu          sync.Mutex
	subscribers map[Topic]map[chan struct{}]struct{}
}

// Subscribe returns a channel that has an element whenever the topic was notified since the last receive. Call cancel
// when the subscriber is done.
func (b *Broadcaster[Topic]) Subscribe(topic Topic) (changed <-chan struct{}, cancel func()) {
	subscriber := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subscribers == nil {
		b.subscribers = map[Topic]map[chan struct{}]struct{}{}
	}
	if b.subscribers[topic] == nil {
		b.subscribers[topic] = map[chan struct{}]struct{}{}
	}
	b.subscribers[topic][subscriber] = struct{}{}
	return subscriber, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subscribers[topic], subscriber)
		if len(b.subscribers[topic]) == 0 {
			delete(b.subscribers, topic)
		}
	}
}

// Notify wakes all subscribers of a topic. It does not block: a subscriber that has not received the last notification
// gets no second one.
func (b *Broadcaster[Topic]) Notify(topic Topic) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for subscriber := range b.subscribers[topic] {
		select {
		case subscriber <- struct{}{}:
		default:
		}
	}
}
