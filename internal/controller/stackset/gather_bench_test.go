package stackset

import (
	"context"
	"fmt"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/decision"
)

// cached lists Stacks from an indexer, as the cache of controller-runtime does.
type cached struct {
	client.Client
	stacks toolscache.Indexer
}

func (c cached) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	found, exists, err := c.stacks.GetByKey(key.String())
	if err == nil && !exists {
		return notFound(key.Name)
	}
	*o.(*v1alpha1.Stack) = *found.(*v1alpha1.Stack)
	return err
}

func (c cached) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) (err error) {
	if _, is := list.(*v1alpha1.StackList); !is {
		return nil
	}
	var o client.ListOptions
	o.ApplyOptions(opts)
	var found []any
	switch {
	case o.FieldSelector != nil:
		found, err = c.stacks.ByIndex(OwnerIndex, o.FieldSelector.Requirements()[0].Value)
	case o.Namespace != "":
		found, err = c.stacks.ByIndex(toolscache.NamespaceIndex, o.Namespace)
	default:
		found = c.stacks.List()
	}
	objects := make([]runtime.Object, 0, len(found))
	for _, one := range found {
		if s := one.(*v1alpha1.Stack); o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(s.Labels)) {
			objects = append(objects, s)
		}
	}
	if err != nil {
		return err
	}
	return apimeta.SetList(list, objects)
}

// BenchmarkGatherStacks measures what the status of one of the 30 Stacks of a set costs among 15,000 others, in the
// namespace of the set and in others.
func BenchmarkGatherStacks(b *testing.B) {
	for name, others := range map[string]string{"namespace": "web", "elsewhere": "shop"} {
		b.Run(name, func(b *testing.B) {
			c := cached{stacks: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{
				toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc,
				OwnerIndex:                func(o any) ([]string, error) { return IndexOwner(o.(client.Object)), nil },
			})}
			set := &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "platform"}}
			k := &known{names: map[string]bool{}, same: map[types.UID]compared{}}
			for i := range 15_030 {
				s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: others, Name: fmt.Sprintf("s%05d", i)}}
				if i < 30 {
					s.Namespace, s.Labels, k.names[s.Name] = "web", map[string]string{
						v1alpha1.StackSetLabel: "platform"}, true
				}
				if err := c.stacks.Add(s); err != nil {
					b.Fatal(err)
				}
			}
			r := &Reconciler{Client: c}
			b.ReportAllocs()
			for b.Loop() {
				w := decision.Snapshot{Set: set}
				if err := r.gatherStacks(b.Context(), &w, k); err != nil || len(w.Stacks) != 30 {
					b.Fatal(len(w.Stacks), err)
				}
			}
		})
	}
}
