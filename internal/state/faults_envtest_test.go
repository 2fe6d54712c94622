//go:build envtest

package state_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/test/apiserver"
)

func TestCrashBeforeTheStatusIsUpdated(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	me := env.attempt()
	env.lock(me, "a")
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "", 1)))

	crashing := state.New(interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			if _, ok := obj.(*v1alpha1.State); ok {
				return errors.New("killed")
			}
			return c.Update(ctx, obj, opts...)
		},
	}), apiserver.Kube, env.bucket, state.Options{})
	two, other := stateFile(2, "L", "two", 1), stateFile(2, "L", "other", 1)
	for _, data := range [][]byte{two, other} {
		if err := crashing.Write(t.Context(), env.key, me, "a", data); err == nil {
			t.Fatal("no crash")
		}
	}
	env.reads(stateFile(1, "L", "", 1))
	if n := len(env.secrets()); n != 3 {
		t.Fatalf("%d Secrets, want one of the current version and two left over", n)
	}
	must(t, env.store.Write(t.Context(), env.key, me, "a", two))
	env.reads(two)
	if n := len(env.secrets()); n != 3 {
		t.Fatalf("%d Secrets: the one left over was not used", n)
	}
}

// TestInterruptedPushIsRepeated checks a first push whose bytes were stored before it failed: the same state is
// accepted again, and another one is not, since a restored state looks the same.
func TestInterruptedPushIsRepeated(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	env.stack()
	interrupted := state.New(interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if err := c.Create(ctx, obj, opts...); err != nil {
				return err
			}
			return apierrors.NewTimeoutError("applied all the same", 1)
		},
	}), apiserver.Kube, env.bucket, state.Options{})
	one := stateFile(1, "L", "", 1)
	if _, err := interrupted.Push(t.Context(), env.key, "ann", one, false, 0); err == nil {
		t.Fatal("no timeout")
	}
	_, err := env.store.Push(t.Context(), env.key, "ann", stateFile(1, "M", "", 1), false, 0)
	wantRejected(t, err, decision.Stale)
	made, err := env.store.Push(t.Context(), env.key, "ann", one, false, 0)
	must(t, err)
	if made.Version != 1 || made.Unchanged || len(env.secrets()) != 1 {
		t.Errorf("version %d, unchanged %t, %d Secrets", made.Version, made.Unchanged, len(env.secrets()))
	}
	env.reads(one)
}

// TestFailedSecretIsWrittenAgain checks a write of which the first Secret fails, on a remembered State and on one that
// is read: the version must not count without its bytes.
func TestFailedSecretIsWrittenAgain(t *testing.T) {
	for name, remembered := range map[string]bool{"remembered": true, "read": false} {
		t.Run(name, func(t *testing.T) {
			env := newTestEnv(t, state.Options{})
			me := env.attempt()
			failed := false
			flaky := state.New(interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, obj client.Object,
					opts ...client.CreateOption) error {
					if _, ok := obj.(*corev1.Secret); ok && !failed {
						failed = true
						return apierrors.NewInternalError(errors.New("etcd is unavailable"))
					}
					return c.Create(ctx, obj, opts...)
				},
			}), apiserver.Kube, env.bucket, state.Options{})
			store := env.store
			if remembered {
				env.store = flaky // it takes the lock, and so remembers the State
			}
			env.lock(me, "a")
			env.store = store
			one := stateFile(1, "L", "", 1)
			if err := flaky.Write(t.Context(), env.key, me, "a", one); err != nil {
				if env.status().Version != 0 {
					t.Errorf("version %d counts after an error", env.status().Version)
				}
				must(t, flaky.Write(t.Context(), env.key, me, "a", one))
			}
			if n := len(env.secrets()); n != 1 {
				t.Errorf("%d Secrets: the version counts without its bytes", n)
			}
			env.reads(one)
		})
	}
}

func TestExistingSecretDoesNotPreventAWrite(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	me := env.attempt()
	env.lock(me, "a")
	refuseSecrets := state.New(interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if _, ok := obj.(*corev1.Secret); ok {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, obj.GetName(),
					errors.New("exceeded quota"))
			}
			return c.Create(ctx, obj, opts...)
		},
	}), apiserver.Kube, env.bucket, state.Options{})
	must(t, refuseSecrets.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "", 1)))
	env.reads(stateFile(1, "L", "", 1))
	if v := env.status().Versions[0]; v.Storage != v1alpha1.StateStorageBucket {
		t.Fatalf("home %s", v.Storage)
	}
}

// TestForeignSecretIsNotUsedAsAState checks a Secret with the name of a version that a user created.
func TestForeignSecretIsNotUsedAsAState(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	me := env.attempt()
	env.lock(me, "a")
	first := state.New(interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if secret, ok := obj.(*corev1.Secret); ok {
				other := secret.DeepCopy()
				other.Data = map[string][]byte{"chunk": []byte("another's")}
				if err := c.Create(ctx, other); err != nil {
					return err
				}
			}
			return c.Create(ctx, obj, opts...)
		},
	}), apiserver.Kube, env.bucket, state.Options{})
	must(t, first.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "", 1)))
	env.reads(stateFile(1, "L", "", 1))
	// the Secret would be damaged, and read from its backup
	if got := env.status().Versions[0].Storage; got != v1alpha1.StateStorageBucket {
		t.Errorf("the version is in the %s", got)
	}
}

// damaged is a state with two versions and without its lock, where the Secret of the current version is deleted, or has
// other bytes.
func damaged(t *testing.T, forged bool) (env *testEnv, current []byte, secret string) {
	t.Helper()
	env = newTestEnv(t, state.Options{})
	env.stack()
	me := env.attempt()
	env.lock(me, "a")
	current = stateFile(2, "L", "", 2)
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "", 1)))
	must(t, env.store.Write(t.Context(), env.key, me, "a", current))
	must(t, env.store.Unlock(t.Context(), env.key, me, "a"))
	env.rest(me, "")
	for _, s := range env.secrets() {
		if !strings.Contains(s.Name, "-v2-") {
			continue
		}
		secret = s.Name
		env.remove(s)
		if forged {
			s.ResourceVersion, s.UID, s.Finalizers, s.Data = "", "", nil, map[string][]byte{"chunk": []byte("x")}
			must(t, apiserver.Kube.Create(t.Context(), &s))
		}
	}
	return env, current, secret
}

// remove deletes a Secret in spite of its finalizer.
func (env *testEnv) remove(secret corev1.Secret) {
	env.Helper()
	secret.Finalizers = nil
	must(env.T, apiserver.Kube.Update(env.Context(), &secret))
	must(env.T, apiserver.Kube.Delete(env.Context(), &secret))
}

func TestDamagedStateIsReadFromItsBackup(t *testing.T) {
	for name, forged := range map[string]bool{"deleted": false, "with other bytes": true} {
		t.Run(name, func(t *testing.T) {
			env, current, _ := damaged(t, forged)
			env.reads(current)
			for _, s := range env.secrets() {
				if strings.Contains(s.Name, "-v1-") {
					env.remove(s)
				}
			}
			_, err := env.store.ReadVersion(t.Context(), env.key, 1) // the backup is of version 2
			wantRejected(t, err, decision.Damaged)
			must(t, env.store.Promote(t.Context(), env.key)) // before a plan
			me := env.attempt()
			env.lock(me, "b")
			must(t, env.store.Write(t.Context(), env.key, me, "b", stateFile(3, "L", "", 3)))
			env.reads(stateFile(3, "L", "", 3))
		})
	}
}

// TestDamagedStateIsReplacedByAUser checks a damaged state without a backup, or with one of another version: it is not
// returned, and no plan begins with it, until a user replaces it.
func TestDamagedStateIsReplacedByAUser(t *testing.T) {
	for name, replace := range map[string]func(env *testEnv, current []byte) error{
		"rollback": func(env *testEnv, _ []byte) error {
			_, err := env.store.Rollback(env.Context(), env.key, "alice", 1, 2)
			return err
		},
		"push of a later state": func(env *testEnv, _ []byte) error {
			_, err := env.store.Push(env.Context(), env.key, "alice", stateFile(3, "L", "", 2), false, 2)
			return err
		},
		"push of its bytes by force": func(env *testEnv, current []byte) error {
			_, err := env.store.Push(env.Context(), env.key, "alice", current, true, 2)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			env, current, secret := damaged(t, false)
			must(t, env.bucket.Delete(t.Context(), "states/"+env.namespace+"/net/backup"))
			_, err := env.store.Read(t.Context(), env.key)
			wantRejected(t, err, decision.Damaged)
			if !strings.Contains(err.Error(), secret) {
				t.Errorf("the error does not name the Secret: %v", err)
			}
			must(t, replace(env, current))
			if _, err := env.store.Read(t.Context(), env.key); err != nil || env.status().Version != 3 {
				t.Errorf("version %d: %v", env.status().Version, err)
			}
		})
	}
}

func TestFinalizerKeepsTheSecretOfTheCurrentVersion(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	me := env.attempt()
	env.lock(me, "a")
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "", 1)))
	must(t, apiserver.Kube.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(env.namespace)))
	env.readsFromSecrets(stateFile(1, "L", "", 1))
}

func TestConcurrentWritesAreAcknowledgedCorrectly(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	me := env.attempt()
	env.lock(me, "a")
	const writers = 8
	errs := make([]error, writers)
	var g sync.WaitGroup
	for i := range writers {
		g.Go(func() {
			// Two of each serial, with other bytes.
			text := string(rune('a' + i%2))
			errs[i] = env.store.Write(t.Context(), env.key, me, "a", stateFile(1+i/2, "L", text, 1))
		})
	}
	g.Wait()
	st := env.status()
	counted := map[int64]int{}
	for _, v := range st.Versions {
		counted[v.Serial]++
		if _, err := env.store.ReadVersion(t.Context(), env.key, v.Version); err != nil {
			t.Errorf("version %d: %v", v.Version, err)
		}
	}
	var acknowledged int
	for i, err := range errs {
		if err == nil {
			acknowledged++
			continue
		}
		var r *decision.Rejection
		if errors.As(err, &r) && r.Reason == decision.Stale {
			continue
		}
		t.Logf("writer %d: %v", i, err)
	}
	if acknowledged != len(st.Versions) || st.Serial != writers/2 {
		t.Fatalf("%d writes were acknowledged, %d versions, serial %d", acknowledged, len(st.Versions), st.Serial)
	}
	for serial, n := range counted {
		if n > 1 {
			t.Errorf("serial %d was written %d times", serial, n)
		}
	}
}

func TestConflictingWriteGetsTheNextVersion(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	me := env.attempt()
	env.lock(me, "a")
	raced := false
	slow := state.New(interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			if !raced {
				raced = true
				must(t, env.store.Write(ctx, env.key, me, "a", stateFile(1, "L", "fast", 1)))
			}
			return c.Update(ctx, obj, opts...)
		},
	}), apiserver.Kube, env.bucket, state.Options{})
	must(t, slow.Write(t.Context(), env.key, me, "a", stateFile(2, "L", "slow", 1)))
	env.reads(stateFile(2, "L", "slow", 1))
	if st := env.status(); st.Version != 2 || len(st.Versions) != 2 || st.Versions[0].Serial != 1 {
		t.Fatalf("status %+v", st)
	}
	if got, err := env.store.ReadVersion(t.Context(), env.key, 1); err != nil ||
		!bytes.Equal(got, stateFile(1, "L", "fast", 1)) {
		t.Fatalf("version 1: %s, %v", got, err)
	}
}

func TestDecisionsReadFromTheAPIServer(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	cached := interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object,
			_ ...client.GetOption) error {
			t.Errorf("%T %s is read from the cache", obj, key)
			return errors.New("old")
		},
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			t.Errorf("%T is read from the cache", list)
			return errors.New("old")
		},
	})
	env.store = state.New(cached, apiserver.Kube, env.bucket, state.Options{Keep: 1})
	first := env.attempt()
	env.lock(first, "a")
	for serial := 1; serial <= 7; serial++ {
		must(t, env.store.Write(t.Context(), env.key, first, "a", stateFile(serial, "L", "", 1)))
	}
	second := env.attempt()
	env.killPod(first)
	env.lock(second, "b")
	must(t, env.store.Rescue(t.Context(), env.key, first, "", stateFile(8, "L", "", 1)))
	must(t, env.store.Unlock(t.Context(), env.key, second, "b"))
	must(t, env.store.Promote(t.Context(), env.key))
	env.reads(stateFile(8, "L", "", 1))
	if _, err := env.store.HeldBy(t.Context(), env.namespace, second.PodUID); err != nil {
		t.Fatal(err)
	}
	must(t, env.store.Purge(t.Context(), env.key))
}

// setPodStatus sets the status of the pod of an attempt, as a kubelet or the garbage collector of pods does.
func (env *testEnv) setPodStatus(by decision.Holder, phase corev1.PodPhase, engine corev1.ContainerState) {
	env.Helper()
	pod := &corev1.Pod{}
	must(env.T, apiserver.Kube.Get(env.Context(),
		client.ObjectKey{Namespace: env.namespace, Name: fmt.Sprintf("net-1-apply-%d", by.Attempt)}, pod))
	pod.Status.Phase = phase
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "runner", Image: "runner", State: engine}}
	must(env.T, apiserver.Kube.Status().Update(env.Context(), pod))
}

// TestLockIsReleasedWhenThePodHasEnded checks that the lock of a lost attempt is only released when the kubelet reports
// that all containers have ended, or the pod does not exist.
func TestLockIsReleasedWhenThePodHasEnded(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	killed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137}}
	for name, tt := range map[string]struct {
		phase  corev1.PodPhase
		engine corev1.ContainerState
		free   bool
	}{
		"running": {corev1.PodRunning, running, false},
		"node lost, and the garbage collector set Failed": {corev1.PodFailed, running, false},
		"unknown": {corev1.PodUnknown, running, false},
		"ended":   {corev1.PodFailed, killed, true},
	} {
		t.Run(name, func(t *testing.T) {
			env := newTestEnv(t, state.Options{})
			first := env.attempt()
			env.lock(first, "a")
			env.setPodStatus(first, tt.phase, tt.engine)
			second := env.attempt()
			err := env.tryLock(second, "b")
			if tt.free {
				must(t, err)
				return
			}
			wantRejected(t, err, decision.Locked)
			env.killPod(first) // forced, or together with its node
			must(t, env.tryLock(second, "b"))
		})
	}
}
