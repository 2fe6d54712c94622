package snapshot

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/controller/stack/source"
)

// tenants are Stacks and StackGrants of several namespaces.
type tenants struct {
	stacks map[client.ObjectKey]*v1alpha1.Stack
	grants v1alpha1.StackGrantList
}

// randomTenants returns Stacks whose names occur in no other text, with random dependencies, states and StackGrants.
func randomTenants(random *rand.Rand) tenants {
	t := tenants{stacks: map[client.ObjectKey]*v1alpha1.Stack{}}
	var keys []client.ObjectKey
	namespaces := []string{"tenant-a", "tenant-b", "tenant-c"}
	for _, namespace := range namespaces {
		for i := range 3 {
			keys = append(keys,
				client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("q%s%d", namespace[len(namespace)-1:], i)})
		}
	}
	for _, key := range keys {
		s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Generation: 1}}
		s.Spec.Source.Inline = map[string]string{"main.tf": ""}
		for range random.IntN(3) {
			on := keys[random.IntN(len(keys))]
			s.Spec.DependsOn = append(s.Spec.DependsOn, v1alpha1.Dependency{Namespace: on.Namespace, Name: on.Name})
		}
		s.Status.ObservedGeneration = 1
		s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue,
			Reason: v1alpha1.ReasonApplied}}
		if random.IntN(4) == 0 {
			s.Status.Conditions[0].Status = metav1.ConditionUnknown
		}
		if random.IntN(6) > 0 {
			t.stacks[key] = s
		}
	}
	for range random.IntN(5) {
		g := v1alpha1.StackGrant{ObjectMeta: metav1.ObjectMeta{Namespace: namespaces[random.IntN(3)]}}
		g.Spec.From = []v1alpha1.StackGrantFrom{{Kind: v1alpha1.GrantStack, Namespace: namespaces[random.IntN(3)]}}
		if random.IntN(2) == 0 {
			g.Spec.Stacks = []string{keys[random.IntN(len(keys))].Name}
		}
		t.grants.Items = append(t.grants.Items, g)
	}
	return t
}

// allows reports that a Stack of a namespace may know of another one.
func (t tenants) allows(from string, stack client.ObjectKey) bool {
	return from == stack.Namespace || t.grants.Allow(v1alpha1.GrantStack, from, stack)
}

// follows are the Stacks that a Stack depends on by what is granted.
func (t tenants) follows(from *v1alpha1.Stack, found map[client.ObjectKey]bool) map[client.ObjectKey]bool {
	for _, name := range from.Dependencies() {
		if key := from.KeyOf(name); t.allows(from.Namespace, key) && !found[key] {
			if found[key] = true; t.stacks[key] != nil {
				t.follows(t.stacks[key], found)
			}
		}
	}
	return found
}

// gatherer reads the tenants.
func (t tenants) gatherer() *Gatherer {
	missing := func(key client.ObjectKey) error { return apierrors.NewNotFound(schema.GroupResource{}, key.Name) }
	c := interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object,
			_ ...client.GetOption) error {
			s, is := o.(*v1alpha1.Stack)
			if !is || t.stacks[key] == nil {
				return missing(key)
			}
			t.stacks[key].DeepCopyInto(s)
			return nil
		},
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			o := client.ListOptions{}
			o.ApplyOptions(opts)
			switch list := list.(type) {
			case *v1alpha1.StackGrantList:
				for _, g := range t.grants.Items {
					if g.Namespace == o.Namespace {
						list.Items = append(list.Items, g)
					}
				}
			case *v1alpha1.StackList:
				for _, s := range t.stacks {
					if slices.ContainsFunc(IndexDependencies(s), func(v string) bool {
						return o.FieldSelector.String() == DependencyIndex+"="+v
					}) {
						list.Items = append(list.Items, *s)
					}
				}
				slices.SortFunc(list.Items, func(a, b v1alpha1.Stack) int { return strings.Compare(a.Name, b.Name) })
			}
			return nil
		},
	})
	return &Gatherer{Client: c, Live: c, Code: inlineCode, Sources: inlineSources}
}

// The code of all Stacks, which is inline.
var inlineCode, inlineSources = code.NewSources(nil, nil, nil), source.NewSources(nil, noBucket{})

// noBucket has everything, and returns nothing.
type noBucket struct{}

func (noBucket) Get(context.Context, string, int64) ([]byte, error) { return nil, nil }
func (noBucket) PutOnce(context.Context, string, []byte) error      { return nil }
func (noBucket) Verify(context.Context, string) error               { return nil }
func (noBucket) Renew(context.Context, string) error                { return nil }

// known is all that a Stack knows of others, as text, and its dependents.
func (t tenants) known(test *testing.T, key client.ObjectKey) (string, []decision.Dependent) {
	test.Helper()
	g := t.gatherer()
	w := g.newSnapshot(t.stacks[key])
	for _, gather := range []func(context.Context, *decision.Snapshot) error{
		g.gatherCycle, g.gatherGrants, g.gatherDependencies, g.gatherDependents,
	} {
		if err := gather(test.Context(), &w); err != nil {
			test.Fatal(err)
		}
	}
	return fmt.Sprintf("%+v %v %+v %+v", w.Problem, w.Cycle, w.Dependencies, w.Dependents), w.Dependents
}

// TestNothingOfAnotherNamespaceIsKnownWithoutAGrant checks random Stacks and StackGrants: no Stack knows the name of
// one that is not granted to it, except by its own spec, and what no granted dependency leads to changes nothing.
func TestNothingOfAnotherNamespaceIsKnownWithoutAGrant(t *testing.T) {
	hidden, waits := 0, 0
	for seed := range uint64(1500) {
		world := randomTenants(rand.New(rand.NewPCG(seed, 1)))
		for _, s := range world.stacks { // those that are Ready are as declared
			w, err := world.gatherer().InputsOf(t.Context(), s, inlineCode)
			if err != nil {
				t.Fatal(err)
			}
			s.Status.InputsDigest = w.Digest
		}
		for key, self := range world.stacks {
			text, dependents := world.known(t, key)
			var names []string
			for _, d := range dependents {
				if names = append(names, d.Name); !world.allows(self.KeyOf(d.Name).Namespace, key) {
					t.Errorf("seed %d: %s waits for %s without a StackGrant", seed, key, d.Name)
				}
			}
			if strings.Contains(text, behindAnother("it")) {
				waits++
			}
			follows := world.follows(self, map[client.ObjectKey]bool{})
			for other := range world.stacks {
				name := self.NameOf(other)
				if world.allows(key.Namespace, other) || slices.Contains(names, name) {
					continue
				}
				hidden++
				if !slices.Contains(self.Dependencies(), name) && strings.Contains(text, other.Name) {
					t.Errorf("seed %d: %s knows %s: %s", seed, key, other, text)
				}
				if follows[other] {
					continue
				}
				without := tenants{maps.Clone(world.stacks), world.grants}
				delete(without.stacks, other)
				if got, _ := without.known(t, key); got != text {
					t.Errorf("seed %d: %s without %s:\n%s\n%s", seed, key, other, text, got)
				}
			}
		}
	}
	if hidden < 10000 || waits == 0 {
		t.Errorf("only %d Stacks were hidden, and %d waits", hidden, waits)
	}
}
