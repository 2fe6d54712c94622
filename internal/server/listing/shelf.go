package listing

import (
	"maps"
	"slices"
	"sync"
)

// Shelf has the rows of all objects of a kind, as pointers. Rows must not be changed. The zero value is empty.
type Shelf struct {
	mu   sync.RWMutex
	rows map[key]entry
	// spaces is how many there are in each namespace.
	spaces map[string]int
}

type key struct{ namespace, name string }

// entry is a row, and the version of the object that it is of.
type entry struct {
	version uint64
	row     any
}

// Put has the row of a version of an object. It returns false where it has this version already, or a later one.
func (s *Shelf) Put(namespace, name string, version uint64, row any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{namespace, name}
	if has := s.rows[k]; has.row != nil && version <= has.version {
		return false
	}
	s.put(k, entry{version, row})
	return true
}

func (s *Shelf) put(k key, e entry) {
	if s.rows == nil {
		s.rows, s.spaces = map[key]entry{}, map[string]int{}
	}
	if s.rows[k].row == nil {
		s.spaces[k.namespace]++
	}
	s.rows[k] = e
}

// Remove removes the row of an object that was deleted at a version. It returns false where there is none, or one of a
// later version: of an object that was created again.
func (s *Shelf) Remove(namespace, name string, version uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{namespace, name}
	if has := s.rows[k]; has.row == nil || version < has.version {
		return false
	}
	s.remove(k)
	return true
}

func (s *Shelf) remove(k key) {
	delete(s.rows, k)
	if s.spaces[k.namespace]--; s.spaces[k.namespace] == 0 {
		delete(s.spaces, k.namespace)
	}
}

// replace has a list of all rows of a namespace, or of all namespaces, in place of those that it has. It returns what
// the list changed. A list is consistent, so it also replaces later versions: those of a cluster that was restored from
// a backup.
func (s *Shelf) replace(namespace string, list map[key]entry) (changed, removed []key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.rows {
		if (namespace == "" || k.namespace == namespace) && list[k].row == nil {
			removed = append(removed, k)
			s.remove(k)
		}
	}
	for k, e := range list {
		if has := s.rows[k]; has.row == nil || has.version != e.version {
			changed = append(changed, k)
			s.put(k, e)
		}
	}
	return changed, removed
}

// Get returns the row of an object; nil when there is none.
func (s *Shelf) Get(namespace, name string) any {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.rows[key{namespace, name}].row
}

// All returns the rows of the namespaces that may be seen, in no order.
func (s *Shelf) All(seen func(namespace string) bool) []any {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]any, 0, len(s.rows))
	for k, e := range s.rows {
		if seen(k.namespace) {
			all = append(all, e.row)
		}
	}
	return all
}

// Namespaces are those that have any.
func (s *Shelf) Namespaces() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.spaces))
}
