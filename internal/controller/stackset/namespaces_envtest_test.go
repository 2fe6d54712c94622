//go:build envtest

package stackset

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/test/apiserver"
)

// newOther creates another namespace.
func (e *env) newOther() string {
	e.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "other-"}}
	apiserver.Must(e.T, e.Env.Client.Create(e.Context(), ns))
	return ns.Name
}

func (e *env) grant(namespace string) *v1alpha1.StackGrant {
	e.Helper()
	grant := &v1alpha1.StackGrant{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "platform"}}
	grant.Spec.From = []v1alpha1.StackGrantFrom{{Kind: v1alpha1.GrantStackSet, Namespace: e.Namespace}}
	apiserver.Must(e.T, e.Env.Client.Create(e.Context(), grant))
	e.Seen(grant)
	return grant
}

func (e *env) withdraw(grant *v1alpha1.StackGrant) {
	e.Helper()
	apiserver.Must(e.T, e.Env.Client.Delete(e.Context(), grant))
	e.seenGone(grant)
}

// seenGone waits until the cache has no object any more.
func (e *env) seenGone(o client.Object) {
	e.Helper()
	for e.Context().Err() == nil {
		if err := e.Env.Client.Get(e.Context(), client.ObjectKeyFromObject(o), o); apierrors.IsNotFound(err) {
			return
		}
	}
}

func (e *env) stackIn(namespace, name string) *v1alpha1.Stack {
	e.Helper()
	s := &v1alpha1.Stack{}
	apiserver.Must(e.T, e.Env.Live.Get(e.Context(), client.ObjectKey{Namespace: namespace, Name: name}, s))
	return s
}

func (e *env) countIn(namespace string) int {
	e.Helper()
	var list v1alpha1.StackList
	apiserver.Must(e.T, e.Env.Live.List(e.Context(), &list, client.InNamespace(namespace)))
	return len(list.Items)
}

// prodIn has the Stacks of prod in another namespace.
func prodIn(namespace string) func(*v1alpha1.StackSet) {
	return func(s *v1alpha1.StackSet) {
		s.Spec.Namespaces = []string{namespace}
		s.Spec.Template.Metadata.Namespace = "${params.env == 'prod' ? '" + namespace + "' : ''}"
	}
}

// A StackSet writes in another namespace while a StackGrant there allows it. After that its Stacks stay as they are.
func TestStackSetNeedsAGrantOfAnotherNamespace(t *testing.T) {
	e := newEnv(t)
	other := e.newOther()
	e.declare(prodIn(other))
	e.expect("apply dev-app, apply dev-net", v1alpha1.ReasonNamespaceNotGranted)
	if c := e.ready(); e.countIn(other) != 0 ||
		!strings.Contains(c.Message, "create one there with spec.from: [{kind: StackSet, namespace: "+
			e.Namespace+"}]") {
		t.Errorf("%d Stacks, %s", e.countIn(other), c.Message)
	}
	grant := e.grant(other)
	e.expect("apply prod-net", v1alpha1.ReasonRollingOut)
	s := e.stackIn(other, "prod-net")
	if s.Labels[v1alpha1.StackSetLabel] != "platform" || s.Labels[v1alpha1.StackSetNamespaceLabel] != e.Namespace ||
		!e.set.Owns(s) || s.OwnerReferences != nil {
		t.Errorf("%+v", s.ObjectMeta)
	}
	if of := e.stack("dev-net").Labels; of[v1alpha1.StackSetNamespaceLabel] != "" {
		t.Errorf("a Stack of the own namespace has the labels %v", of)
	}
	e.withdraw(grant)
	e.declare(func(s *v1alpha1.StackSet) { s.Spec.Template.Metadata.Labels["team"] = "a" })
	e.expect("apply dev-app, apply dev-net", v1alpha1.ReasonNamespaceNotGranted)
	e.push("-prod/net", "prod/db")
	e.expect("", v1alpha1.ReasonNamespaceNotGranted)
	if now := e.stackIn(other, "prod-net"); now.ResourceVersion != s.ResourceVersion || e.countIn(other) != 1 {
		t.Errorf("the Stack changed: %+v", now)
	}
	e.grant(other)
	e.expect("apply prod-db, apply prod-net", v1alpha1.ReasonRollingOut)
	if now := e.stackIn(other, "prod-net"); !now.Spec.Suspend || now.Annotations[v1alpha1.ItemGoneAnnotation] == "" {
		t.Errorf("a Stack that is not generated is not suspended: %+v", now.Spec)
	}
	// The deletion of the set deletes no Stack, and its namespace leaves the list without one.
	e.declare(func(s *v1alpha1.StackSet) { s.Spec.Namespaces, s.Spec.Template.Metadata.Namespace = nil, "" })
	e.settle()
	if c := e.ready(); c.Reason == v1alpha1.ReasonNamespaceNotGranted ||
		!strings.Contains(c.Message, "spec.namespaces does not have "+other+" any more") || e.countIn(other) != 2 {
		t.Errorf("%d Stacks, %s", e.countIn(other), c.Message)
	}
}

// A cache that does not have a withdrawal yet writes nothing.
func TestAWithdrawnGrantIsReadPastTheCache(t *testing.T) {
	e := newEnv(t)
	other := e.newOther()
	grant := e.grant(other)
	e.declare(prodIn(other))
	w, err := e.gather(t.Context(), e.set, e.sets.of(e.set))
	apiserver.Must(t, err)
	apiserver.Must(t, e.Env.Client.Delete(t.Context(), grant))
	out := e.write(t.Context(), w, decision.Decide(w), e.sets.of(e.set))
	if out.err != nil || len(out.done[decision.Create]) != 2 || e.countIn(other) != 0 {
		t.Errorf("%v, created %v, and %d there", out.err, out.done[decision.Create], e.countIn(other))
	}
}

// Two StackSets of one name are two, also where both write.
func TestStackSetsOfOneNameInTwoNamespaces(t *testing.T) {
	e := newEnv(t)
	other := e.newOther()
	e.grant(other)
	e.declare(prodIn(other))
	e.settle()
	twin := &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "platform"}}
	twin.Spec.Generators = []v1alpha1.StackSetGenerator{
		{StackSetItems: v1alpha1.StackSetItems{List: e.set.Spec.Generators[0].List}}}
	twin.Spec.Generators[0].List = append(twin.Spec.Generators[0].List, raw(t, map[string]any{"name": "own"}))
	twin.Spec.Template = parse(t, "metadata: {name: \"${params.name}\"}\nspec: {source: {inline: {main.tf: \"\"}}}\n")
	apiserver.Must(t, e.Env.Client.Create(t.Context(), twin))
	e.Seen(twin)
	before := e.stackIn(other, "prod-net").ResourceVersion
	for range 5 {
		_, err := e.Reconcile(t.Context(), requestOf(twin))
		apiserver.Must(t, err)
	}
	if now := e.stackIn(other, "prod-net"); now.ResourceVersion != before || now.Spec.Suspend {
		t.Errorf("the set of the other namespace changed it: %+v", now.Spec)
	}
	apiserver.Must(t, e.Env.Live.Get(t.Context(), client.ObjectKeyFromObject(twin), twin))
	if twin.Status.Generated != 1 || twin.Status.Gone != 0 ||
		e.stackIn(other, "own").Labels[v1alpha1.StackSetNamespaceLabel] != "" {
		t.Errorf("%+v", twin.Status)
	}
	e.pass()
	if e.set.Status.Generated != 3 || e.set.Status.Gone != 0 {
		t.Errorf("%+v", e.set.Status)
	}
}

// A confirmed list has Stacks of several namespaces, which are deleted together or not at all.
func TestConfirmedDeletionsInOtherNamespaces(t *testing.T) {
	e := newEnv(t)
	other := e.newOther()
	grant := e.grant(other)
	e.declare(func(s *v1alpha1.StackSet) { prodIn(other)(s); s.Spec.Prune = v1alpha1.PruneDelete })
	e.settle()
	e.push("-prod/net", "prod/db")
	e.settle()
	digest := e.set.Status.Deletions.Digest
	if got := e.set.Status.Deletions.Names; len(got) != 1 || got[0] != other+"/prod-net" {
		t.Fatalf("%v", got)
	}
	confirm := func(s *v1alpha1.StackSet) {
		s.Annotations = map[string]string{v1alpha1.ConfirmDeletionsAnnotation: digest}
	}
	e.withdraw(grant)
	e.declare(confirm)
	e.expect("", v1alpha1.ReasonNamespaceNotGranted)
	e.grant(other)
	e.expect("delete prod-net", v1alpha1.ReasonRollingOut)
	if e.countIn(other) != 1 {
		t.Errorf("%d Stacks", e.countIn(other))
	}
}

// An operator that watches some namespaces reports one that is not among them.
func TestNamespaceThatIsNotWatched(t *testing.T) {
	e := newEnv(t)
	other := e.newOther()
	e.grant(other)
	e.Watches = func(namespace string) bool { return namespace != other }
	e.declare(prodIn(other))
	e.expect("apply dev-app, apply dev-net", v1alpha1.ReasonNamespaceNotGranted)
	if c := e.ready(); !strings.Contains(c.Message, "does not watch namespace "+other) {
		t.Error(c.Message)
	}
}

// A StackGrant, and a Stack of another namespace, are news to the StackSet.
func TestGrantsEnqueueStackSets(t *testing.T) {
	e := newEnv(t)
	e.declare(prodIn("shop"))
	for namespace, want := range map[string]int{"shop": 1, "crm": 0} {
		grant := &v1alpha1.StackGrant{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
		if got := e.granted(t.Context(), grant); len(got) != want || (want == 1 && got[0] != requestOf(e.set)) {
			t.Errorf("%s: %v", namespace, got)
		}
	}
}
