// Package weightedlru is an LRU cache that is bounded by the weight of its entries. A number of entries is no bound
// where some are a line and others a megabyte.
package weightedlru

import (
	"math"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Sized returns a cache of at most so many entries, for those that are of about the same size.
func Sized[K comparable, V any](entries int) *lru.Cache[K, V] {
	cache, err := lru.New[K, V](entries)
	if err != nil {
		panic(err) // only for a size below one
	}
	return cache
}

// Cache keeps values by key. Its methods may be called at the same time.
type Cache[K comparable, V any] struct {
	mu   sync.Mutex
	lru  *simplelru.LRU[K, weighed[V]]
	held int
	most int
	each int
}

// EntryOverhead is what an entry weighs beside its value, where weights are bytes.
const EntryOverhead = 512

type weighed[V any] struct {
	value  V
	weight int
}

// New keeps values up to a weight in all, in whatever unit the caller counts; each of them weighs so much beside
// its own.
func New[K comparable, V any](most, each int) *Cache[K, V] {
	m := &Cache[K, V]{most: most, each: each}
	// The only error is for a size below one. The weight is what bounds it, not the number.
	m.lru, _ = simplelru.NewLRU(math.MaxInt, func(_ K, v weighed[V]) { m.held -= v.weight })
	return m
}

// Get returns what is stored under a key.
func (m *Cache[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.lru.Get(key)
	return v.value, ok
}

// Remove forgets what is stored under a key.
func (m *Cache[K, V]) Remove(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lru.Remove(key)
}

// Add keeps a value of that weight, in place of what was kept under the key. One that would take the place of all
// others is not kept.
func (m *Cache[K, V]) Add(key K, value V, weight int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lru.Remove(key)
	if weight += m.each; weight > m.most {
		return
	}
	m.lru.Add(key, weighed[V]{value, weight})
	m.held += weight
	for m.held > m.most {
		m.lru.RemoveOldest()
	}
}
