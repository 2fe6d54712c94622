package server

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/listing"
)

// stateSizes know how much memory the current version of a state takes, of which an engine may read as many copies as it likes. How
// large it is is taken from the catalog, which need not be up to date; where that has not heard of the state, it is asked for.
type stateSizes struct {
	// catalog has States; nil for none.
	catalog *listing.Catalog
	live    client.Reader
}

// hold waits for that memory.
func (z stateSizes) hold(ctx context.Context, key types.NamespacedName, memory *room) (func(), error) {
	var st *v1alpha1.State
	if z.catalog != nil {
		st = z.catalog.States.Get(key.Namespace, key.Name)
	}
	if st == nil {
		st = &v1alpha1.State{}
		if err := z.live.Get(ctx, key, st); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read State %s: %w", key, err)
		}
	}
	return memory.hold(ctx, key.Namespace, st.Status.Size)
}
