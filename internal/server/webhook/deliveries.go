package webhook

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"cairn.dev/cairn/internal/source/gitprovider"
)

// Seen remembers which webhooks there were, for some time and up to some number. It is safe for concurrent use.
type deliveries struct {
	keep time.Duration
	now  func() time.Time

	mu         sync.Mutex
	deliveries *simplelru.LRU[[sha256.Size]byte, time.Time] // when it was seen first; oldest first
}

// NewSeen remembers at most limit webhooks, which is at least 1, each for the time keep. now is its clock.
func newDeliveries(limit int, keep time.Duration, now func() time.Time) *deliveries {
	seen, err := simplelru.NewLRU[[sha256.Size]byte, time.Time](max(limit, 1), nil)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &deliveries{keep: keep, now: now, deliveries: seen}
}

// Again returns whether this delivery, with this body, was seen before, and remembers it. One without an id is always new:
// the same push there and back and there again may well have the same contents.
func (s *deliveries) Again(event gitprovider.Event, body []byte) bool {
	if event.Delivery == "" {
		return false
	}
	key := delivery(event, body)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for {
		oldest, at, ok := s.deliveries.GetOldest()
		if !ok || now.Sub(at) < s.keep {
			break
		}
		s.deliveries.Remove(oldest)
	}
	if s.deliveries.Contains(key) {
		return true
	}
	s.deliveries.Add(key, now)
	return false
}

// Forget has a delivery count as not seen, since it could not be handled.
func (s *deliveries) Forget(event gitprovider.Event, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliveries.Remove(delivery(event, body))
}

func delivery(event gitprovider.Event, body []byte) [sha256.Size]byte {
	content, id := sha256.Sum256(body), sha256.Sum256([]byte(event.Delivery))
	return sha256.Sum256(append(id[:], content[:]...))
}
