package listing

import (
	"context"
	"errors"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

// Catalog has a row of all that users can list. No object can be reached from a row: code that decides or writes reads the object
// from the API server.
type Catalog struct {
	Stacks       Shelf[userapi.Stack]
	Runs         Shelf[userapi.Run]
	Repositories Shelf[userapi.Repository]
	States       Shelf[userapi.State]
	PullRequests Shelf[userapi.PullRequest]
	// Changes of all of them.
	Changes *Changes

	mirrors []mirroring
}

// mirroring is a mirror of a kind.
type mirroring interface {
	run(ctx context.Context)
	isFilled() bool
}

// NewCatalog is empty.
func NewCatalog() *Catalog { return &Catalog{Changes: NewChanges()} }

// Mirror has Start fill the catalog with the objects of some namespaces; of all where none are named. It is called once, before
// Start.
func (c *Catalog) Mirror(from client.WithWatch, namespaces []string) {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, in := range namespaces {
		c.mirrors = append(c.mirrors,
			newMirror(from, in, "Stack", Stacks, &c.Stacks, c.Changes, func() client.ObjectList { return &v1alpha1.StackList{} }),
			newMirror(from, in, "Run", Runs, &c.Runs, c.Changes, func() client.ObjectList { return &v1alpha1.RunList{} }),
			newMirror(from, in, "Repository", Repositories, &c.Repositories, c.Changes, func() client.ObjectList { return &v1alpha1.RepositoryList{} }),
			newMirror(from, in, "State", States, &c.States, c.Changes, func() client.ObjectList { return &v1alpha1.StateList{} }),
			newMirror(from, in, "PullRequest", PullRequests, &c.PullRequests, c.Changes,
				func() client.ObjectList { return &v1alpha1.PullRequestList{} }),
		)
	}
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
	all := slices.Concat(
		c.Stacks.Namespaces(), c.Runs.Namespaces(), c.Repositories.Namespaces(), c.States.Namespaces(), c.PullRequests.Namespaces(),
	)
	slices.Sort(all)
	return slices.Compact(all)
}

// CheckFilled returns an error until all objects that existed at the start are in the catalog.
func (c *Catalog) CheckFilled() error {
	if len(c.mirrors) == 0 || slices.ContainsFunc(c.mirrors, func(m mirroring) bool { return !m.isFilled() }) {
		return errors.New("the catalog is not filled yet")
	}
	return nil
}
