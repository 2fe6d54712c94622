package listing

import (
	"maps"
	"slices"
	"sync"
)

// Shelf has all objects of a kind, as an informer sends them. They are the informer's own and must not be changed. The
// zero value is empty.
type Shelf[O any] struct {
	mu      sync.RWMutex
	objects map[key]*O
	// spaces is how many there are in each namespace.
	spaces map[string]int
}

type key struct{ namespace, name string }

// Put has an object, in place of an older one of that name.
func (s *Shelf[O]) Put(namespace, name string, o *O) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects, s.spaces = map[key]*O{}, map[string]int{}
	}
	if s.objects[key{namespace, name}] == nil {
		s.spaces[namespace]++
	}
	s.objects[key{namespace, name}] = o
}

// Remove removes an object.
func (s *Shelf[O]) Remove(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[key{namespace, name}] == nil {
		return
	}
	delete(s.objects, key{namespace, name})
	if s.spaces[namespace]--; s.spaces[namespace] == 0 {
		delete(s.spaces, namespace)
	}
}

// Get returns an object; nil when there is none.
func (s *Shelf[O]) Get(namespace, name string) *O {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objects[key{namespace, name}]
}

// All returns the objects of the namespaces that may be seen, in no order.
func (s *Shelf[O]) All(seen func(namespace string) bool) []*O {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]*O, 0, len(s.objects))
	for k, o := range s.objects {
		if seen(k.namespace) {
			all = append(all, o)
		}
	}
	return all
}

// Namespaces are those that have any.
func (s *Shelf[O]) Namespaces() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.spaces))
}
