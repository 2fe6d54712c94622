//go:build envtest

package state_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket/buckettest"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/storage"
	"cairn.dev/cairn/test/apiserver"
)

func wantRejected(t *testing.T, err error, want decision.Reason) {
	t.Helper()
	var r *decision.Rejection
	if !errors.As(err, &r) || r.Reason != want {
		t.Fatalf("got %v, want to be rejected as %s", err, want)
	}
}

func (env *testEnv) lock(by decision.Holder, id string) {
	env.Helper()
	must(env.T, env.tryLock(by, id))
}

func (env *testEnv) tryLock(by decision.Holder, id string) error {
	_, err := env.store.Lock(env.Context(), env.key, by, decision.LockRequest{ID: id})
	return err
}

func (env *testEnv) reads(want []byte) {
	env.Helper()
	got, err := env.store.Read(env.Context(), env.key)
	if err != nil || !bytes.Equal(got, want) {
		env.Fatalf("read %d bytes of %d: %v", len(got), len(want), err)
	}
}

// readsFromSecrets wants the Secrets alone to have a state: none of its backups is there.
func (env *testEnv) readsFromSecrets(want []byte) {
	env.Helper()
	without := *env
	without.store = state.New(apiserver.Kube, apiserver.Kube, buckettest.New(env.T),
		state.Options{Log: slog.New(slog.DiscardHandler)})
	without.reads(want)
}

func TestLifecycleOfAState(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	if _, err := env.store.Read(t.Context(), env.key); !errors.Is(err, state.ErrNone) {
		t.Fatalf("before the first version: %v", err)
	}
	me := env.attempt()
	env.lock(me, "a")
	if _, err := env.store.Read(t.Context(), env.key); !errors.Is(err, state.ErrNone) {
		t.Fatalf("with a lock only: %v", err)
	}
	one, two := stateFile(1, "L", "one", 2), stateFile(2, "L", "two", 0)
	must(t, env.store.Write(t.Context(), env.key, me, "a", one))
	env.reads(one)
	wantRejected(t, env.store.Delete(t.Context(), env.key), decision.Locked)
	must(t, env.store.Unlock(t.Context(), env.key, me, "a"))
	wantRejected(t, env.store.Delete(t.Context(), env.key), decision.NotEmpty)
	env.lock(me, "b")
	must(t, env.store.Write(t.Context(), env.key, me, "b", two))
	must(t, env.store.Unlock(t.Context(), env.key, me, "b"))
	env.reads(two)
	if got, err := env.store.ReadVersion(t.Context(), env.key, 1); err != nil || !bytes.Equal(got, one) {
		t.Fatalf("version 1: %v", err)
	}
	if st := env.status(); st.Version != 2 || st.Serial != 2 || st.UpdatedBy != "net-1" ||
		st.InputsDigest != env.run.Spec.InputsDigest || st.Lock != nil {
		t.Fatalf("status %+v", st)
	}
	for _, s := range env.secrets() {
		if s.Type != storage.SecretType || s.Immutable == nil || !*s.Immutable || len(s.OwnerReferences) > 0 ||
			len(s.Finalizers) == 0 {
			t.Errorf("Secret %s: %+v", s.Name, s.ObjectMeta)
		}
	}
	must(t, env.store.Delete(t.Context(), env.key))
	must(t, env.store.Delete(t.Context(), env.key))
	if err := apiserver.Kube.Get(t.Context(), env.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) ||
		len(env.secrets()) > 0 {
		t.Fatalf("left: %v, %d Secrets", err, len(env.secrets()))
	}
}

func TestIncompressibleStateInSeveralSecrets(t *testing.T) {
	random := make([]byte, 3<<20)
	rand.Read(random)
	for home, secrets := range map[v1alpha1.StateStorage]int{v1alpha1.StateStorageSecret: 4,
		v1alpha1.StateStorageBucket: 0} {
		t.Run(string(home), func(t *testing.T) {
			env := newTestEnv(t, state.Options{Storage: home})
			me := env.attempt()
			env.lock(me, "a")
			data := stateFile(1, "L", base64.StdEncoding.EncodeToString(random), 1)
			must(t, env.store.Write(t.Context(), env.key, me, "a", data))
			env.reads(data)
			if got := len(env.secrets()); got < secrets || secrets == 0 && got > 0 {
				t.Fatalf("%d Secrets", got)
			}
			must(t, env.store.Unlock(t.Context(), env.key, me, "a"))
			must(t, env.store.Purge(t.Context(), env.key))
			if keys, err := env.bucket.List(t.Context(), "states"); err != nil || len(keys) > 0 {
				t.Fatalf("left in the bucket: %v %v", keys, err)
			}
		})
	}
}

func TestLargeStateIsStoredInTheBucket(t *testing.T) {
	env := newTestEnv(t, state.Options{SecretLimit: 100})
	me := env.attempt()
	env.lock(me, "a")
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "text", 1)))
	env.reads(stateFile(1, "L", "text", 1))
	if n := len(env.secrets()); n > 0 {
		t.Fatalf("%d Secrets", n)
	}
}

// uncommitted stores the first version under another number too, as a writer does before it updates the status.
func (env *testEnv) uncommitted(number int) {
	env.Helper()
	for _, secret := range env.secrets() {
		secret.Name, secret.ResourceVersion, secret.UID = strings.Replace(secret.Name, "-v1-",
			fmt.Sprintf("-v%d-", number), 1), "", ""
		must(env.T, apiserver.Kube.Create(env.Context(), &secret))
	}
	for _, key := range env.inBucket() {
		must(env.T, env.bucket.Put(env.Context(), strings.Replace(key, "/1-", fmt.Sprintf("/%d-", number), 1), nil))
	}
}

func TestOldVersionsArePruned(t *testing.T) {
	for _, home := range []v1alpha1.StateStorage{v1alpha1.StateStorageSecret, v1alpha1.StateStorageBucket} {
		t.Run(string(home), func(t *testing.T) {
			env := newTestEnv(t, state.Options{Keep: 3, Storage: home})
			me := env.attempt()
			env.lock(me, "a")
			for serial := 1; serial <= 13; serial++ {
				must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(serial, "L", "", 1)))
				if serial == 1 {
					env.uncommitted(99)
				}
			}
			kept := len(env.status().Versions)
			if keys := env.inBucket(); kept != 3 || len(env.secrets())+len(keys) != 4 {
				t.Fatalf("%d versions, %d Secrets, bucket %v", kept, len(env.secrets()), keys)
			}
			env.reads(stateFile(13, "L", "", 1))
		})
	}
}

func TestLockIsAcquiredFromADeletedPod(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	first := env.attempt()
	env.lock(first, "a")
	must(t, env.store.Write(t.Context(), env.key, first, "a", stateFile(1, "L", "", 1)))
	second := env.attempt()
	want := decision.LockRequest{ID: "b"}
	wantRejected(t, env.tryLock(second, want.ID), decision.Locked)
	wantRejected(t, env.store.Write(t.Context(), env.key, first, "a", stateFile(2, "L", "", 1)), decision.NotCurrent)

	blind := state.New(apiserver.Kube, interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object,
			opts ...client.GetOption) error {
			if _, pod := obj.(*corev1.Pod); pod {
				return apierrors.NewInternalError(errors.New("no answer"))
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}), env.bucket, state.Options{})
	env.killPod(first)
	if _, err := blind.Lock(t.Context(), env.key, second, want); err == nil || !apierrors.IsInternalError(err) {
		t.Fatalf("an unknown pod counts as deleted: %v", err)
	}
	must(t, env.tryLock(second, want.ID))
	wantRejected(t, env.store.Write(t.Context(), env.key, first, "a", stateFile(2, "L", "", 1)), decision.NotCurrent)
	wantRejected(t, env.store.Unlock(t.Context(), env.key, first, "a"), decision.NotHolder)
	must(t, env.store.Write(t.Context(), env.key, second, "b", stateFile(2, "L", "", 1)))
}

func TestLockOfADeletedRunIsAcquiredFromADeletedPod(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	first := env.attempt()
	env.lock(first, "a")
	must(t, apiserver.Kube.Delete(t.Context(), env.run))
	held, err := env.store.HeldBy(t.Context(), env.namespace, first.PodUID)
	if err != nil || held == nil || held.Name != "net" {
		t.Fatalf("held %v, %v", held, err)
	}
	must(t, env.store.Write(t.Context(), env.key, first, "a", stateFile(1, "L", "", 1)))

	next := *env.run
	next.ObjectMeta.Name, next.ResourceVersion, next.UID, next.Status = "net-2", "", "", v1alpha1.RunStatus{}
	must(t, apiserver.Kube.Create(t.Context(), &next))
	next.Status.Attempts = []v1alpha1.Attempt{{Number: 1, Phase: v1alpha1.AttemptApply, Pod: "p", PodUID: "u",
		StartedAt: env.run.Status.Attempts[0].StartedAt}}
	must(t, apiserver.Kube.Status().Update(t.Context(), &next))
	second := decision.Holder{Run: "net-2", Attempt: 1, PodUID: "u"}
	wantRejected(t, env.tryLock(second, "b"), decision.Locked)
	env.killPod(first)
	env.lock(second, "b")
	wantRejected(t, env.store.Write(t.Context(), env.key, first, "a", stateFile(2, "L", "", 1)), decision.NotHolder)
}

// TestDeletedStateIsKept checks that the finalizer keeps a deleted State, which is the only record of its current
// version.
func TestDeletedStateIsKept(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	me := env.attempt()
	env.lock(me, "a")
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "", 1)))
	must(t, apiserver.Kube.Delete(t.Context(),
		&v1alpha1.State{ObjectMeta: metav1.ObjectMeta{Namespace: env.key.Namespace, Name: env.key.Name}}))
	env.reads(stateFile(1, "L", "", 1))
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(2, "L", "", 1)))
	env.reads(stateFile(2, "L", "", 1))
}

// TestInputsOfTheLastApplyAreKept checks that a destroy has the variables of the last apply, whatever inputs were
// stored since, until another apply takes the lock.
func TestInputsOfTheLastApplyAreKept(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	for _, inputs := range []string{"sha256:first", "sha256:second", env.run.Spec.InputsDigest} {
		must(t, env.store.KeepInputs(t.Context(), env.key, inputs, []byte(inputs)))
	}
	env.lock(env.attempt(), "a")
	must(t, env.store.KeepInputs(t.Context(), env.key, "sha256:later", []byte("later")))
	if data, err := env.store.KeptInputs(t.Context(), env.key, env.run.Spec.InputsDigest); err != nil ||
		string(data) != env.run.Spec.InputsDigest {
		t.Errorf("those of the apply: %q, %v", data, err)
	}
	_, err := env.store.KeptInputs(t.Context(), env.key, "sha256:first")
	wantRejected(t, err, decision.Missing)
}

// TestInputsOfEarlierAppliesAreCollected checks that a lock leaves the variables that the State names and those that it
// named before.
func TestInputsOfEarlierAppliesAreCollected(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	env.lock(env.attempt(), "a")
	applied := env.run.Spec.InputsDigest
	for _, inputs := range []string{"sha256:never", "sha256:later", applied} {
		must(t, env.store.KeepInputs(t.Context(), env.key, inputs, []byte("variables")))
	}
	must(t, env.store.AdoptInputs(t.Context(), env.key, "sha256:later"))
	for inputs, kept := range map[string]bool{"sha256:never": false, applied: true, "sha256:later": true} {
		if _, err := env.store.KeptInputs(t.Context(), env.key, inputs); (err == nil) != kept {
			t.Errorf("%s: %v", inputs, err)
		}
	}
}

// TestKeepSelfApproval checks that the rule is decided on the current State, and that no State is created for it.
func TestKeepSelfApproval(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	removed := func(kept *v1alpha1.KeptSelfApproval) *v1alpha1.KeptSelfApproval {
		if kept == nil {
			return nil
		}
		return &v1alpha1.KeptSelfApproval{RemovedBy: "alice"}
	}
	set := func(*v1alpha1.KeptSelfApproval) *v1alpha1.KeptSelfApproval { return &v1alpha1.KeptSelfApproval{} }
	must(t, env.store.KeepSelfApproval(t.Context(), env.key, set))
	if err := apiserver.Kube.Get(t.Context(), env.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) {
		t.Fatalf("a State was created: %v", err)
	}
	env.lock(env.attempt(), "a")
	must(t, env.store.KeepSelfApproval(t.Context(), env.key, removed))
	if kept := env.status().SelfApproval; kept != nil {
		t.Errorf("%+v", kept)
	}
	must(t, env.store.KeepSelfApproval(t.Context(), env.key, set))
	must(t, env.store.KeepSelfApproval(t.Context(), env.key, removed))
	if kept := env.status().SelfApproval; kept == nil || kept.RemovedBy != "alice" || env.status().Lock == nil {
		t.Errorf("%+v", env.status())
	}
}
