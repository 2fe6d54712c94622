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
func (env *testEnv) withStack() *testEnv {
	env.Helper()
	must(env.T, apiserver.Kube.Create(env.Context(), &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: env.key.Name},
		Spec:       v1alpha1.StackSpec{Source: v1alpha1.Source{Inline: map[string]string{"main.tf": ""}}},
	}))
	return env
}

// rest ends the last attempt of the Run, with an optional failure, and its pod.
func (env *testEnv) rest(by decision.Holder, failure v1alpha1.FailureClass) {
	env.Helper()
	now := metav1.NowMicro()
	last := &env.run.Status.Attempts[len(env.run.Status.Attempts)-1]
	last.FinishedAt = &now
	if failure != "" {
		last.Failure = &v1alpha1.Failure{Class: failure, Message: "no answer"}
	}
	must(env.T, apiserver.Kube.Status().Update(env.Context(), env.run))
	env.killPod(by)
}

func TestPushAndRollback(t *testing.T) {
	fingerprint := func(message []byte) string { return string(message[max(0, len(message)-8):]) }
	env := newTestEnv(t, state.Options{Fingerprint: fingerprint}).withStack()
	one, two := stateFile(1, "L", "one", 2), stateFile(2, "L", "two", 1)
	now, err := env.store.Push(t.Context(), env.key, "alice", one, false, 0)
	if err != nil || now.Version != 1 || now.Serial != 1 || now.Resources != 2 {
		t.Fatalf("the first push: %+v, %v", now, err)
	}
	outputs := env.status().Outputs["x"]
	if again, err := env.store.Push(t.Context(), env.key, "alice", one, false, 0); err != nil || again.Version != 1 ||
		!again.Unchanged || now.Unchanged {
		t.Fatalf("the same again: %+v, %v", again, err)
	}
	_, err = env.store.Push(t.Context(), env.key, "alice", []byte("{}"), true, 0)
	wantRejected(t, err, decision.Invalid)
	must(t, second(env.store.Push(t.Context(), env.key, "bob", two, false, 0)))
	_, err = env.store.Push(t.Context(), env.key, "bob", one, false, 0)
	wantRejected(t, err, decision.Stale)
	if env.status().Outputs["x"] == outputs {
		t.Error("the outputs' fingerprint is that of the version before")
	}

	three := stateFile(3, "L", "three", 1)
	_, err = env.store.Push(t.Context(), env.key, "bob", three, true, 1) // based on version 1, while 2 is current
	wantRejected(t, err, decision.Stale)

	_, err = env.store.Rollback(t.Context(), env.key, "carol", 7, 0)
	wantRejected(t, err, decision.Missing)
	_, err = env.store.Rollback(t.Context(), env.key, "carol", 2, 0)
	wantRejected(t, err, decision.Invalid)
	_, err = env.store.Rollback(t.Context(), env.key, "carol", 1, 1)
	wantRejected(t, err, decision.Stale)
	_, err = env.store.Push(t.Context(), env.key, "carol", stateFile(9, "L", "", 1), true, 1)
	wantRejected(t, err, decision.Stale)
	back, err := env.store.Rollback(t.Context(), env.key, "carol", 1, 0)
	if now = (state.Outcome{StateStatus: back}); err != nil || now.Version != 3 || now.Serial != 3 ||
		now.Resources != 2 {
		t.Fatalf("rollback to version 1: %+v, %v", now, err)
	}
	env.reads(stateFile(3, "L", "one", 2))
	st := env.status()
	if st.Outputs["x"] != outputs || st.UpdatedBy != "" {
		t.Errorf("status %+v", st)
	}
	for i, by := range []string{"alice", "bob", "carol"} {
		if v := st.Versions[i]; v.By != by || v.Run != "" || v.Attempt != 0 {
			t.Errorf("version %d is from %q, Run %q", v.Version, v.By, v.Run)
		}
	}

	me := env.attempt()
	env.lock(me, "a")
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(4, "L", "four", 1)))
	_, err = env.store.Push(t.Context(), env.key, "alice", stateFile(9, "L", "", 1), true, 0)
	wantRejected(t, err, decision.Busy)
	_, err = env.store.Rollback(t.Context(), env.key, "alice", 1, 0)
	wantRejected(t, err, decision.Busy)
	env.rest(me, "")
	_, err = env.store.Push(t.Context(), env.key, "alice", stateFile(9, "L", "", 1), true, 0)
	wantRejected(t, err, decision.Locked)
	if !strings.Contains(err.Error(), "state unlock net a") {
		t.Errorf("the message is %q", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestPushNeedsAStack(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	_, err := env.store.Push(t.Context(), env.key, "alice", stateFile(1, "L", "", 1), false, 0)
	wantRejected(t, err, decision.Missing)
	if err := apiserver.Kube.Get(t.Context(), env.key, &v1alpha1.State{}); client.IgnoreNotFound(err) != nil ||
		err == nil {
		t.Fatalf("a State exists: %v", err)
	}
}

func TestForcedPushGetsANewSerial(t *testing.T) {
	env := newTestEnv(t, state.Options{}).withStack()
	must(t, second(env.store.Push(t.Context(), env.key, "alice", stateFile(5, "L", "planned for", 1), false, 0)))
	now, err := env.store.Push(t.Context(), env.key, "alice", stateFile(5, "L", "another", 1), true, 0)
	if err != nil || now.Serial != 6 {
		t.Fatalf("got %+v, %v", now, err)
	}
	env.reads(stateFile(6, "L", "another", 1))
}

// TestPushConflictsWithAnApply checks an apply that starts between the check of the Runs and the write of a push: the
// push fails because of its lock.
func TestPushConflictsWithAnApply(t *testing.T) {
	env := newTestEnv(t, state.Options{}).withStack()
	must(t, second(env.store.Push(t.Context(), env.key, "alice", stateFile(1, "L", "", 1), false, 0)))
	begun := false
	late := state.New(interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if _, is := o.(*v1alpha1.State); is && !begun {
				begun = true
				env.lock(env.attempt(), "a")
			}
			return c.Update(ctx, o, opts...)
		},
	}), apiserver.Kube, env.bucket, state.Options{})
	_, err := late.Push(t.Context(), env.key, "alice", stateFile(2, "L", "", 1), true, 0)
	wantRejected(t, err, decision.Busy)
	env.reads(stateFile(1, "L", "", 1))
}

func TestLockIsReleasedWhenItsHolderHasEnded(t *testing.T) {
	env := newTestEnv(t, state.Options{}).withStack()
	me := env.attempt()
	env.lock(me, "a")
	err := env.store.Release(t.Context(), env.key, "a")
	wantRejected(t, err, decision.Locked)
	if !strings.Contains(err.Error(), "works in pod net-1-apply-1") {
		t.Errorf("the message is %q", err)
	}
	wantRejected(t, env.store.Release(t.Context(), env.key, "b"), decision.NotHolder)
	env.rest(me, "")
	wantRejected(t, env.store.Release(t.Context(), env.key, "b"), decision.NotHolder)
	must(t, env.store.Release(t.Context(), env.key, "a"))
	if env.status().Lock != nil {
		t.Error("the lock still exists")
	}
	wantRejected(t, env.store.Release(t.Context(), env.key, "a"), decision.Missing)
}

func TestLockOfAnUnknownPodIsKept(t *testing.T) {
	env := newTestEnv(t, state.Options{}).withStack()
	me := env.attempt()
	env.lock(me, "a")
	blind := state.New(apiserver.Kube, interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if strings.HasPrefix(key.Name, "net-1-apply") {
				return errors.New("no answer")
			}
			return c.Get(ctx, key, o, opts...)
		},
	}), env.bucket, state.Options{})
	env.rest(me, "")
	var r *decision.Rejection
	if err := blind.Release(t.Context(), env.key, "a"); err == nil || errors.As(err, &r) {
		t.Fatalf("got %v", err)
	}
	if env.status().Lock == nil {
		t.Error("the lock was released")
	}
}

func TestRecoverRestoresTheStateAndReleasesTheLock(t *testing.T) {
	env := newTestEnv(t, state.Options{}).withStack()
	me := env.attempt()
	env.lock(me, "a")
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "", 1)))
	lost := stateFile(2, "L", "", 3)
	_, err := env.store.Recover(t.Context(), env.key, "alice", decision.Printed{Run: me.Run, Attempt: me.Attempt}, lost)
	wantRejected(t, err, decision.Busy)
	env.rest(me, v1alpha1.FailureStateNotSaved)
	for i := range 2 {
		now, err := env.store.Recover(t.Context(), env.key, "alice", decision.Printed{Run: me.Run, Attempt: me.Attempt},
			lost)
		if err != nil || now.Version != 2 || now.Serial != 2 || now.Lock != nil || now.Unchanged != (i > 0) {
			t.Fatalf("got %+v, %v", now, err)
		}
	}
	env.reads(lost)
	at := env.status().Versions[1].At
	if ended := env.run.Status.Attempts[0].FinishedAt; !at.After(ended.Time) {
		t.Errorf("version 2 is of %v, and the attempt ended at %v: the Stack only continues with a newer version", at,
			ended)
	}
	_, err = env.store.Recover(t.Context(), env.key, "alice", decision.Printed{Run: me.Run, Attempt: me.Attempt},
		stateFile(1, "L", "", 1))
	wantRejected(t, err, decision.Stale)
	_, err = env.store.Recover(t.Context(), env.key, "alice", decision.Printed{Run: me.Run, Attempt: me.Attempt},
		bytes.TrimRight(lost, "}"))
	wantRejected(t, err, decision.Invalid)
}

// TestOnlyForceReplacesALostState checks that a version which was written after the loss lets the Stack continue.
func TestOnlyForceReplacesALostState(t *testing.T) {
	env := newTestEnv(t, state.Options{}).withStack()
	me := env.attempt()
	env.lock(me, "a")
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "one", 1)))
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(2, "L", "two", 1)))
	must(t, env.store.Unlock(t.Context(), env.key, me, "a"))
	// by the clock of another node
	env.run.Status.Attempts[0].FinishedAt = &metav1.MicroTime{Time: time.Now().Add(time.Hour)}
	env.run.Status.Attempts[0].Failure = &v1alpha1.Failure{Class: v1alpha1.FailureStateNotSaved, Message: "no answer"}
	must(t, apiserver.Kube.Status().Update(t.Context(), env.run))
	env.killPod(me)
	_, err := env.store.Rollback(t.Context(), env.key, "alice", 1, 0)
	wantRejected(t, err, decision.Stale)
	_, err = env.store.Push(t.Context(), env.key, "alice", stateFile(3, "L", "", 1), false, 0)
	wantRejected(t, err, decision.Stale)
	now, err := env.store.Push(t.Context(), env.key, "alice", stateFile(2, "L", "two", 1), true, 0)
	if err != nil || now.Version != 3 || now.Serial != 3 || now.Unchanged {
		t.Fatalf("got %+v, %v", now, err)
	}
	if at := env.status().Versions[2].At; !at.After(env.run.Status.Attempts[0].FinishedAt.Time) {
		t.Errorf("version 3 is of %v, before the state was lost", at)
	}
	must(t, second(env.store.Rollback(t.Context(), env.key, "alice", 1, 0)))
}
