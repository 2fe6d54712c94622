//go:build envtest

package stack

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/test/apiserver"
)

// requestRun requests a Run as alice.
func (r *testEnv) requestRun(at string, operation v1alpha1.Operation) {
	r.Helper()
	r.Seen(r.stack)
	before := r.stack.DeepCopy()
	r.stack.Annotations = map[string]string{
		v1alpha1.RequestedAtAnnotation: at, v1alpha1.RequestedOperationAnnotation: string(operation),
		v1alpha1.RequestedByAnnotation: "alice",
	}
	apiserver.Must(r.T, r.Env.Client.Patch(r.Context(), r.stack, client.MergeFrom(before)))
	r.Seen(r.stack)
}

// TestRequestCreatesOneRun checks that a request creates exactly one Run, also with a stale cache.
func TestRequestCreatesOneRun(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.expect("True", "Applied", "net-1 ")

	r.requestRun("1", v1alpha1.OperationApply)
	stale := r.stack.DeepCopy()
	written := r.stack.ResourceVersion
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-2 ")
	if s := r.stack.Status; s.LastHandledRequest == nil ||
		s.LastHandledRequest.Value != "1" || s.LastHandledRequest.Rejected || s.CurrentRun != "net-2" ||
		r.stack.ResourceVersion == written {
		t.Errorf("%+v", s)
	}
	run := &v1alpha1.Run{}
	apiserver.Must(t, r.Env.Live.Get(t.Context(), client.ObjectKey{Namespace: r.stack.Namespace, Name: "net-2"}, run))
	if c := run.Spec.Cause; c != (v1alpha1.Cause{Type: v1alpha1.CauseManual, Message: "requested by alice",
		By: "alice"}) || run.Spec.InputsDigest != r.stack.Status.InputsDigest {
		t.Errorf("%+v with inputs %s", c, run.Spec.InputsDigest)
	}

	// One operator whose cache has no Run, and one whose cache has no status that names it.
	blind := *r.Reconciler
	blind.Client = emptyRunCache{r.Env.Client}
	_, err := blind.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)})
	apiserver.Must(t, err)
	old := decision.Snapshot{Now: r.Now(), Stack: stale, Effective: stale, Digest: r.stack.Status.InputsDigest,
		Runs: []v1alpha1.Run{*firstRun(r)}}
	if d := decision.Decide(old); d.Start == nil {
		t.Fatal("the stale operator creates no Run")
	} else if _, err := r.act(t.Context(), old, d); err == nil {
		t.Error("the write of a stale operator was accepted")
	}
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-2 ")
	r.ends("net-2", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.expect("True", "Applied", "net-1 net-2 ")
}

// TestRequestIsHandledAfterACrash checks an operator that ends after it reserved the requested Run and before it
// created it: the next one creates it under the next name.
func TestRequestIsHandledAfterACrash(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.requestRun("1", v1alpha1.OperationApply)
	r.reconcile()
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: r.stack.Namespace, Name: "net-2"}}
	r.Seen(run)
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), run))
	r.Gone(run)
	r.Seen(r.stack)
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-3 ")
	run.Name = "net-3"
	r.Seen(run)
	if run.Spec.Cause.By != "alice" {
		t.Errorf("%+v", run.Spec.Cause)
	}
}

// TestRejectedRequestIsReportedOnce checks that a request which cannot be handled is recorded in one event and does not
// remain pending.
func TestRejectedRequestIsReportedOnce(t *testing.T) {
	r := newTestEnv(t)
	recorder := events.NewFakeRecorder(100)
	r.Events = Recorder{recorder}
	r.stack.Spec.DeletionPolicy = v1alpha1.DeletionProtect
	apiserver.Must(t, r.Env.Client.Update(t.Context(), r.stack))
	r.Seen(r.stack)
	r.reconcile()
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.Make(&v1alpha1.State{ObjectMeta: metav1.ObjectMeta{Name: "net"},
		Status: v1alpha1.StateStatus{Version: 1, UpdatedBy: "net-1", Resources: 2,
			InputsDigest: firstRun(r).Spec.InputsDigest, StackUID: r.stack.UID}})
	r.requestRun("1", v1alpha1.OperationDestroy)
	for range 2 {
		r.reconcile()
		r.expect("True", "Applied", "net-1 ")
	}
	if q := r.stack.Status.LastHandledRequest; q == nil || q.Value != "1" || !q.Rejected {
		t.Error("the request is still pending")
	}
	n, text := 0, ""
	for len(recorder.Events) > 0 {
		if e := <-recorder.Events; strings.Contains(e, "RequestRejected") {
			n, text = n+1, e
		}
	}
	if n != 1 || !strings.Contains(text, "the Destroy that was requested by alice: nothing is destroyed while "+
		"spec.deletionPolicy is Protect") {
		t.Errorf("%d events: %s", n, text)
	}
	r.stack.Spec.DeletionPolicy = v1alpha1.DeletionDestroy
	apiserver.Must(t, r.Env.Client.Update(t.Context(), r.stack))
	r.Seen(r.stack)
	r.reconcile()
	r.expect("True", "Applied", "net-1 ")
}

// TestRequestedDestroyWaitsForDependents checks that a requested destroy waits for the Stacks that depend on this one.
func TestRequestedDestroyWaitsForDependents(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.Make(&v1alpha1.State{ObjectMeta: metav1.ObjectMeta{Name: "net"},
		Status: v1alpha1.StateStatus{Version: 1, UpdatedBy: "net-1", Resources: 2,
			InputsDigest: firstRun(r).Spec.InputsDigest, StackUID: r.stack.UID}})
	web := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1alpha1.StackSpec{
		Source:    v1alpha1.Source{Inline: map[string]string{"main.tf": ""}},
		DependsOn: []v1alpha1.Dependency{{Name: "net"}},
	}}
	r.Make(web)
	r.requestRun("1", v1alpha1.OperationDestroy)
	r.reconcile()
	r.expect("False", "DependentsExist", "net-1 ")
	if r.stack.Status.LastHandledRequest != nil {
		t.Error("the request is marked as handled before a Run exists")
	}
	web.Status.DestroyedByRun = "web-2"
	apiserver.Must(t, r.Env.Client.Status().Update(t.Context(), web))
	r.Seen(web)
	r.reconcile()
	r.expect("Unknown", "Destroying", "net-1 net-2 ")
	r.ends("net-2", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.expect("False", "Destroyed", "net-1 net-2 ")
	if r.stack.Status.DestroyedByRun != "net-2" || r.stack.Status.AppliedInputsDigest != "" {
		t.Errorf("%+v", r.stack.Status)
	}
}

// TestRemovedFinalizerIsReported checks that a user sees that kubectl replace removed the finalizer: a deletion of the
// Stack would not have destroyed its resources.
func TestRemovedFinalizerIsReported(t *testing.T) {
	r := newTestEnv(t)
	recorder := events.NewFakeRecorder(100)
	r.Events = Recorder{recorder}
	r.reconcile()
	count := func() (n int) {
		for len(recorder.Events) > 0 {
			if strings.Contains(<-recorder.Events, "FinalizerRestored") {
				n++
			}
		}
		return n
	}
	if n := count(); n != 0 {
		t.Errorf("%d events for a new Stack", n)
	}
	r.Seen(r.stack)
	r.stack.Finalizers = nil
	apiserver.Must(t, r.Env.Client.Update(t.Context(), r.stack))
	r.Seen(r.stack)
	for range 2 {
		r.reconcile()
	}
	r.Seen(r.stack)
	if n := count(); n != 1 || !slices.Contains(r.stack.Finalizers, v1alpha1.Finalizer) {
		t.Errorf("%d events, and the finalizers are %v", n, r.stack.Finalizers)
	}
}
