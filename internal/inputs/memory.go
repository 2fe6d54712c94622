package inputs

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Memory keeps what was used last, up to a number of bytes in all: documents hold whole scripts and policies, and a number
// of documents says nothing about what they weigh.
type Memory[V any] struct {
	mu   sync.Mutex
	lru  *simplelru.LRU[string, weighed[V]]
	held int
	most int
}

type weighed[V any] struct {
	value V
	bytes int
}

// overhead is what an entry weighs beside its bytes.
const overhead = 512

// NewMemory keeps up to so many bytes.
func NewMemory[V any](most int) *Memory[V] {
	m := &Memory[V]{most: most}
	// The only error is for a size below one. The bytes are what bounds it, not the number.
	m.lru, _ = simplelru.NewLRU(math.MaxInt, func(_ string, v weighed[V]) { m.held -= v.bytes })
	return m
}

// Get gives what is kept under a key.
func (m *Memory[V]) Get(key string) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.lru.Get(key)
	return v.value, ok
}

// Add keeps a value of so many bytes, in place of what was kept under the key.
func (m *Memory[V]) Add(key string, value V, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lru.Remove(key)
	if bytes += overhead; bytes > m.most {
		return // it would take the place of all others
	}
	m.lru.Add(key, weighed[V]{value, bytes})
	m.held += bytes
	for m.held > m.most {
		m.lru.RemoveOldest()
	}
}
