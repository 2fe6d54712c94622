package httpbackend

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/server/listing"
	"cairn.dev/cairn/internal/server/tenant"
	"cairn.dev/cairn/internal/userapi"
)

// StateMemory limits the memory of states that engines read. An engine may read as many copies of a state as it likes.
type StateMemory struct {
	*tenant.Semaphore
	// Catalog has the sizes of States. It may be out of date.
	Catalog *listing.Catalog
	// Live reads States that the Catalog has not received yet.
	Live client.Reader
}

// AcquireState waits until there is memory for the current version of a state. The returned function releases it.
func (m StateMemory) AcquireState(ctx context.Context, key types.NamespacedName) (func(), error) {
	if row, ok := m.Catalog.Shelf(kinds.States).Get(key.Namespace, key.Name).(*userapi.State); ok {
		return m.Acquire(ctx, key.Namespace, row.Size)
	}
	st := &v1alpha1.State{}
	if err := m.Live.Get(ctx, key, st); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read State %s: %w", key, err)
	}
	return m.Acquire(ctx, key.Namespace, st.Status.Size)
}
