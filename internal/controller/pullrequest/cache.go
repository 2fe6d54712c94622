package pullrequest

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"cairn.dev/cairn/internal/base/weightedlru"
)

// cacheSize is the number of entries of a cache.
const cacheSize = 10_000

// cache keeps what can be computed again. The zero value is empty.
type cache[K comparable, V any] struct {
	once    sync.Once
	entries *lru.Cache[K, V]
}

func (c *cache[K, V]) open() *lru.Cache[K, V] {
	c.once.Do(func() { c.entries = weightedlru.Sized[K, V](cacheSize) })
	return c.entries
}

func (c *cache[K, V]) get(key K) (V, bool) { return c.open().Get(key) }

func (c *cache[K, V]) add(key K, value V) { c.open().Add(key, value) }

func (c *cache[K, V]) remove(key K) { c.open().Remove(key) }
