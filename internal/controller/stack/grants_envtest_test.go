//go:build envtest

package stack

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/test/apiserver"
)

// another returns the environment of another namespace, with the same cache.
func (r *testEnv) another() *testEnv {
	r.Helper()
	other := *r
	other.Env.Namespace = apiserver.New(r.T).Namespace
	return &other
}

// grant creates a StackGrant in the namespace.
func (r *testEnv) grant(name, from string, stacks ...string) *v1alpha1.StackGrant {
	r.Helper()
	g := &v1alpha1.StackGrant{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.StackGrantSpec{
		From: []v1alpha1.StackGrantFrom{{Kind: v1alpha1.GrantStack, Namespace: from}}, Stacks: stacks,
	}}
	r.Make(g)
	return g
}

// withdraw deletes a StackGrant.
func (r *testEnv) withdraw(g *v1alpha1.StackGrant) {
	r.Helper()
	apiserver.Must(r.T, r.Env.Client.Delete(r.Context(), g))
	r.Gone(g)
}

// afterIn adds a dependency on a Stack of another namespace.
func afterIn(namespace, name string) func(*v1alpha1.StackSpec) {
	return func(s *v1alpha1.StackSpec) {
		s.DependsOn = append(s.DependsOn, v1alpha1.Dependency{Namespace: namespace, Name: name})
	}
}

// usingIn adds a variable from an output of a Stack of another namespace.
func usingIn(namespace, stack, output string) func(*v1alpha1.StackSpec) {
	return func(s *v1alpha1.StackSpec) {
		using(stack, output)(s)
		s.Variables[len(s.Variables)-1].ValueFrom.Stack.Namespace = namespace
	}
}

// ungranted is the message without a StackGrant.
func (r *testEnv) ungranted(on *testEnv, name string) string {
	return decision.UngrantedDependency(r.Namespace, types.NamespacedName{Namespace: on.Namespace, Name: name})
}

// TestDependencyOnAnotherNamespaceRequiresAGrant checks that nothing of a Stack in another namespace is known without a
// StackGrant, and that a dependent with one is planned with the output, as in its own namespace.
func TestDependencyOnAnotherNamespaceRequiresAGrant(t *testing.T) {
	network := newEmptyTestEnv(t)
	shop := network.another()
	app := shop.withStack("app", usingIn(network.Namespace, "net", "id"))
	app.reconcile()
	app.expectReady("False", "DependencyNotGranted", shop.ungranted(network, "net"))

	// Whether the Stack exists, and what outputs it has, does not show. Nor does another StackGrant help.
	net := network.withStack("net")
	net.finishFirstApply()
	net.setState(1, map[string]string{"id": "hmac:1"})
	network.grant("other-name", shop.Namespace, "dns")
	network.grant("other-namespace", network.Namespace)
	shop.grant("own", shop.Namespace)
	app.reconcile()
	app.expectReady("False", "DependencyNotGranted", shop.ungranted(network, "net"))
	app.expectNoRun("app-1")

	grant := network.grant("shop", shop.Namespace, "net")
	app.finishFirstApply()
	net.setState(1, map[string]string{"id": "hmac:2"})
	app.reconcile()
	app.expectReady("Unknown", "Running", "")
	want := v1alpha1.Cause{Type: v1alpha1.CauseDependency, Message: "output id of Stack " + network.Namespace +
		"/net changed"}
	if got := app.run("app-2").Spec.Cause; got != want {
		t.Errorf("the cause is %+v", got)
	}

	// The Run under way continues without the StackGrant, and no new one starts, whatever changes.
	network.withdraw(grant)
	app.reconcile()
	app.expectReady("Unknown", "Running", "")
	app.ends("app-2", v1alpha1.PhaseSucceeded)
	net.setState(1, map[string]string{"id": "hmac:3"})
	app.updateSpec(func(s *v1alpha1.StackSpec) { s.Source.Inline["main.tf"] = "# 2" })
	app.requestRun("2026-11-20T12:00:00Z", v1alpha1.OperationApply)
	app.reconcile()
	app.expectReady("False", "DependencyNotGranted", "")
	app.expectNoRun("app-3")
	w, err := app.InputsOf(t.Context(), app.stack, app.Code) // as a pull request does
	if err != nil || w.Problem == nil || w.Problem.Reason != v1alpha1.ReasonDependencyNotGranted {
		t.Errorf("%+v, %v", w.Problem, err)
	}

	network.grant("all", shop.Namespace)
	app.reconcile()
	app.expectReady("Unknown", "Running", "")
}

// TestOrderAcrossNamespaces checks the order of Stacks that pass nothing, and what a chain shows of a third namespace.
func TestOrderAcrossNamespaces(t *testing.T) {
	network := newEmptyTestEnv(t)
	shop, core := network.another(), network.another()
	app := shop.withStack("app", afterIn(network.Namespace, "net"))
	net := network.withStack("net", afterIn(core.Namespace, "secret"))
	network.grant("shop", shop.Namespace)
	core.grant("network", network.Namespace)
	app.reconcile()
	app.expectReady("Unknown", "DependencyNotReady", "waits for Stack "+network.Namespace+
		"/net: it is not reconciled yet")
	net.reconcile()
	net.expectReady("False", "DependencyNotFound", decision.MissingDependency(core.Namespace+"/secret"))
	secret := core.withStack("secret")
	secret.finishFirstApply()
	net.finishFirstApply()
	app.finishFirstApply()

	// A commit changes both ends: app waits for the one in the middle, by the name that it knows.
	secret.updateSpec(func(s *v1alpha1.StackSpec) { s.Source.Inline["main.tf"] = "# 2" })
	app.updateSpec(func(s *v1alpha1.StackSpec) { s.Source.Inline["main.tf"] = "# 2" })
	app.reconcile()
	app.expectReady("Unknown", "DependencyNotReady",
		"waits for Stack "+network.Namespace+"/net: a Stack of another namespace, which it depends on, is not Ready")
	secret.reconcile()
	secret.ends("secret-2", v1alpha1.PhaseSucceeded)
	secret.reconcile()
	app.reconcile()
	app.expectReady("Unknown", "Running", "")
}

// TestCycleAcrossNamespaces checks that a cycle is found, and does not name what is not granted.
func TestCycleAcrossNamespaces(t *testing.T) {
	network := newEmptyTestEnv(t)
	shop, core := network.another(), network.another()
	app := shop.withStack("app", afterIn(network.Namespace, "net"))
	network.withStack("net", afterIn(core.Namespace, "secret"))
	core.withStack("secret", afterIn(shop.Namespace, "app"))
	network.grant("shop", shop.Namespace)
	core.grant("network", network.Namespace)
	app.reconcile()
	app.expectReady("Unknown", "DependencyNotReady", "") // the last one may not depend on it, and reports that
	shop.grant("core", core.Namespace)
	app.reconcile()
	app.expectReady("False", "DependencyCycle", "the dependencies go in a circle: app -> "+network.Namespace+"/net -> "+
		"a Stack of another namespace -> app; take one of them out")
}

// TestDependentsOfOtherNamespaces checks that a dependent of another namespace is destroyed first, and one without a
// StackGrant prevents no deletion.
func TestDependentsOfOtherNamespaces(t *testing.T) {
	network := newEmptyTestEnv(t)
	shop := network.another()
	grant := network.grant("shop", shop.Namespace, "net")
	net := network.withStack("net")
	net.finishFirstApply()
	net.setState(1, nil)
	app := shop.withStack("app", afterIn(network.Namespace, "net"))
	app.finishFirstApply()
	app.setState(1, nil)
	apiserver.Must(t, network.Env.Client.Delete(t.Context(), net.stack))
	net.Seen(net.stack)
	net.reconcile()
	net.expectReady("False", "DependentsExist", "")
	if got := net.stack.Status.Conditions[0].Message; !strings.Contains(got, "Stack "+shop.Namespace+
		"/app depends on this one") {
		t.Error(got)
	}
	network.withdraw(grant)
	net.reconcile()
	net.expectReady("Unknown", "Destroying", "")
}
