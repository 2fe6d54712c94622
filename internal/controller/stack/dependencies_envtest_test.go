//go:build envtest

package stack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/test/apiserver"
)

// newEmptyTestEnv returns a test environment without a Stack.
func newEmptyTestEnv(t *testing.T) *testEnv {
	t.Helper()
	r := &testEnv{Env: apiserver.New(t, indexes()...)}
	r.begin(memoryBucket{})
	return r
}

// withStack creates a Stack in the same namespace and returns the environment of that Stack.
func (r *testEnv) withStack(name string, changes ...func(*v1alpha1.StackSpec)) *testEnv {
	r.Helper()
	other := *r
	other.stack = &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.StackSpec{
		Source: v1alpha1.Source{Inline: map[string]string{"main.tf": "# " + name}},
	}}
	for _, change := range changes {
		change(&other.stack.Spec)
	}
	r.Make(other.stack)
	return &other
}

func after(names ...string) func(*v1alpha1.StackSpec) {
	return func(s *v1alpha1.StackSpec) {
		for _, name := range names {
			s.DependsOn = append(s.DependsOn, v1alpha1.Dependency{Name: name})
		}
	}
}

func using(stack, output string) func(*v1alpha1.StackSpec) {
	return func(s *v1alpha1.StackSpec) {
		s.Variables = append(s.Variables,
			v1alpha1.Variable{Name: output,
				ValueFrom: &v1alpha1.ValueFrom{Stack: &v1alpha1.OutputRef{Name: stack, Output: output}}})
	}
}

// updateSpec updates the Stack's spec.
func (r *testEnv) updateSpec(change func(*v1alpha1.StackSpec)) {
	r.Helper()
	r.Seen(r.stack)
	change(&r.stack.Spec)
	apiserver.Must(r.T, r.Env.Client.Update(r.Context(), r.stack))
	r.Seen(r.stack)
}

// finishFirstApply ends the Stack's first Run with success.
func (r *testEnv) finishFirstApply() {
	r.Helper()
	r.reconcile()
	r.ends(r.stack.Name+"-1", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.expectReady("True", "Applied", "")
}

// setState creates or updates the Stack's State.
func (r *testEnv) setState(resources int32, outputs map[string]string) {
	r.Helper()
	state := &v1alpha1.State{ObjectMeta: metav1.ObjectMeta{Namespace: r.stack.Namespace, Name: r.stack.Name}}
	if err := r.Env.Live.Get(r.Context(), client.ObjectKeyFromObject(state), state); err != nil {
		r.Make(state)
	}
	state.Status = v1alpha1.StateStatus{
		Version: 1, UpdatedBy: "net-0", Resources: v1alpha1.ResourceCount(resources), Outputs: outputs,
		InputsDigest: "sha256:" + strings.Repeat("0", 64), StackUID: r.stack.UID,
	}
	apiserver.Must(r.T, r.Env.Client.Update(r.Context(), state))
	r.Seen(state)
}

// expectReady checks the Ready condition. An empty message matches any message.
func (r *testEnv) expectReady(ready metav1.ConditionStatus, reason, message string) {
	r.Helper()
	r.Seen(r.stack)
	c := apimeta.FindStatusCondition(r.stack.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Status != ready || c.Reason != reason || message != "" && c.Message != message {
		r.Errorf("%s is %+v, want %s %s: %s", r.stack.Name, c, ready, reason, message)
	}
}

func (r *testEnv) expectNoRun(name string) {
	r.Helper()
	err := r.Env.Live.Get(r.Context(), client.ObjectKey{Namespace: r.stack.Namespace, Name: name}, &v1alpha1.Run{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		r.Errorf("Run %s exists (%v)", name, err)
	}
}

func TestStackWaitsForItsDependency(t *testing.T) {
	r := newEmptyTestEnv(t)
	net := r.withStack("net", after("vpc"))
	net.reconcile()
	net.expectReady("False", "DependencyNotFound", decision.MissingDependency("vpc"))

	vpc := r.withStack("vpc")
	net.reconcile()
	net.expectReady("Unknown", "DependencyNotReady", "waits for Stack vpc: it is not reconciled yet")
	vpc.reconcile()
	net.reconcile()
	net.expectReady("Unknown", "DependencyNotReady", "waits for Stack vpc: it is not Ready (Running)")
	net.expectNoRun("net-1")
	vpc.ends("vpc-1", v1alpha1.PhaseSucceeded)
	vpc.reconcile()
	vpc.Seen(vpc.stack)
	net.reconcile()
	net.expectReady("Unknown", "Running", "")
	if got := net.run("net-1").Spec.Cause.Type; got != v1alpha1.CauseSpec {
		t.Errorf("the cause is %s", got)
	}
	net.ends("net-1", v1alpha1.PhaseSucceeded)
	net.reconcile()
	net.expectReady("True", "Applied", "")

	// The new spec of vpc is not applied yet, so the Stack that depends on it waits. A Stack that is up to date stays
	// Ready meanwhile.
	vpc.updateSpec(func(s *v1alpha1.StackSpec) { s.Source.Inline["main.tf"] = "# 2" })
	net.reconcile()
	net.expectReady("True", "Applied", "")
	net.updateSpec(func(s *v1alpha1.StackSpec) { s.Source.Inline["main.tf"] = "# 2" })
	net.reconcile()
	net.expectReady("Unknown", "DependencyNotReady", "waits for Stack vpc: it is not reconciled yet")
	net.expectNoRun("net-2")
}

func TestDependencyCycle(t *testing.T) {
	r := newEmptyTestEnv(t)
	a, b, c := r.withStack("a", after("b")), r.withStack("b", using("c", "id")), r.withStack("c", after("a"))
	for one, way := range map[*testEnv]string{a: "a -> b -> c -> a", b: "b -> c -> a -> b", c: "c -> a -> b -> c"} {
		one.reconcile()
		one.expectReady("False", "DependencyCycle", "the dependencies go in a circle: "+way+"; take one of them out")
	}
	if got := a.runs(); got != "" {
		t.Errorf("Runs exist: %s", got)
	}
	c.updateSpec(func(s *v1alpha1.StackSpec) { s.DependsOn = nil })
	c.reconcile()
	c.expectReady("Unknown", "Running", "")
	a.reconcile()
	a.expectReady("Unknown", "DependencyNotReady", "")
}

// TestOnlyTheUsedOutputTriggersARun checks that a Stack is planned again if the fingerprint of an output that it uses
// changes.
func TestOnlyTheUsedOutputTriggersARun(t *testing.T) {
	r := newEmptyTestEnv(t)
	vpc, net := r.withStack("vpc"), r.withStack("net", using("vpc", "id"))
	vpc.reconcile()
	vpc.Seen(vpc.stack)
	net.reconcile()
	net.expectReady("Unknown", "DependencyNotReady", "waits for Stack vpc: it is not Ready (Running)")

	vpc.setState(1, map[string]string{"name": "hmac:name"})
	vpc.ends("vpc-1", v1alpha1.PhaseSucceeded)
	vpc.reconcile()
	vpc.Seen(vpc.stack)
	net.reconcile()
	net.expectReady("False", "OutputNotFound", "Stack vpc has no output id, only name: add it to its code, or "+
		"correct the variable that uses it")
	net.expectNoRun("net-1")

	vpc.setState(1, map[string]string{"name": "hmac:name", "id": "hmac:1"})
	net.finishFirstApply()
	vpc.setState(1, map[string]string{"name": "hmac:another", "id": "hmac:1"})
	net.reconcile()
	net.expectReady("True", "Applied", "")
	net.expectNoRun("net-2")

	vpc.setState(1, map[string]string{"name": "hmac:another", "id": "hmac:2"})
	net.reconcile()
	net.expectReady("Unknown", "Running", "")
	want := v1alpha1.Cause{Type: v1alpha1.CauseDependency, Message: "output id of Stack vpc changed"}
	if got := net.run("net-2").Spec.Cause; got != want {
		t.Errorf("the cause is %+v", got)
	}
}

// TestInputsOfAPullRequestWaitForTheDependency checks a plan of a pull request that needs an output of a Stack which is
// applied for the first time meanwhile.
func TestInputsOfAPullRequestWaitForTheDependency(t *testing.T) {
	r := newEmptyTestEnv(t)
	vpc := r.withStack("vpc")
	vpc.reconcile()
	app := r.withStack("app", using("vpc", "id"))
	w, err := r.InputsOf(t.Context(), app.stack, r.Code)
	apiserver.Must(t, err)
	want := &decision.Problem{
		Transient: true, Reason: "DependencyNotReady", Message: "waits for Stack vpc: it is not Ready (Running)",
	}
	if diff := cmp.Diff(want, w.Problem); diff != "" {
		t.Error(diff)
	}
	vpc.setState(1, map[string]string{"id": "hmac:1"})
	if w, err = r.InputsOf(t.Context(), app.stack, r.Code); err != nil || w.Problem != nil || w.Digest == "" {
		t.Errorf("once vpc has the output: %+v, %v", w.Problem, err)
	}
}

// TestInputsOfOutputsThatTwoStacksUse checks that two Stacks which use outputs of each other are not read for ever.
func TestInputsOfOutputsThatTwoStacksUse(t *testing.T) {
	r := newEmptyTestEnv(t)
	a, b := r.withStack("a"), r.withStack("b")
	for _, one := range []*testEnv{a, b} {
		one.finishFirstApply()
		one.setState(1, map[string]string{"other": "hmac:1"})
	}
	a.updateSpec(using("b", "id"))
	b.updateSpec(using("a", "id"))
	for range 2 {
		for _, one := range []*testEnv{a, b} {
			one.reconcile()
			one.expectReady("False", "DependencyCycle", "")
		}
	}
}

func TestDependentsAreDestroyedFirst(t *testing.T) {
	r := newEmptyTestEnv(t)
	vpc := r.withStack("vpc")
	vpc.finishFirstApply()
	net := r.withStack("net", after("vpc"))
	net.finishFirstApply()
	vpc.setState(1, nil)
	net.setState(1, nil)

	remove := func(one *testEnv) {
		t.Helper()
		apiserver.Must(t, r.Env.Client.Delete(t.Context(), one.stack))
		one.Seen(one.stack)
		one.reconcile()
	}
	remove(vpc)
	vpc.expectReady("False", "DependentsExist", "Stack net depends on this one: delete or destroy it too, or take "+
		"the dependency out of it")
	remove(net)
	net.expectReady("Unknown", "Destroying", "")
	vpc.reconcile()
	vpc.expectReady("Unknown", "Deleting", "waits for Stack net to be destroyed first: it depends on this one")
	vpc.expectNoRun("vpc-2")

	net.setState(0, nil)
	net.ends("net-2", v1alpha1.PhaseSucceeded)
	net.reconcile()
	net.Gone(net.stack)
	vpc.reconcile()
	vpc.expectReady("Unknown", "Destroying", "")
	if got := vpc.run("vpc-2").Spec.Operation; got != v1alpha1.OperationDestroy {
		t.Errorf("the operation of Run vpc-2 is %s", got)
	}
}

// TestDestroyedStackWithResourcesGoesFirst checks a Stack whose requested destroy succeeded and whose state holds
// resources: its script left them, or a user created them since. They are built on the dependency.
func TestDestroyedStackWithResourcesGoesFirst(t *testing.T) {
	r := newEmptyTestEnv(t)
	vpc := r.withStack("vpc")
	vpc.finishFirstApply()
	vpc.setState(1, nil)
	app := r.withStack("app", after("vpc"))
	app.finishFirstApply()
	app.setState(3, nil)
	app.requestRun("2026-11-20T12:00:00Z", v1alpha1.OperationDestroy)
	app.reconcile()
	run := app.run("app-2")
	run.Status = v1alpha1.RunStatus{
		Phase: v1alpha1.PhaseSucceeded, Plan: &v1alpha1.Plan{Changes: true, Script: true},
		FinishedAt: &metav1.Time{Time: r.Now()},
	}
	apiserver.Must(t, r.Env.Client.Status().Update(t.Context(), run))
	r.Seen(run)
	app.reconcile()
	app.expectReady("False", "Destroyed", "")
	if app.stack.Destroyed() {
		t.Error("a Stack with 3 resources counts as destroyed")
	}

	apiserver.Must(t, r.Env.Client.Delete(t.Context(), vpc.stack))
	r.Seen(vpc.stack)
	vpc.reconcile()
	vpc.expectReady("False", "DependentsExist",
		"Stack app depends on this one, and was destroyed, but the state holds "+
			"3 resources still: delete or destroy it once more, or take the dependency out of it")
	vpc.expectNoRun("vpc-2")

	app.setState(0, nil)
	app.reconcile()
	app.Seen(app.stack)
	vpc.reconcile()
	vpc.expectReady("Unknown", "Destroying", "")
}

// TestDeletionOfADependencyCycle checks that Stacks which depend on each other do not wait for each other.
func TestDeletionOfADependencyCycle(t *testing.T) {
	r := newEmptyTestEnv(t)
	a := r.withStack("a")
	a.finishFirstApply()
	b := r.withStack("b", after("a"))
	b.finishFirstApply()
	a.updateSpec(after("b"))
	a.setState(1, nil)
	b.setState(1, nil)
	for _, one := range []*testEnv{a, b} {
		apiserver.Must(t, r.Env.Client.Delete(t.Context(), one.stack))
		one.Seen(one.stack)
	}
	a.reconcile()
	a.expectReady("Unknown", "Destroying", "")
	b.reconcile()
	b.expectReady("Unknown", "Destroying", "")
}
