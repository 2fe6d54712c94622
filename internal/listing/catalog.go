package listing

import (
	"context"
	"errors"
	"sync/atomic"

	"k8s.io/client-go/tools/cache"
	informers "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

// Catalog has all that users can list.
type Catalog struct {
	Stacks       Shelf[v1alpha1.Stack]
	Runs         Shelf[v1alpha1.Run]
	Repositories Shelf[v1alpha1.Repository]
	States       Shelf[v1alpha1.State]
	// Changes of all of them.
	Changes *Changes

	filled atomic.Pointer[[]cache.ResourceEventHandlerRegistration]
}

// NewCatalog is empty.
func NewCatalog() *Catalog { return &Catalog{Changes: NewChanges()} }

// Fill has informers add every object to the catalog from now on.
func (c *Catalog) Fill(ctx context.Context, from informers.Cache) error {
	stacks, noStacks := fill(ctx, from, "Stack", &c.Stacks, &v1alpha1.Stack{}, c.Changes)
	runs, noRuns := fill(ctx, from, "Run", &c.Runs, &v1alpha1.Run{}, c.Changes)
	repositories, noRepositories := fill(ctx, from, "Repository", &c.Repositories, &v1alpha1.Repository{}, c.Changes)
	states, noStates := fill(ctx, from, "State", &c.States, &v1alpha1.State{}, c.Changes)
	if err := errors.Join(noStacks, noRuns, noRepositories, noStates); err != nil {
		return err
	}
	c.filled.Store(&[]cache.ResourceEventHandlerRegistration{stacks, runs, repositories, states})
	return nil
}

// Filled returns true once all objects that existed at the start are in the catalog.
func (c *Catalog) Filled() bool {
	all := c.filled.Load()
	if all == nil {
		return false
	}
	for _, r := range *all {
		if !r.HasSynced() {
			return false
		}
	}
	return true
}

// fill adds an informer's object to a shelf, and to the changes if it changed.
func fill[O any](
	ctx context.Context, from informers.Cache, kind string, shelf *Shelf[O], example client.Object, changes *Changes,
) (cache.ResourceEventHandlerRegistration, error) {
	informer, err := from.GetInformer(ctx, example)
	if err != nil {
		return nil, err
	}
	tell := func(o client.Object, deleted bool) {
		changes.Add(userapi.Change{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), Deleted: deleted})
	}
	put := func(of any) (client.Object, bool) {
		object, ok := of.(client.Object)
		if o, fits := of.(*O); ok && fits {
			shelf.Put(object.GetNamespace(), object.GetName(), o)
			return object, true
		}
		return nil, false
	}
	return informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(of any, initial bool) {
			if o, ok := put(of); ok && !initial {
				tell(o, false)
			}
		},
		UpdateFunc: func(was, of any) {
			before, known := was.(client.Object)
			if o, ok := put(of); ok && (!known || before.GetResourceVersion() != o.GetResourceVersion()) {
				tell(o, false)
			}
		},
		DeleteFunc: func(of any) {
			if gone, ok := of.(cache.DeletedFinalStateUnknown); ok {
				of = gone.Obj
			}
			if o, ok := of.(client.Object); ok {
				shelf.Remove(o.GetNamespace(), o.GetName())
				tell(o, true)
			}
		},
	})
}
