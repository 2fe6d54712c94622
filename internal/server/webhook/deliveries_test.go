package webhook

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn.dev/cairn/internal/source/gitprovider"
)

func TestSeen(t *testing.T) {
	at := hookTime
	s := newDeliveries(3, time.Hour, func() time.Time { return at })
	for _, c := range []struct {
		name, id, body string
		after          time.Duration
		want           bool
	}{
		{"a delivery is new", "1", "a", 0, false},
		{"and then it is not", "1", "a", 0, true},
		{"another body under its id is new", "1", "b", 0, false},
		{"its body under another id is new", "2", "a", 0, false},
		{"id and body are not run together", "1a", "", 0, false},
		{"with more than three the oldest is forgotten", "1", "a", 0, false},
		{"what is not the oldest is not", "2", "a", 0, true},
		{"without an id it is always new", "", "a", 0, false},
		{"always", "", "a", 0, false},
		{"it is remembered for an hour", "2", "a", time.Hour - 1, true},
		{"and no longer, though it was asked for in between", "2", "a", 1, false},
	} {
		at = at.Add(c.after)
		if got := s.Again(gitprovider.Event{Delivery: c.id}, []byte(c.body)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	s.Forget(gitprovider.Event{Delivery: "2"}, []byte("a"))
	if s.Again(gitprovider.Event{Delivery: "2"}, []byte("a")) {
		t.Error("what was forgotten is still known")
	}
}

func TestOneOfManyConcurrentDeliveriesIsNew(t *testing.T) {
	s := newDeliveries(100, time.Hour, time.Now)
	var fresh atomic.Int64
	var all sync.WaitGroup
	for i := range 500 {
		all.Go(func() {
			if !s.Again(gitprovider.Event{Delivery: fmt.Sprint(i % 10)}, nil) {
				fresh.Add(1)
			}
		})
	}
	all.Wait()
	if fresh.Load() != 10 || s.deliveries.Len() != 10 {
		t.Errorf("%d were new, %d are remembered", fresh.Load(), s.deliveries.Len())
	}
}
