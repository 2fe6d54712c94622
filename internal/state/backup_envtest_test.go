//go:build envtest

package state_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/bucket"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/storage"
	"cairn.dev/cairn/test/apiserver"
)

// stack creates the State's Stack, or creates it again.
func (w *testEnv) stack() {
	w.Helper()
	s := &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.key.Name},
		Spec:       v1alpha1.StackSpec{Source: v1alpha1.Source{Inline: map[string]string{"main.tf": ""}}, Suspend: true},
	}
	must(w.T, client.IgnoreNotFound(apiserver.Kube.Delete(w.Context(), s)))
	s.ResourceVersion, s.UID = "", ""
	must(w.T, apiserver.Kube.Create(w.Context(), s))
}

// restoreStatus sets an earlier status of the State, as when etcd is restored. Without one the State and its Secrets are
// deleted.
func (w *testEnv) restoreStatus(to *v1alpha1.StateStatus) {
	w.Helper()
	st := &v1alpha1.State{}
	must(w.T, apiserver.Kube.Get(w.Context(), w.key, st))
	if to != nil {
		st.Status = *to
		must(w.T, apiserver.Kube.Update(w.Context(), st))
		return
	}
	st.Finalizers = nil
	must(w.T, apiserver.Kube.Update(w.Context(), st))
	must(w.T, apiserver.Kube.Delete(w.Context(), st))
	must(w.T, apiserver.Kube.DeleteAllOf(w.Context(), &corev1.Secret{}, client.InNamespace(w.namespace), client.HasLabels{storage.Label}))
}

// applied writes states of an apply up to a serial.
func applied(t *testing.T, w *testEnv, serials int) decision.Holder {
	t.Helper()
	me := w.attempt()
	w.lock(me, "a")
	for serial := 1; serial <= serials; serial++ {
		must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(serial, "L", "", serial)))
	}
	must(t, w.store.Unlock(t.Context(), w.key, me, "a"))
	return me
}

func TestStateIsRestoredFromTheBackup(t *testing.T) {
	for _, home := range []v1alpha1.StateStorage{v1alpha1.StateStorageSecret, v1alpha1.StateStorageBucket} {
		t.Run(string(home), func(t *testing.T) {
			w := newTestEnv(t, state.Options{Storage: home})
			w.stack()
			me := w.attempt()
			w.lock(me, "a")
			must(t, w.store.KeepInputs(t.Context(), w.key, "sha256:1", []byte("{}")))
			must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(1, "L", "", 1)))
			first := w.status()
			must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(2, "L", "", 2)))
			must(t, w.store.Unlock(t.Context(), w.key, me, "a"))
			inputs := w.status().InputsDigest

			first.Lock = nil
			w.restoreStatus(&first)
			must(t, w.store.Promote(t.Context(), w.key))
			w.reads(stateFile(2, "L", "", 2))

			w.restoreStatus(nil)
			must(t, w.store.Promote(t.Context(), w.key))
			w.reads(stateFile(2, "L", "", 2))
			if now := w.status(); now.Serial != 2 || now.Resources != 2 || now.InputsDigest != inputs || now.Lock != nil {
				t.Errorf("%+v", now)
			}
		})
	}
}

func TestBackupIsWrittenBeforeTheJournalEnds(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	away := &noBackups{Bucket: w.bucket, away: true}
	w.store = state.New(apiserver.Kube, apiserver.Kube, away, state.Options{})
	me := applied(t, w, 2)
	must(t, w.store.AppendJournal(t.Context(), w.key, w.run, me, 0, []byte(`{"entries":[{"address":"terraform_data.a","action":"create"}]}`)))
	if err := w.store.EndJournal(t.Context(), w.key, w.run, me); err == nil {
		t.Fatal("the journal ended without a backup of its state")
	}
	if journal, err := w.store.Journal(t.Context(), w.key); err != nil || len(journal.Entries) != 1 {
		t.Fatalf("%+v, %v", journal, err)
	}
	away.away = false
	must(t, w.store.EndJournal(t.Context(), w.key, w.run, me))
	w.restoreStatus(nil)
	must(t, w.store.Promote(t.Context(), w.key))
	w.reads(stateFile(2, "L", "", 2))
}

func TestPlanWritesAMissingBackup(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	applied(t, w, 1)
	must(t, w.bucket.Delete(t.Context(), "states/"+w.namespace+"/net/backup"))
	must(t, w.store.Promote(t.Context(), w.key))
	w.restoreStatus(nil)
	must(t, w.store.Promote(t.Context(), w.key))
	w.reads(stateFile(1, "L", "", 1))
}

func TestEndOfAJournalKeepsANewerBackup(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	me := w.attempt()
	w.lock(me, "a")
	must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(1, "L", "", 1)))
	before := w.status()
	must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(2, "L", "", 2)))
	w.restoreStatus(&before)
	must(t, w.store.EndJournal(t.Context(), w.key, w.run, me))
	must(t, w.store.Unlock(t.Context(), w.key, me, "a"))
	must(t, w.store.Promote(t.Context(), w.key))
	w.reads(stateFile(2, "L", "", 2))
}

func TestBackupOfAnotherStackNeedsAUser(t *testing.T) {
	for name, forget := range map[string]bool{"taken": false, "forgotten": true} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t, state.Options{})
			w.stack()
			w.rest(applied(t, w, 1), "")
			w.restoreStatus(nil)
			w.stack()
			wantRejected(t, w.store.Promote(t.Context(), w.key), decision.Stale)
			_, err := w.store.Restore(t.Context(), w.key, "root", forget)
			must(t, err)
			must(t, w.store.Promote(t.Context(), w.key))
			if forget {
				if _, err := w.store.Read(t.Context(), w.key); !errors.Is(err, state.ErrNone) {
					t.Errorf("the lost state exists: %v", err)
				}
				return
			}
			w.reads(stateFile(1, "L", "", 1))
			if last := w.status().Versions[0]; last.By != "root" {
				t.Errorf("%+v", last)
			}
		})
	}
}

func TestPushDoesNotReplaceABackup(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	w.stack()
	me := w.attempt()
	w.lock(me, "a")
	must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(1, "L", "", 1)))
	before := w.status()
	before.Lock = nil
	must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(3, "L", "", 3)))
	must(t, w.store.Unlock(t.Context(), w.key, me, "a"))
	w.rest(me, "")
	w.restoreStatus(&before)
	_, err := w.store.Push(t.Context(), w.key, "ann", stateFile(2, "L", "mine", 1), false, 0)
	wantRejected(t, err, decision.Stale)
	w.reads(stateFile(3, "L", "", 3))
	w.restoreStatus(&before)
	_, err = w.store.Rollback(t.Context(), w.key, "ann", 1, 1)
	wantRejected(t, err, decision.Stale)
	w.reads(stateFile(3, "L", "", 3))

	w.restoreStatus(&before)
	_, err = w.store.Push(t.Context(), w.key, "ann", stateFile(2, "L", "mine", 1), true, 0)
	must(t, err)
	must(t, w.store.Promote(t.Context(), w.key))
	w.reads(stateFile(2, "L", "mine", 1))
}

func TestBackupIsDeletedWithItsState(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	applied(t, w, 1)
	must(t, w.store.Purge(t.Context(), w.key))
	if keys, err := w.bucket.List(t.Context(), "states"); err != nil || len(keys) != 0 {
		t.Errorf("%v, %v", keys, err)
	}
}

// TestInterruptedDeletionIsFinished checks that a Stack checks its resources again before it deletes its State, also if
// the deletion was started before and only the State remains.
func TestInterruptedDeletionIsFinished(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	applied(t, w, 1)
	me := w.attempt()
	w.lock(me, "b")
	must(t, w.store.Write(t.Context(), w.key, me, "b", stateFile(2, "L", "", 0)))
	must(t, w.store.Unlock(t.Context(), w.key, me, "b"))

	cut := errors.New("interrupted")
	dying := state.New(interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if _, ok := o.(*v1alpha1.State); ok && len(o.GetFinalizers()) == 0 {
				return cut
			}
			return c.Update(ctx, o, opts...)
		},
	}), apiserver.Kube, w.bucket, state.Options{})
	if err := dying.Delete(t.Context(), w.key); !errors.Is(err, cut) {
		t.Fatal(err)
	}
	if n := len(w.secrets()); n != 0 {
		t.Fatalf("%d Secrets: it was interrupted too early", n)
	}
	must(t, w.store.Promote(t.Context(), w.key))
	if unsaved, err := w.store.Unsaved(t.Context(), w.key); err != nil || unsaved != nil {
		t.Errorf("%q, %v", unsaved, err)
	}
	must(t, w.store.Delete(t.Context(), w.key))
	if err := apiserver.Kube.Get(t.Context(), w.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) {
		t.Errorf("the State exists: %v", err)
	}
	if keys, err := w.bucket.List(t.Context(), "states"); err != nil || len(keys) != 0 {
		t.Errorf("%v, %v", keys, err)
	}
}

// noBackups is a bucket that rejects writes of backups.
type noBackups struct {
	*bucket.Bucket
	away bool
}

func (b *noBackups) Put(ctx context.Context, key string, data []byte) error {
	if b.away && strings.HasSuffix(key, "/backup") {
		return errors.New("away")
	}
	return b.Bucket.Put(ctx, key, data)
}
