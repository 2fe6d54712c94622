//go:build envtest

package state_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/test/apiserver"
)

// withStack creates the Stack of the state.
func (w *testEnv) withStack() *testEnv {
	w.Helper()
	must(w.T, apiserver.Kube.Create(w.Context(), &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.key.Name},
		Spec:       v1alpha1.StackSpec{Source: v1alpha1.Source{Inline: map[string]string{"main.tf": ""}}},
	}))
	return w
}

// rest ends the last attempt of the Run, with an optional failure, and its pod.
func (w *testEnv) rest(by decision.Holder, failure v1alpha1.FailureClass) {
	w.Helper()
	now := metav1.NowMicro()
	last := &w.run.Status.Attempts[len(w.run.Status.Attempts)-1]
	last.FinishedAt = &now
	if failure != "" {
		last.Failure = &v1alpha1.Failure{Class: failure, Message: "no answer"}
	}
	must(w.T, apiserver.Kube.Status().Update(w.Context(), w.run))
	w.killPod(by)
}

func TestPushAndRollback(t *testing.T) {
	fingerprint := func(message []byte) string { return string(message[max(0, len(message)-8):]) }
	w := newTestEnv(t, state.Options{Fingerprint: fingerprint}).withStack()
	one, two := stateFile(1, "L", "one", 2), stateFile(2, "L", "two", 1)
	now, err := w.store.Push(t.Context(), w.key, "alice", one, false, 0)
	if err != nil || now.Version != 1 || now.Serial != 1 || now.Resources != 2 {
		t.Fatalf("the first push: %+v, %v", now, err)
	}
	outputs := w.status().Outputs["x"]
	if again, err := w.store.Push(t.Context(), w.key, "alice", one, false, 0); err != nil || again.Version != 1 || !again.Unchanged || now.Unchanged {
		t.Fatalf("the same again: %+v, %v", again, err)
	}
	_, err = w.store.Push(t.Context(), w.key, "alice", []byte("{}"), true, 0)
	wantRejected(t, err, decision.Invalid)
	must(t, second(w.store.Push(t.Context(), w.key, "bob", two, false, 0)))
	_, err = w.store.Push(t.Context(), w.key, "bob", one, false, 0)
	wantRejected(t, err, decision.Stale)
	if w.status().Outputs["x"] == outputs {
		t.Error("the outputs' fingerprint is that of the version before")
	}

	three := stateFile(3, "L", "three", 1)
	_, err = w.store.Push(t.Context(), w.key, "bob", three, true, 1) // based on version 1, while 2 is current
	wantRejected(t, err, decision.Stale)

	_, err = w.store.Rollback(t.Context(), w.key, "carol", 7, 0)
	wantRejected(t, err, decision.Missing)
	_, err = w.store.Rollback(t.Context(), w.key, "carol", 2, 0)
	wantRejected(t, err, decision.Invalid)
	_, err = w.store.Rollback(t.Context(), w.key, "carol", 1, 1)
	wantRejected(t, err, decision.Stale)
	_, err = w.store.Push(t.Context(), w.key, "carol", stateFile(9, "L", "", 1), true, 1)
	wantRejected(t, err, decision.Stale)
	back, err := w.store.Rollback(t.Context(), w.key, "carol", 1, 0)
	if now = (state.Outcome{StateStatus: back}); err != nil || now.Version != 3 || now.Serial != 3 || now.Resources != 2 {
		t.Fatalf("rollback to version 1: %+v, %v", now, err)
	}
	w.reads(stateFile(3, "L", "one", 2))
	st := w.status()
	if st.Outputs["x"] != outputs || st.OutputsVersion != 3 || st.UpdatedBy != "" {
		t.Errorf("status %+v", st)
	}
	for i, by := range []string{"alice", "bob", "carol"} {
		if v := st.Versions[i]; v.By != by || v.Run != "" || v.Attempt != 0 {
			t.Errorf("version %d is from %q, Run %q", v.Version, v.By, v.Run)
		}
	}

	me := w.attempt()
	w.lock(me, "a")
	must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(4, "L", "four", 1)))
	_, err = w.store.Push(t.Context(), w.key, "alice", stateFile(9, "L", "", 1), true, 0)
	wantRejected(t, err, decision.Busy)
	_, err = w.store.Rollback(t.Context(), w.key, "alice", 1, 0)
	wantRejected(t, err, decision.Busy)
	w.rest(me, "")
	_, err = w.store.Push(t.Context(), w.key, "alice", stateFile(9, "L", "", 1), true, 0)
	wantRejected(t, err, decision.Locked)
	if !strings.Contains(err.Error(), "state unlock <stack> a") {
		t.Errorf("the message is %q", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestPushNeedsAStack(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	_, err := w.store.Push(t.Context(), w.key, "alice", stateFile(1, "L", "", 1), false, 0)
	wantRejected(t, err, decision.Missing)
	if err := apiserver.Kube.Get(t.Context(), w.key, &v1alpha1.State{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Fatalf("a State exists: %v", err)
	}
}

func TestForcedPushGetsANewSerial(t *testing.T) {
	w := newTestEnv(t, state.Options{}).withStack()
	must(t, second(w.store.Push(t.Context(), w.key, "alice", stateFile(5, "L", "planned for", 1), false, 0)))
	now, err := w.store.Push(t.Context(), w.key, "alice", stateFile(5, "L", "another", 1), true, 0)
	if err != nil || now.Serial != 6 {
		t.Fatalf("got %+v, %v", now, err)
	}
	w.reads(stateFile(6, "L", "another", 1))
}

// TestPushConflictsWithAnApply checks an apply that starts between the check of the Runs and the write of a push: the
// push fails because of its lock.
func TestPushConflictsWithAnApply(t *testing.T) {
	w := newTestEnv(t, state.Options{}).withStack()
	must(t, second(w.store.Push(t.Context(), w.key, "alice", stateFile(1, "L", "", 1), false, 0)))
	begun := false
	late := state.New(interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if _, is := o.(*v1alpha1.State); is && !begun {
				begun = true
				w.lock(w.attempt(), "a")
			}
			return c.Update(ctx, o, opts...)
		},
	}), apiserver.Kube, w.bucket, state.Options{})
	_, err := late.Push(t.Context(), w.key, "alice", stateFile(2, "L", "", 1), true, 0)
	wantRejected(t, err, decision.Busy)
	w.reads(stateFile(1, "L", "", 1))
}

func TestLockIsReleasedWhenItsHolderHasEnded(t *testing.T) {
	w := newTestEnv(t, state.Options{}).withStack()
	me := w.attempt()
	w.lock(me, "a")
	err := w.store.Release(t.Context(), w.key, "a")
	wantRejected(t, err, decision.Locked)
	if !strings.Contains(err.Error(), "works in pod net-1-apply-1") {
		t.Errorf("the message is %q", err)
	}
	wantRejected(t, w.store.Release(t.Context(), w.key, "b"), decision.NotHolder)
	w.rest(me, "")
	wantRejected(t, w.store.Release(t.Context(), w.key, "b"), decision.NotHolder)
	must(t, w.store.Release(t.Context(), w.key, "a"))
	if w.status().Lock != nil {
		t.Error("the lock still exists")
	}
	wantRejected(t, w.store.Release(t.Context(), w.key, "a"), decision.Missing)
}

func TestLockOfAnUnknownPodIsKept(t *testing.T) {
	w := newTestEnv(t, state.Options{}).withStack()
	me := w.attempt()
	w.lock(me, "a")
	blind := state.New(apiserver.Kube, interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if strings.HasPrefix(key.Name, "net-1-apply") {
				return errors.New("no answer")
			}
			return c.Get(ctx, key, o, opts...)
		},
	}), w.bucket, state.Options{})
	w.rest(me, "")
	var r *decision.Rejection
	if err := blind.Release(t.Context(), w.key, "a"); err == nil || errors.As(err, &r) {
		t.Fatalf("got %v", err)
	}
	if w.status().Lock == nil {
		t.Error("the lock was released")
	}
}

func TestRecoverRestoresTheStateAndReleasesTheLock(t *testing.T) {
	w := newTestEnv(t, state.Options{}).withStack()
	me := w.attempt()
	w.lock(me, "a")
	must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(1, "L", "", 1)))
	lost := stateFile(2, "L", "", 3)
	_, err := w.store.Recover(t.Context(), w.key, "alice", "", lost)
	wantRejected(t, err, decision.Busy)
	w.rest(me, v1alpha1.FailureStateNotSaved)
	for i := range 2 {
		now, err := w.store.Recover(t.Context(), w.key, "alice", "", lost)
		if err != nil || now.Version != 2 || now.Serial != 2 || now.Lock != nil || now.Unchanged != (i > 0) {
			t.Fatalf("got %+v, %v", now, err)
		}
	}
	w.reads(lost)
	at := w.status().Versions[1].At
	if ended := w.run.Status.Attempts[0].FinishedAt; !at.After(ended.Time) {
		t.Errorf("version 2 is of %v, and the attempt ended at %v: the Stack only continues with a newer version", at, ended)
	}
	_, err = w.store.Recover(t.Context(), w.key, "alice", "", stateFile(1, "L", "", 1))
	wantRejected(t, err, decision.Stale)
	_, err = w.store.Recover(t.Context(), w.key, "alice", "", bytes.TrimRight(lost, "}"))
	wantRejected(t, err, decision.Invalid)
}

// TestOnlyForceReplacesALostState checks that a version which was written after the loss lets the Stack continue.
func TestOnlyForceReplacesALostState(t *testing.T) {
	w := newTestEnv(t, state.Options{}).withStack()
	me := w.attempt()
	w.lock(me, "a")
	must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(1, "L", "one", 1)))
	must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(2, "L", "two", 1)))
	must(t, w.store.Unlock(t.Context(), w.key, me, "a"))
	w.run.Status.Attempts[0].FinishedAt = &metav1.MicroTime{Time: time.Now().Add(time.Hour)} // by the clock of another node
	w.run.Status.Attempts[0].Failure = &v1alpha1.Failure{Class: v1alpha1.FailureStateNotSaved, Message: "no answer"}
	must(t, apiserver.Kube.Status().Update(t.Context(), w.run))
	w.killPod(me)
	_, err := w.store.Rollback(t.Context(), w.key, "alice", 1, 0)
	wantRejected(t, err, decision.Stale)
	_, err = w.store.Push(t.Context(), w.key, "alice", stateFile(3, "L", "", 1), false, 0)
	wantRejected(t, err, decision.Stale)
	now, err := w.store.Push(t.Context(), w.key, "alice", stateFile(2, "L", "two", 1), true, 0)
	if err != nil || now.Version != 3 || now.Serial != 3 || now.Unchanged {
		t.Fatalf("got %+v, %v", now, err)
	}
	if at := w.status().Versions[2].At; !at.After(w.run.Status.Attempts[0].FinishedAt.Time) {
		t.Errorf("version 3 is of %v, before the state was lost", at)
	}
	must(t, second(w.store.Rollback(t.Context(), w.key, "alice", 1, 0)))
}
