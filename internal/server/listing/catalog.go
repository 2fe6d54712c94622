// Package listing mirrors the rows of all objects that users can list, and what changed of them.
package listing

import (
	"context"
	"errors"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/lifecycle/kinds"
)

// Catalog has a row of all that users can list. No object can be reached from a row: code that decides or writes reads
// the object from the API server.
type Catalog struct {
	// Changes of all of them.
	Changes *Changes

	shelves map[string]*Shelf
	mirrors []*mirror
}

// NewCatalog is empty.
func NewCatalog() *Catalog {
	c := &Catalog{Changes: NewChanges(), shelves: map[string]*Shelf{}}
	for _, k := range kinds.All {
		c.shelves[k.Named().Kind] = &Shelf{}
	}
	return c
}

// Shelf has the rows of a kind.
func (c *Catalog) Shelf(k kinds.Kind) *Shelf { return c.shelves[k.Named().Kind] }

// Mirror has Start fill the catalog with the objects of some namespaces; of all where none are named. It is called
// once, before Start.
func (c *Catalog) Mirror(from client.WithWatch, namespaces []string) {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, in := range namespaces {
		for _, k := range kinds.All {
			c.mirrors = append(c.mirrors, c.newMirror(from, in, k))
		}
	}
}

func (c *Catalog) newMirror(from client.WithWatch, namespace string, k kinds.Kind) *mirror {
	return &mirror{from: from, namespace: namespace, kind: k, shelf: c.Shelf(k), changes: c.Changes}
}

// Start lists and watches until ctx is done.
func (c *Catalog) Start(ctx context.Context) error {
	var all sync.WaitGroup
	for _, m := range c.mirrors {
		all.Go(func() { m.run(ctx) })
	}
	all.Wait()
	return nil
}

// NeedLeaderElection returns false: every process may serve.
func (c *Catalog) NeedLeaderElection() bool { return false }

// Namespaces returns those that have an object of any kind.
func (c *Catalog) Namespaces() []string {
	var all []string
	for _, shelf := range c.shelves {
		all = append(all, shelf.Namespaces()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// CheckFilled returns an error until all objects that existed at the start are in the catalog.
func (c *Catalog) CheckFilled() error {
	if len(c.mirrors) == 0 || slices.ContainsFunc(c.mirrors, func(m *mirror) bool { return !m.isFilled() }) {
		return errors.New("the catalog is not filled yet")
	}
	return nil
}
