package listing

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync"

	"cairn.dev/cairn/internal/base/broadcast"
	"cairn.dev/cairn/internal/userapi"
)

// mostChanges is how many are remembered, for those who come back.
const mostChanges = 20_000

// Changes remember what became of objects, in order, for those who watch. A client that was disconnected for a moment
// continues where it was.
type Changes struct {
	// epoch is another one for each process: places in another's memory mean nothing here.
	epoch string

	mu   sync.Mutex
	ring []userapi.Change
	// last is the place of the newest; places count from 1.
	last int64

	subscribers broadcast.Broadcaster[struct{}]
}

// NewChanges remembers nothing yet.
func NewChanges() *Changes {
	return &Changes{epoch: rand.Text()[:8]}
}

// Add stores a change and notifies subscribers.
func (c *Changes) Add(change userapi.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ring) < mostChanges {
		c.ring = append(c.ring, change)
	} else {
		c.ring[c.last%mostChanges] = change
	}
	c.last++
	c.subscribers.Notify(struct{}{})
}

// Since returns what changed after a place, each object once, and the place that this leads to. An empty place is now.
// Where too much has happened since, or the place is another process's, ok is false: then all may have changed.
func (c *Changes) Since(place string) (changes []userapi.Change, now string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now = c.epoch + "-" + strconv.FormatInt(c.last, 10)
	if place == "" {
		return nil, now, true
	}
	epoch, number, _ := strings.Cut(place, "-")
	from, err := strconv.ParseInt(number, 10, 64)
	if err != nil || epoch != c.epoch || from < 0 || from > c.last || c.last-from > mostChanges {
		return nil, now, false
	}
	at := map[userapi.Change]int{} // of the same object, the newest counts
	for i := from; i < c.last; i++ {
		change := c.ring[i%mostChanges]
		which := change
		which.Deleted = false
		if n, again := at[which]; again {
			changes[n] = change
			continue
		}
		at[which] = len(changes)
		changes = append(changes, change)
	}
	return changes, now, true
}

// Subscribe returns a channel that has an element when rows changed since the last receive. Call cancel when the
// subscriber is done.
func (c *Changes) Subscribe() (changed <-chan struct{}, cancel func()) {
	return c.subscribers.Subscribe(struct{}{})
}
