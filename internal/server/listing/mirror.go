package listing

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"unique"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/userapi"
)

// pageSize is how many objects are in memory at once while all are listed.
const pageSize = 500

// mirror keeps the rows of a kind up to date, and nothing else of its objects. It is the store of a reflector, and what
// the reflector lists and watches with.
type mirror struct {
	from      client.WithWatch
	namespace string // empty for all
	kind      kinds.Kind
	shelf     *Shelf
	changes   *Changes

	// listed are the rows of the last list. The reflector gets that list without its objects, and then calls Replace.
	listed map[key]entry
	filled atomic.Bool
}

func (m *mirror) run(ctx context.Context) {
	cache.NewReflectorWithOptions(m, m.kind.New(), m, cache.ReflectorOptions{
		Name: "catalog", TypeDescription: m.kind.Named().Kind,
	}).RunWithContext(ctx)
}

func (m *mirror) isFilled() bool { return m.filled.Load() }

// IsWatchListSemanticsUnSupported has the reflector list: it would keep all objects of a watch that begins with a list.
func (m *mirror) IsWatchListSemanticsUnSupported() bool { return true }

// ListWithContext lists page by page, so that only the objects of one page are in memory. What it returns has no items.
func (m *mirror) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	rows, next := map[key]entry{}, ""
	for {
		page := m.kind.NewList()
		err := m.from.List(ctx, page, client.InNamespace(m.namespace), client.Limit(pageSize), client.Continue(next))
		if err != nil {
			return nil, err
		}
		err = apimeta.EachListItem(page, func(of runtime.Object) error {
			k, e, err := m.entryOf(of)
			rows[k] = e
			return err
		})
		if err != nil {
			return nil, err
		}
		if next = page.GetContinue(); next != "" {
			continue
		}
		m.listed = rows
		list := m.kind.NewList()
		list.SetResourceVersion(page.GetResourceVersion())
		return list, nil
	}
}

// WatchWithContext watches.
func (m *mirror) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return m.from.Watch(ctx, m.kind.NewList(), &client.ListOptions{Namespace: m.namespace, Raw: &o})
}

// List and Watch are required by the reflector's interface, which calls those with a context.
func (m *mirror) List(o metav1.ListOptions) (runtime.Object, error) {
	return m.ListWithContext(context.Background(), o)
}

// Watch is List for what changes.
func (m *mirror) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return m.WatchWithContext(context.Background(), o)
}

// entryOf is all that stays of an object.
func (m *mirror) entryOf(of any) (key, entry, error) {
	o, isObject := of.(client.Object)
	if !isObject {
		return key{}, entry{}, fmt.Errorf("%T is no object", of)
	}
	row, err := m.kind.RowOf(o)
	if err != nil {
		return key{}, entry{}, err
	}
	version, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		kind := m.kind.Named().Kind
		return key{}, entry{}, fmt.Errorf("resource version of %s %s/%s: %w", kind, o.GetNamespace(), o.GetName(), err)
	}
	return key{unique.Make(o.GetNamespace()).Value(), o.GetName()}, entry{version, row}, nil
}

// Add stores the row of an object.
func (m *mirror) Add(of any) error {
	k, e, err := m.entryOf(of)
	if err == nil && m.shelf.Put(k.namespace, k.name, e.version, e.row) {
		m.changed(k, false)
	}
	return err
}

// Update is Add.
func (m *mirror) Update(of any) error { return m.Add(of) }

// Delete removes the row of an object.
func (m *mirror) Delete(of any) error {
	k, e, err := m.entryOf(of)
	if err == nil && m.shelf.Remove(k.namespace, k.name, e.version) {
		m.changed(k, true)
	}
	return err
}

// Replace takes the rows of the last list. What the first one has is no change.
func (m *mirror) Replace([]any, string) error {
	changed, removed := m.shelf.replace(m.namespace, m.listed)
	m.listed = nil
	if m.filled.Swap(true) {
		for _, k := range changed {
			m.changed(k, false)
		}
		for _, k := range removed {
			m.changed(k, true)
		}
	}
	return nil
}

// Resync does nothing: rows do not expire.
func (m *mirror) Resync() error { return nil }

func (m *mirror) changed(k key, deleted bool) {
	m.changes.Add(userapi.Change{Kind: m.kind.Named().Kind, Namespace: k.namespace, Name: k.name, Deleted: deleted})
}
