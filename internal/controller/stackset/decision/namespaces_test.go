package decision

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// in puts the last Stack that is rendered into a namespace.
func in(namespace string) func(*Snapshot) {
	return func(w *Snapshot) { w.Rendered[len(w.Rendered)-1].Namespace = namespace }
}

// at is a Stack of the set in another namespace.
func at(namespace string) func(*v1alpha1.Stack) {
	return func(s *v1alpha1.Stack) {
		s.Namespace, s.UID = namespace, types.UID(namespace+"-"+s.Name)
		s.Labels = map[string]string{v1alpha1.StackSetLabel: "platform", v1alpha1.StackSetNamespaceLabel: "default"}
	}
}

// isLabeled has the labels of the set, which never wrote it.
func isLabeled(s *v1alpha1.Stack) { s.Annotations = nil }

func grants(namespace, from string, stacks ...string) func(*Snapshot) {
	return func(w *Snapshot) {
		grant := v1alpha1.StackGrant{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
		grant.Spec.From = []v1alpha1.StackGrantFrom{{Kind: v1alpha1.GrantStackSet, Namespace: from}}
		grant.Spec.Stacks = stacks
		w.Grants.Items = append(w.Grants.Items, grant)
	}
}

func namespaces(all ...string) func(*Snapshot) {
	return spec(func(s *v1alpha1.StackSetSpec) { s.Namespaces = all })
}

// A StackSet writes no Stack of another namespace without spec.namespaces and a StackGrant, deletes none, and is not
// stopped by the Stacks of users in that namespace.
func TestStacksOfOtherNamespaces(t *testing.T) {
	three := []string{"a", "b", "c"}
	shop, granted := namespaces("shop", "crm"), grants("shop", "default")
	outdated := []func(*v1alpha1.Stack){isApplied, isOutdated, at("shop")}
	const missing = "no StackGrant in namespace shop allows StackSets of namespace default to write it; create one " +
		"there with spec.from: [{kind: StackSet, namespace: default}]"
	for name, tt := range map[string]struct {
		snapshot Snapshot
		writes   string
		ready    string
		message  string
	}{
		"without a StackGrant nothing is written there": {newSnapshot(three, shop, renders("x"), in("shop"),
			renders("d")), "Create d", "False NamespaceNotGranted", "Stack shop/x is not written: " + missing},
		"with one a Stack is created": {newSnapshot(three, shop, granted, renders("x"),
			in("shop")), "Create shop/x", "Unknown RollingOut", "3 of 4"},
		"one for another namespace allows nothing": {newSnapshot(three, shop, grants("shop", "other"),
			renders("x"), in("shop")), "", "False NamespaceNotGranted", missing},
		"nor does one of another namespace": {newSnapshot(three, shop, grants("crm", "default"),
			renders("x"), in("shop")), "", "False NamespaceNotGranted", missing},
		"one for Stacks alone allows no StackSet": {newSnapshot(three, shop, granted, func(w *Snapshot) {
			w.Grants.Items[0].Spec.From[0].Kind = v1alpha1.GrantStack
		}, renders("x"), in("shop")), "", "False NamespaceNotGranted", missing},
		"one that names Stacks allows these": {
			newSnapshot(three, shop, grants("shop", "default", "x"), renders("x"), in("shop"), renders("y"),
				in("shop")), "Create shop/x", "False NamespaceNotGranted", "Stack shop/y is not written: "},
		"a StackGrant alone is not enough": {newSnapshot(three, granted, renders("x"), in("shop")),
			"", "False NamespaceNotGranted", "spec.namespaces does not have shop any more"},
		"a namespace that is not watched": {newSnapshot(three, shop, granted, func(w *Snapshot) {
			w.Unwatched = []string{"shop"}
		}, renders("x"), in("shop")), "", "False NamespaceNotGranted", "does not watch namespace shop"},
		"a template that changes": {newSnapshot(three, shop, granted, renders("x"),
			in("shop"), exists("x", outdated...)), "Change shop/x", "Unknown RollingOut", ""},
		"after the withdrawal it changes nothing": {newSnapshot(three, shop, renders("x"), in("shop"),
			exists("x", outdated...)), "", "False NamespaceNotGranted", "Stack shop/x is not written"},
		"a Stack that is not generated is suspended": {
			newSnapshot(three, shop, granted, exists("x", isApplied, at("shop"))), "Suspend shop/x",
			"Unknown RollingOut", ""},
		"and stays as it is after the withdrawal": {
			newSnapshot(three, shop, exists("x", isApplied, at("shop"))), "", "False NamespaceNotGranted",
			"Stack shop/x is not written"},
		"and after its namespace is removed": {
			newSnapshot(three, granted, exists("x", isApplied, at("shop"))), "", "True Complete",
			"3 Stacks; Stack shop/x is not written: spec.namespaces does not have shop any more"},
		"one that is being deleted is not released then": {
			newSnapshot(three, shop, exists("x", isGone, isDeleting, at("shop"))), "", "False NamespaceNotGranted", ""},
		"a confirmed list includes other namespaces": {newSnapshot(three, shop, granted, spec(deletes),
			exists("x", isApplied, isGone, at("shop")), confirmed("x")), "Delete shop/x", "Unknown RollingOut", ""},
		"and deletes nothing there after the withdrawal": {
			newSnapshot(three, shop, spec(deletes), exists("x", isApplied, isGone, at("shop")), confirmed("x")), "",
			"False NamespaceNotGranted", ""},
		"the list has the names of namespaces": {newSnapshot(three, shop, granted, spec(deletes),
			exists("x", isApplied, isGone, at("shop"))), "", "False AwaitingDeletionConfirmation",
			"Stack shop/x is not generated any more"},
		"the digest covers the namespace": {newSnapshot(three, shop, granted, grants("crm", "default"), spec(deletes),
			exists("x", isApplied, isGone, at("shop")), confirmed("x"), func(w *Snapshot) {
				w.Stacks[3].Namespace = "crm"
			}), "", "False AwaitingDeletionConfirmation", ""},
		"maxDeletions counts all namespaces": {
			newSnapshot(three, shop, granted, exists("x", isApplied), exists("y", isApplied, at("shop"))), "",
			"False TooManyGone", "2 of 5 Stacks"},
		"one name in two namespaces is two Stacks": {newSnapshot(three, shop, granted, renders("a"),
			in("shop")), "Create shop/a", "Unknown RollingOut", ""},
		"one name twice in a namespace": {newSnapshot(three, shop, granted, renders("x"),
			in("shop"), renders("x"), in("shop")), "", "False NamesCollide", "shop/x"},
		"a Stack of a user there stops only itself": {newSnapshot(three, shop, granted, renders("x"),
			in("shop"), exists("x", at("shop"), foreign), renders("d")), "Create d", "False StackNotOwned",
			"Stack shop/x is not written: not of this StackSet; kubectl label --overwrite stack -n shop NAME " +
				"cairn.dev/stackset=platform cairn.dev/stackset-namespace=default"},
		"and does not show without a StackGrant": {newSnapshot(three, shop, renders("x"), in("shop"),
			exists("x", at("shop"), foreign)), "", "False NamespaceNotGranted", missing},
		"a set of the same name there is another one": {newSnapshot(three, shop, granted,
			exists("x", isApplied, at("shop"), func(s *v1alpha1.Stack) {
				delete(s.Labels, v1alpha1.StackSetNamespaceLabel)
			})), "", "True Complete", ""},
		"so is one of a third namespace": {newSnapshot(three, shop, granted,
			exists("x", isApplied, at("shop"), func(s *v1alpha1.Stack) {
				s.Labels[v1alpha1.StackSetNamespaceLabel] = "crm"
			})), "", "True Complete", ""},
		"a set of the same name elsewhere owns no Stack here": {newSnapshot(three,
			exists("x", isApplied, func(s *v1alpha1.Stack) {
				s.Labels[v1alpha1.StackSetNamespaceLabel] = "crm"
			})), "", "True Complete", ""},
		"users there label no Stacks that are gone": {
			newSnapshot(three, shop, granted, exists("x", at("shop"), isLabeled), exists("y", at("shop"), isLabeled),
				exists("z", at("crm"), isLabeled)), "", "True Complete", "3 Stacks"},
		"one that they label is taken over if it is generated": {newSnapshot(three, shop, granted, renders("x"),
			in("shop"), exists("x", at("shop"), isLabeled)), "Change shop/x", "Unknown RollingOut", ""},
		"if all is withheld, nothing is suspended": {newSnapshot(nil, shop, renders("a"), in("shop"),
			exists("a", isApplied)), "", "False NamespaceNotGranted", "nothing is written"},
		"a preview has what is withheld in its message": {newSnapshot(three, shop, spec(previews), renders("x"),
			in("shop")), "", "True Previewed", "would create 0 Stacks, change 0, and suspend 0 that are gone; Stack " +
			"shop/x is not written"},
		"a move within another namespace": {newSnapshot(three, shop, granted, spec(moves("shop/old", "shop/x")),
			renders("x"), in("shop"), exists("old", isApplied, isOutdated, at("shop"))), "Change shop/old",
			"Unknown RollingOut", ""},
		"a user there cannot stop a move": {newSnapshot(three, shop, granted, spec(moves("shop/old", "shop/x")),
			renders("x"), in("shop"), exists("old", isApplied, isOutdated, at("shop")),
			exists("x", at("shop"), foreign)), "Change shop/old", "Unknown RollingOut", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.snapshot)
			var writes []string
			for _, w := range d.Writes {
				writes = append(writes, string(w.Action)+" "+w.Name)
			}
			slices.Sort(writes)
			if got := strings.Join(writes, ", "); got != tt.writes {
				t.Errorf("writes %s; want %s", got, tt.writes)
			}
			if got := string(d.Ready) + " " + d.Reason; got != tt.ready || !strings.Contains(d.Message, tt.message) {
				t.Errorf("%s: %s; want %s: %s", got, d.Message, tt.ready, tt.message)
			}
		})
	}
}

// A grant that is being deleted, and one of Stacks by name, allow what they say.
func TestPermits(t *testing.T) {
	set := &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
	set.Spec.Namespaces = []string{"shop"}
	w := newSnapshot(nil, grants("shop", "default"), grants("crm", "default"))
	for namespace, want := range map[string]bool{"default": true, "shop": true, "crm": false} {
		if got := Permits(set, w.Grants, types.NamespacedName{Namespace: namespace, Name: "x"}); got != want {
			t.Errorf("%s: %v", namespace, got)
		}
	}
	w.Grants.Items[0].DeletionTimestamp = &metav1.Time{}
	if Permits(set, w.Grants, types.NamespacedName{Namespace: "shop", Name: "x"}) {
		t.Error("a StackGrant that is being deleted allows a write")
	}
}
