package listing

import (
	"maps"
	"slices"
	"sync"
)

// Shelf has the rows of all objects of a kind. Rows must not be changed. The zero value is empty.
type Shelf[R any] struct {
	mu   sync.RWMutex
	rows map[key]*entry[R]
	// spaces is how many there are in each namespace.
	spaces map[string]int
}

type key struct{ namespace, name string }

// entry is a row, and the version of the object that it is of.
type entry[R any] struct {
	version uint64
	row     R
}

// Put has the row of a version of an object. It returns false where it has this version already, or a later one.
func (s *Shelf[R]) Put(namespace, name string, version uint64, row R) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{namespace, name}
	if has := s.rows[k]; has != nil && version <= has.version {
		return false
	}
	s.put(k, &entry[R]{version, row})
	return true
}

func (s *Shelf[R]) put(k key, e *entry[R]) {
	if s.rows == nil {
		s.rows, s.spaces = map[key]*entry[R]{}, map[string]int{}
	}
	if s.rows[k] == nil {
		s.spaces[k.namespace]++
	}
	s.rows[k] = e
}

// Remove removes the row of an object that was deleted at a version. It returns false where there is none, or one of a later
// version: of an object that was created again.
func (s *Shelf[R]) Remove(namespace, name string, version uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{namespace, name}
	if has := s.rows[k]; has == nil || version < has.version {
		return false
	}
	s.remove(k)
	return true
}

func (s *Shelf[R]) remove(k key) {
	delete(s.rows, k)
	if s.spaces[k.namespace]--; s.spaces[k.namespace] == 0 {
		delete(s.spaces, k.namespace)
	}
}

// replace has a list of all rows of a namespace, or of all namespaces, in place of those that it has. It returns what the list
// changed. A list is consistent, so it also replaces later versions: those of a cluster that was restored from a backup.
func (s *Shelf[R]) replace(namespace string, list map[key]*entry[R]) (changed, removed []key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.rows {
		if (namespace == "" || k.namespace == namespace) && list[k] == nil {
			removed = append(removed, k)
			s.remove(k)
		}
	}
	for k, e := range list {
		if has := s.rows[k]; has == nil || has.version != e.version {
			changed = append(changed, k)
			s.put(k, e)
		}
	}
	return changed, removed
}

// Get returns the row of an object; nil when there is none.
func (s *Shelf[R]) Get(namespace, name string) *R {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if has := s.rows[key{namespace, name}]; has != nil {
		return &has.row
	}
	return nil
}

// All returns the rows of the namespaces that may be seen, in no order.
func (s *Shelf[R]) All(seen func(namespace string) bool) []*R {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]*R, 0, len(s.rows))
	for k, e := range s.rows {
		if seen(k.namespace) {
			all = append(all, &e.row)
		}
	}
	return all
}

// Namespaces are those that have any.
func (s *Shelf[R]) Namespaces() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.spaces))
}
