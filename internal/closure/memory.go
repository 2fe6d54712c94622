package closure

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// memory keeps what was used last, up to a weight in all.
type memory[K comparable, V any] struct {
	mu   sync.Mutex
	lru  *simplelru.LRU[K, weighed[V]]
	held int
	most int
}

type weighed[V any] struct {
	value  V
	weight int
}

func newMemory[K comparable, V any](most int) *memory[K, V] {
	m := &memory[K, V]{most: most}
	// The only error is for a size below one. Weight is what bounds it, not the number.
	m.lru, _ = simplelru.NewLRU(math.MaxInt, func(_ K, v weighed[V]) { m.held -= v.weight })
	return m
}

func (m *memory[K, V]) get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.lru.Get(key)
	return v.value, ok
}

// add keeps a value, whose weight is that many entries and one for itself, in place of what was kept under the key.
func (m *memory[K, V]) add(key K, value V, entries int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lru.Remove(key)
	if entries >= m.most {
		return // it would take the place of all others
	}
	m.lru.Add(key, weighed[V]{value, entries + 1})
	m.held += entries + 1
	for m.held > m.most {
		m.lru.RemoveOldest()
	}
}
