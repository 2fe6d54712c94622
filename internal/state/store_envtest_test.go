//go:build envtest

package state_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
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

func (w *testEnv) lock(by decision.Holder, id string) {
	w.Helper()
	must(w.T, w.tryLock(by, id))
}

func (w *testEnv) tryLock(by decision.Holder, id string) error {
	_, err := w.store.Lock(w.Context(), w.key, by, decision.LockRequest{ID: id})
	return err
}

func (w *testEnv) reads(want []byte) {
	w.Helper()
	got, err := w.store.Read(w.Context(), w.key)
	if err != nil || !bytes.Equal(got, want) {
		w.Fatalf("read %d bytes of %d: %v", len(got), len(want), err)
	}
}

func TestLifecycleOfAState(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	if _, err := w.store.Read(t.Context(), w.key); !errors.Is(err, state.ErrNone) {
		t.Fatalf("before the first version: %v", err)
	}
	me := w.attempt()
	w.lock(me, "a")
	if _, err := w.store.Read(t.Context(), w.key); !errors.Is(err, state.ErrNone) {
		t.Fatalf("with a lock only: %v", err)
	}
	one, two := stateFile(1, "L", "one", 2), stateFile(2, "L", "two", 0)
	must(t, w.store.Write(t.Context(), w.key, me, "a", one))
	w.reads(one)
	wantRejected(t, w.store.Delete(t.Context(), w.key), decision.Locked)
	must(t, w.store.Unlock(t.Context(), w.key, me, "a"))
	wantRejected(t, w.store.Delete(t.Context(), w.key), decision.NotEmpty)
	w.lock(me, "b")
	must(t, w.store.Write(t.Context(), w.key, me, "b", two))
	must(t, w.store.Unlock(t.Context(), w.key, me, "b"))
	w.reads(two)
	if got, err := w.store.ReadVersion(t.Context(), w.key, 1); err != nil || !bytes.Equal(got, one) {
		t.Fatalf("version 1: %v", err)
	}
	if st := w.status(); st.Version != 2 || st.Serial != 2 || st.UpdatedBy != "net-1" || st.InputsDigest != w.run.Spec.InputsDigest || st.Lock != nil {
		t.Fatalf("status %+v", st)
	}
	for _, s := range w.secrets() {
		if s.Type != storage.SecretType || s.Immutable == nil || !*s.Immutable || len(s.OwnerReferences) > 0 || len(s.Finalizers) == 0 {
			t.Errorf("Secret %s: %+v", s.Name, s.ObjectMeta)
		}
	}
	must(t, w.store.Delete(t.Context(), w.key))
	must(t, w.store.Delete(t.Context(), w.key))
	if err := apiserver.Kube.Get(t.Context(), w.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) || len(w.secrets()) > 0 {
		t.Fatalf("left: %v, %d Secrets", err, len(w.secrets()))
	}
}

func TestIncompressibleStateInSeveralSecrets(t *testing.T) {
	random := make([]byte, 3<<20)
	rand.Read(random)
	for home, secrets := range map[v1alpha1.StateStorage]int{v1alpha1.StateStorageSecret: 4, v1alpha1.StateStorageBucket: 0} {
		t.Run(string(home), func(t *testing.T) {
			w := newTestEnv(t, state.Options{Storage: home})
			me := w.attempt()
			w.lock(me, "a")
			data := stateFile(1, "L", base64.StdEncoding.EncodeToString(random), 1)
			must(t, w.store.Write(t.Context(), w.key, me, "a", data))
			w.reads(data)
			if got := len(w.secrets()); got < secrets || secrets == 0 && got > 0 {
				t.Fatalf("%d Secrets", got)
			}
			must(t, w.store.Unlock(t.Context(), w.key, me, "a"))
			must(t, w.store.Purge(t.Context(), w.key))
			if keys, err := w.bucket.List(t.Context(), "states"); err != nil || len(keys) > 0 {
				t.Fatalf("left in the bucket: %v %v", keys, err)
			}
		})
	}
}

func TestLargeStateIsStoredInTheBucket(t *testing.T) {
	w := newTestEnv(t, state.Options{SecretLimit: 100})
	me := w.attempt()
	w.lock(me, "a")
	must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(1, "L", "text", 1)))
	w.reads(stateFile(1, "L", "text", 1))
	if n := len(w.secrets()); n > 0 {
		t.Fatalf("%d Secrets", n)
	}
}

// uncommitted stores the first version under another number too, as a writer does before it updates the status.
func (w *testEnv) uncommitted(number int) {
	w.Helper()
	for _, secret := range w.secrets() {
		secret.Name, secret.ResourceVersion, secret.UID = strings.Replace(secret.Name, "-v1-", fmt.Sprintf("-v%d-", number), 1), "", ""
		must(w.T, apiserver.Kube.Create(w.Context(), &secret))
	}
	for _, key := range w.inBucket() {
		must(w.T, w.bucket.Put(w.Context(), strings.Replace(key, "/1-", fmt.Sprintf("/%d-", number), 1), nil))
	}
}

func TestOldVersionsArePruned(t *testing.T) {
	for _, home := range []v1alpha1.StateStorage{v1alpha1.StateStorageSecret, v1alpha1.StateStorageBucket} {
		t.Run(string(home), func(t *testing.T) {
			w := newTestEnv(t, state.Options{Keep: 3, Storage: home})
			me := w.attempt()
			w.lock(me, "a")
			for serial := 1; serial <= 13; serial++ {
				must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(serial, "L", "", 1)))
				if serial == 1 {
					w.uncommitted(99)
				}
			}
			kept := len(w.status().Versions)
			if keys := w.inBucket(); kept != 3 || len(w.secrets())+len(keys) != 4 {
				t.Fatalf("%d versions, %d Secrets, bucket %v", kept, len(w.secrets()), keys)
			}
			w.reads(stateFile(13, "L", "", 1))
		})
	}
}

func TestLockIsAcquiredFromADeletedPod(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	first := w.attempt()
	w.lock(first, "a")
	must(t, w.store.Write(t.Context(), w.key, first, "a", stateFile(1, "L", "", 1)))
	second := w.attempt()
	want := decision.LockRequest{ID: "b"}
	wantRejected(t, w.tryLock(second, want.ID), decision.Locked)
	wantRejected(t, w.store.Write(t.Context(), w.key, first, "a", stateFile(2, "L", "", 1)), decision.NotCurrent)

	blind := state.New(apiserver.Kube, interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, pod := obj.(*corev1.Pod); pod {
				return apierrors.NewInternalError(errors.New("no answer"))
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}), w.bucket, state.Options{})
	w.killPod(first)
	if _, err := blind.Lock(t.Context(), w.key, second, want); err == nil || !apierrors.IsInternalError(err) {
		t.Fatalf("an unknown pod counts as deleted: %v", err)
	}
	must(t, w.tryLock(second, want.ID))
	wantRejected(t, w.store.Write(t.Context(), w.key, first, "a", stateFile(2, "L", "", 1)), decision.NotCurrent)
	wantRejected(t, w.store.Unlock(t.Context(), w.key, first, "a"), decision.NotHolder)
	must(t, w.store.Write(t.Context(), w.key, second, "b", stateFile(2, "L", "", 1)))
}

func TestLockOfADeletedRunIsAcquiredFromADeletedPod(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	first := w.attempt()
	w.lock(first, "a")
	must(t, apiserver.Kube.Delete(t.Context(), w.run))
	held, err := w.store.HeldBy(t.Context(), w.namespace, first.PodUID)
	if err != nil || held == nil || held.Name != "net" {
		t.Fatalf("held %v, %v", held, err)
	}
	must(t, w.store.Write(t.Context(), w.key, first, "a", stateFile(1, "L", "", 1)))

	next := *w.run
	next.ObjectMeta.Name, next.ResourceVersion, next.UID, next.Status = "net-2", "", "", v1alpha1.RunStatus{}
	must(t, apiserver.Kube.Create(t.Context(), &next))
	next.Status.Attempts = []v1alpha1.Attempt{{Number: 1, Phase: v1alpha1.AttemptApply, Pod: "p", PodUID: "u", StartedAt: w.run.Status.Attempts[0].StartedAt}}
	must(t, apiserver.Kube.Status().Update(t.Context(), &next))
	second := decision.Holder{Run: "net-2", Attempt: 1, PodUID: "u"}
	wantRejected(t, w.tryLock(second, "b"), decision.Locked)
	w.killPod(first)
	w.lock(second, "b")
	wantRejected(t, w.store.Write(t.Context(), w.key, first, "a", stateFile(2, "L", "", 1)), decision.NotHolder)
}

// TestDeletedStateIsKept checks that the finalizer keeps a deleted State, which is the only record of its current
// version.
func TestDeletedStateIsKept(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	me := w.attempt()
	w.lock(me, "a")
	must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(1, "L", "", 1)))
	must(t, apiserver.Kube.Delete(t.Context(), &v1alpha1.State{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: w.key.Name}}))
	w.reads(stateFile(1, "L", "", 1))
	must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(2, "L", "", 1)))
	w.reads(stateFile(2, "L", "", 1))
}

// TestInputsOfTheLastApplyAreKept checks that a destroy has the variables of the last apply, whatever inputs were
// stored since, until another apply takes the lock.
func TestInputsOfTheLastApplyAreKept(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	for _, inputs := range []string{"sha256:first", "sha256:second", w.run.Spec.InputsDigest} {
		must(t, w.store.KeepInputs(t.Context(), w.key, inputs, []byte(inputs)))
	}
	w.lock(w.attempt(), "a")
	must(t, w.store.KeepInputs(t.Context(), w.key, "sha256:later", []byte("later")))
	if data, err := w.store.KeptInputs(t.Context(), w.key, w.run.Spec.InputsDigest); err != nil || string(data) != w.run.Spec.InputsDigest {
		t.Errorf("those of the apply: %q, %v", data, err)
	}
	_, err := w.store.KeptInputs(t.Context(), w.key, "sha256:first")
	wantRejected(t, err, decision.Missing)
}

// TestInputsOfEarlierAppliesAreCollected checks that a lock leaves the variables that the State names and those that it
// named before.
func TestInputsOfEarlierAppliesAreCollected(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	w.lock(w.attempt(), "a")
	applied := w.run.Spec.InputsDigest
	for _, inputs := range []string{"sha256:never", "sha256:later", applied} {
		must(t, w.store.KeepInputs(t.Context(), w.key, inputs, []byte("variables")))
	}
	must(t, w.store.AdoptInputs(t.Context(), w.key, "sha256:later"))
	for inputs, kept := range map[string]bool{"sha256:never": false, applied: true, "sha256:later": true} {
		if _, err := w.store.KeptInputs(t.Context(), w.key, inputs); (err == nil) != kept {
			t.Errorf("%s: %v", inputs, err)
		}
	}
}

// TestKeepSelfApproval checks that the rule is decided on the current State, and that no State is created for it.
func TestKeepSelfApproval(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	removed := func(kept *v1alpha1.KeptSelfApproval) *v1alpha1.KeptSelfApproval {
		if kept == nil {
			return nil
		}
		return &v1alpha1.KeptSelfApproval{RemovedBy: "alice"}
	}
	set := func(*v1alpha1.KeptSelfApproval) *v1alpha1.KeptSelfApproval { return &v1alpha1.KeptSelfApproval{} }
	must(t, w.store.KeepSelfApproval(t.Context(), w.key, set))
	if err := apiserver.Kube.Get(t.Context(), w.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) {
		t.Fatalf("a State was created: %v", err)
	}
	w.lock(w.attempt(), "a")
	must(t, w.store.KeepSelfApproval(t.Context(), w.key, removed))
	if kept := w.status().SelfApproval; kept != nil {
		t.Errorf("%+v", kept)
	}
	must(t, w.store.KeepSelfApproval(t.Context(), w.key, set))
	must(t, w.store.KeepSelfApproval(t.Context(), w.key, removed))
	if kept := w.status().SelfApproval; kept == nil || kept.RemovedBy != "alice" || w.status().Lock == nil {
		t.Errorf("%+v", w.status())
	}
}
