package listing

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/userapi"
)

// pageSize is how many objects are in memory at once while all are listed.
const pageSize = 500

// mirror keeps the rows of a kind up to date, and nothing else of its objects. It is the store of a reflector, and what the
// reflector lists and watches with.
type mirror[O, R any] struct {
	from      client.WithWatch
	namespace string // empty for all
	kind      string
	row       func(*O) R
	newList   func() client.ObjectList
	shelf     *Shelf[R]
	changes   *Changes

	// listed are the rows of the last list. The reflector gets that list without its objects, and then calls Replace.
	listed map[key]*entry[R]
	filled atomic.Bool
}

func newMirror[O, R any](
	from client.WithWatch, namespace, kind string, k Kind[O, R], shelf *Shelf[R], changes *Changes, newList func() client.ObjectList,
) *mirror[O, R] {
	return &mirror[O, R]{
		from: from, namespace: namespace, kind: kind, row: k.Row, newList: newList, shelf: shelf, changes: changes,
	}
}

func (m *mirror[O, R]) run(ctx context.Context) {
	cache.NewReflectorWithOptions(m, new(O), m, cache.ReflectorOptions{
		Name: "catalog", TypeDescription: m.kind,
	}).RunWithContext(ctx)
}

func (m *mirror[O, R]) isFilled() bool { return m.filled.Load() }

// IsWatchListSemanticsUnSupported has the reflector list: it would keep all objects of a watch that begins with a list.
func (m *mirror[O, R]) IsWatchListSemanticsUnSupported() bool { return true }

// ListWithContext lists page by page, so that only the objects of one page are in memory. What it returns has no items.
func (m *mirror[O, R]) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	rows, next := map[key]*entry[R]{}, ""
	for {
		page := m.newList()
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
		list := m.newList()
		list.SetResourceVersion(page.GetResourceVersion())
		return list, nil
	}
}

// WatchWithContext watches.
func (m *mirror[O, R]) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return m.from.Watch(ctx, m.newList(), &client.ListOptions{Namespace: m.namespace, Raw: &o})
}

// List and Watch are required by the reflector's interface, which calls those with a context.
func (m *mirror[O, R]) List(o metav1.ListOptions) (runtime.Object, error) {
	return m.ListWithContext(context.Background(), o)
}

// Watch is List for what changes.
func (m *mirror[O, R]) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return m.WatchWithContext(context.Background(), o)
}

// entryOf is all that stays of an object.
func (m *mirror[O, R]) entryOf(of any) (key, *entry[R], error) {
	o, isObject := of.(client.Object)
	typed, isKind := of.(*O)
	if !isObject || !isKind {
		return key{}, nil, fmt.Errorf("%T is not a %s", of, m.kind)
	}
	version, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return key{}, nil, fmt.Errorf("resource version of %s %s/%s: %w", m.kind, o.GetNamespace(), o.GetName(), err)
	}
	row := m.row(typed)
	return key{intern(o.GetNamespace()), o.GetName()}, &entry[R]{version, row}, nil
}

// Add stores the row of an object.
func (m *mirror[O, R]) Add(of any) error {
	k, e, err := m.entryOf(of)
	if err == nil && m.shelf.Put(k.namespace, k.name, e.version, e.row) {
		m.changed(k, false)
	}
	return err
}

// Update is Add.
func (m *mirror[O, R]) Update(of any) error { return m.Add(of) }

// Delete removes the row of an object.
func (m *mirror[O, R]) Delete(of any) error {
	k, e, err := m.entryOf(of)
	if err == nil && m.shelf.Remove(k.namespace, k.name, e.version) {
		m.changed(k, true)
	}
	return err
}

// Replace takes the rows of the last list. What the first one has is no change.
func (m *mirror[O, R]) Replace([]any, string) error {
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
func (m *mirror[O, R]) Resync() error { return nil }

func (m *mirror[O, R]) changed(k key, deleted bool) {
	m.changes.Add(userapi.Change{Kind: m.kind, Namespace: k.namespace, Name: k.name, Deleted: deleted})
}
