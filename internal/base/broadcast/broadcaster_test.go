package broadcast

import (
	"sync"
	"testing"
)

func TestSubscribeAndUnsubscribeDuringNotifications(t *testing.T) {
	var b Broadcaster[int]
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			changed, cancel := b.Subscribe(i % 5)
			b.Notify(i % 5)
			<-changed
			cancel()
		})
	}
	all.Wait()
	if len(b.subscribers) > 0 {
		t.Errorf("subscribers are left: %v", b.subscribers)
	}
}

func TestNotificationsAreCoalescedPerTopic(t *testing.T) {
	var b Broadcaster[string]
	mine, cancel := b.Subscribe("mine")
	defer cancel()
	other, cancelOther := b.Subscribe("other")
	defer cancelOther()
	for range 3 {
		b.Notify("mine")
	}
	if len(mine) != 1 || len(other) != 0 {
		t.Errorf("%d and %d notifications", len(mine), len(other))
	}
}
