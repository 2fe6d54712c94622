package operator

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"cairn.dev/cairn/api/v1alpha1"
)

// Shard is the part of the namespaces that an operator manages: those whose names' hash, modulo Total, is Index. No
// operator talks to another one, so each has a view of its own part alone. Without a Total there is one part.
type Shard struct{ Index, Total int }

// mostShards is as many as the role has Leases for.
const mostShards = 16

func (s Shard) check(o Options) error {
	switch {
	case s.Total == 0 && s.Index == 0:
		return nil
	case s.Total < 1 || s.Total > mostShards || s.Index < 0 || s.Index >= s.Total:
		return fmt.Errorf("--shard %d of --total-shards %d: shards count from 0 up to one less than the "+
			"total, which is %d at most", s.Index, s.Total, mostShards)
	case o.Server && s.Total > 1:
		return errors.New("--total-shards is for cairn-controller operator: a server serves the runners of all " +
			"namespaces, so start cairn-controller server apart (mode split)")
	}
	return nil
}

func (s Shard) all() bool { return s.Total <= 1 }

// has reports whether a namespace is of this part. What is in no namespace is of every part.
func (s Shard) has(namespace string) bool {
	if s.all() || namespace == "" {
		return true
	}
	// the same in every version of Cairn, and even also for names that are much alike
	sum := sha256.Sum256([]byte(namespace))
	return binary.BigEndian.Uint64(sum[:])%uint64(s.Total) == uint64(s.Index)
}

// lease is that by which one of several operators of a part is the active one.
func (s Shard) lease() string {
	if s.all() {
		return "cairn-operator"
	}
	return fmt.Sprintf("cairn-operator-%d", s.Index)
}

// share is this part's share of a limit for the installation, one at least; 0 is no limit.
func (s Shard) share(limit int) int {
	if s.all() || limit == 0 {
		return limit
	}
	share := limit / s.Total
	if s.Index < limit%s.Total {
		share++
	}
	return max(share, 1)
}

// newInformer lets the cache's informers leave out what is in other parts' namespaces. Repositories are in all of
// them: Stacks may read from one in another namespace.
func (s Shard) newInformer(
	lw toolscache.ListerWatcher, of runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	if _, shared := of.(*v1alpha1.Repository); !shared {
		lw = &ownOnly{toolscache.ToListerWatcherWithContext(lw), s}
	}
	return toolscache.NewSharedIndexInformer(lw, of, resync, indexers)
}

// ownOnly lists and watches what is in a part's namespaces.
type ownOnly struct {
	from  toolscache.ListerWatcherWithContext
	shard Shard
}

// ListWithContext lists.
func (l *ownOnly) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list, err := l.from.ListWithContext(ctx, o)
	if err != nil {
		return nil, err
	}
	var own []runtime.Object
	err = apimeta.EachListItem(list, func(item runtime.Object) error {
		if l.owns(item) {
			own = append(own, item)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, apimeta.SetList(list, own)
}

// WatchWithContext watches. The list that a watch may begin with is left out of in the same way.
func (l *ownOnly) WatchWithContext(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	w, err := l.from.WatchWithContext(ctx, o)
	if err != nil {
		return nil, err
	}
	return apiwatch.Filter(w, func(e apiwatch.Event) (apiwatch.Event, bool) {
		return e, (e.Type != apiwatch.Added && e.Type != apiwatch.Modified && e.Type != apiwatch.Deleted) ||
			l.owns(e.Object)
	}), nil
}

// List and Watch are for callers of old.
func (l *ownOnly) List(o metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), o)
}

// Watch is List for what changes.
func (l *ownOnly) Watch(o metav1.ListOptions) (apiwatch.Interface, error) {
	return l.WatchWithContext(context.Background(), o)
}

func (l *ownOnly) owns(o runtime.Object) bool {
	meta, err := apimeta.Accessor(o)
	return err != nil || l.shard.has(meta.GetNamespace())
}
