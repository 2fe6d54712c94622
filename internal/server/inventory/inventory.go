// Package inventory lists the resources of all states, from the indexes that are beside them in the bucket (decision
// 84). It keeps the indexes that were read in a compact form: no values, and no bytes of a state.
package inventory

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/server/listing"
	"cairn.dev/cairn/internal/server/tenant"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/document"
	"cairn.dev/cairn/internal/userapi"
)

const (
	// memory is the size in bytes of the indexes in memory. BenchmarkRows measures what a resource takes.
	memory = 64 << 20
	// patience is how long a request reads indexes before it responds with those that are there.
	patience = 2 * time.Second
	// together is how many indexes are read at a time.
	together = 16
	// perState is what an index takes in memory beside its text.
	perState = 256
)

// Indexes are those of the states; *state.Store has them.
type Indexes interface {
	// Index returns the index of the version with that SHA256; state.ErrNone if it is not stored.
	Index(ctx context.Context, key types.NamespacedName, sha256 string) (document.Index, error)
	// Reindex writes the index of the current version again, and returns it.
	Reindex(ctx context.Context, key types.NamespacedName) (document.Index, error)
}

// Inventory has the resources of states. Its methods may be called at the same time.
type Inventory struct {
	indexes Indexes
	catalog *listing.Catalog
	// budget is the memory for states whose index has to be written.
	budget *tenant.Semaphore
	log    *slog.Logger
	most   int
	// reading is held by the request that reads indexes.
	reading *semaphore.Weighted

	mu   sync.RWMutex
	kept map[types.NamespacedName]*compact
	held int
}

// New creates an Inventory that is empty: indexes are read on request.
func New(
	indexes Indexes, catalog *listing.Catalog, budget *tenant.Semaphore, log *slog.Logger,
) *Inventory {
	return &Inventory{
		indexes: indexes, catalog: catalog, budget: budget, log: log, most: memory, reading: semaphore.NewWeighted(1),
		kept: map[types.NamespacedName]*compact{},
	}
}

var (
	// errPending means that an index is not read yet.
	errPending = errors.New("not read yet")
	// errFull means that there is no memory left for an index.
	errFull = errors.New("no memory left for indexes")
)

// result is the index of a state, or why there is none.
type result struct {
	index *compact
	err   error
}

// Rows returns the resources of states, and what is missing. Each row is valid until the next one.
func (v *Inventory) Rows(
	ctx context.Context, states []*userapi.State,
) (iter.Seq[*userapi.Resource], userapi.MissingResources, error) {
	var missing userapi.MissingResources
	var listed []*userapi.State
	for _, st := range states {
		switch {
		case st.Resources == document.Unknown:
			missing.Encrypted++
		case st.Resources > 0:
			listed = append(listed, st)
		}
	}
	results := v.get(ctx, listed)
	if err := ctx.Err(); err != nil {
		return nil, missing, err
	}
	for _, r := range results {
		switch {
		case r.index != nil && r.index.omitted:
			missing.Cut++
		case r.err == nil, errors.Is(r.err, state.ErrNone): // none: it was deleted meanwhile
		case errors.Is(r.err, errPending):
			missing.Pending++
		case errors.Is(r.err, errFull):
			missing.Omitted++
		default:
			missing.Unreadable++
		}
	}
	return func(yield func(*userapi.Resource) bool) {
		for i, r := range results {
			if r.index != nil && !r.index.rows(listed[i].Namespace, listed[i].Name, yield) {
				return
			}
		}
	}, missing, nil
}

// get returns the indexes of states in their order. It reads those that are not in memory, as long as the patience
// lasts.
func (v *Inventory) get(ctx context.Context, states []*userapi.State) []result {
	results, left := v.lookUp(states)
	if len(left) == 0 {
		return results
	}
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if v.reading.Acquire(soon, 1) != nil { // another request is reading them
		return results
	}
	defer v.reading.Release(1)
	v.prune()
	var group errgroup.Group
	group.SetLimit(together)
	results, left = v.lookUp(states)
	for _, i := range left {
		group.Go(func() error {
			if soon.Err() == nil { // what begins is completed, so that a large state is indexed at some time
				results[i].index, results[i].err = v.load(ctx, soon, states[i])
			}
			return nil
		})
	}
	_ = group.Wait()
	return results
}

// lookUp returns what is in memory, and which indexes are not.
func (v *Inventory) lookUp(states []*userapi.State) (results []result, left []int) {
	results = make([]result, len(states))
	v.mu.RLock()
	defer v.mu.RUnlock()
	for i, st := range states {
		if index := v.kept[keyOf(st)]; index != nil && index.sha256 == st.SHA256 {
			results[i].index = index
		} else {
			results[i].err = errPending
			left = append(left, i)
		}
	}
	return results, left
}

// load reads an index, or has it written first if that can begin before soon is done. It may be that of a later version
// than the row has.
func (v *Inventory) load(ctx, soon context.Context, st *userapi.State) (*compact, error) {
	if v.isFull() {
		return nil, errFull
	}
	key := keyOf(st)
	index, err := v.indexes.Index(ctx, key, st.SHA256)
	if errors.Is(err, state.ErrNone) {
		index, err = v.reindex(ctx, soon, key, st.Size)
	}
	if err != nil {
		if !errors.Is(err, state.ErrNone) && !errors.Is(err, errPending) {
			v.log.Warn("the resources of a state cannot be listed", "namespace", st.Namespace, "stack", st.Name,
				"error", err)
		}
		return nil, err
	}
	packed := pack(index)
	v.keep(key, packed)
	return packed, nil
}

// reindex reads a whole state, if there is memory for it before soon is done: all requests that read indexes wait for
// this one.
func (v *Inventory) reindex(ctx, soon context.Context, key types.NamespacedName, size int64) (document.Index, error) {
	free, err := v.budget.Acquire(soon, key.Namespace, 2*size)
	if err != nil {
		return document.Index{}, errPending
	}
	defer free()
	return v.indexes.Reindex(ctx, key)
}

func (v *Inventory) isFull() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.held >= v.most
}

func (v *Inventory) keep(key types.NamespacedName, index *compact) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.held += index.size() - v.kept[key].size()
	v.kept[key] = index
}

// prune removes the indexes of states that were deleted, and of earlier versions.
func (v *Inventory) prune() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key, index := range v.kept {
		st, ok := v.catalog.Shelf(kinds.States).Get(key.Namespace, key.Name).(*userapi.State)
		if !ok || st.SHA256 != index.sha256 {
			v.held -= index.size()
			delete(v.kept, key)
		}
	}
}

func keyOf(st *userapi.State) types.NamespacedName {
	return types.NamespacedName{Namespace: st.Namespace, Name: st.Name}
}
