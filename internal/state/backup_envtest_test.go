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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/storage"
	"cairn.dev/cairn/test/apiserver"
)

// stack creates the State's Stack, or creates it again.
func (env *testEnv) stack() {
	env.Helper()
	s := &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: env.key.Name},
		Spec: v1alpha1.StackSpec{Source: v1alpha1.Source{Inline: map[string]string{"main.tf": ""}},
			Suspend: true},
	}
	must(env.T, client.IgnoreNotFound(apiserver.Kube.Delete(env.Context(), s)))
	s.ResourceVersion, s.UID = "", ""
	must(env.T, apiserver.Kube.Create(env.Context(), s))
	env.run.OwnerReferences[0].UID = s.UID
	must(env.T, apiserver.Kube.Update(env.Context(), env.run))
}

// restoreStatus sets an earlier status of the State, as when etcd is restored. Without one the State and its Secrets
// are deleted.
func (env *testEnv) restoreStatus(to *v1alpha1.StateStatus) {
	env.Helper()
	st := &v1alpha1.State{}
	must(env.T, apiserver.Kube.Get(env.Context(), env.key, st))
	if to != nil {
		st.Status = *to
		must(env.T, apiserver.Kube.Update(env.Context(), st))
		return
	}
	st.Finalizers = nil
	must(env.T, apiserver.Kube.Update(env.Context(), st))
	must(env.T, apiserver.Kube.Delete(env.Context(), st))
	must(env.T, apiserver.Kube.DeleteAllOf(env.Context(), &corev1.Secret{}, client.InNamespace(env.namespace),
		client.HasLabels{storage.Label}))
}

// applied writes states of an apply up to a serial.
func applied(t *testing.T, env *testEnv, serials int) decision.Holder {
	t.Helper()
	me := env.attempt()
	env.lock(me, "a")
	for serial := 1; serial <= serials; serial++ {
		must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(serial, "L", "", serial)))
	}
	must(t, env.store.Unlock(t.Context(), env.key, me, "a"))
	return me
}

func TestStateIsRestoredFromTheBackup(t *testing.T) {
	for _, home := range []v1alpha1.StateStorage{v1alpha1.StateStorageSecret, v1alpha1.StateStorageBucket} {
		t.Run(string(home), func(t *testing.T) {
			env := newTestEnv(t, state.Options{Storage: home})
			env.stack()
			me := env.attempt()
			env.lock(me, "a")
			must(t, env.store.KeepInputs(t.Context(), env.key, "sha256:1", []byte("{}")))
			must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "", 1)))
			first := env.status()
			must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(2, "L", "", 2)))
			must(t, env.store.Unlock(t.Context(), env.key, me, "a"))
			inputs := env.status().InputsDigest

			first.Lock = nil
			env.restoreStatus(&first)
			must(t, env.store.Promote(t.Context(), env.key))
			env.reads(stateFile(2, "L", "", 2))

			env.restoreStatus(nil)
			must(t, env.store.Promote(t.Context(), env.key))
			env.reads(stateFile(2, "L", "", 2))
			if now := env.status(); now.Serial != 2 || now.Resources != 2 || now.InputsDigest != inputs ||
				now.Lock != nil {
				t.Errorf("%+v", now)
			}
		})
	}
}

// TestRestoredStateHasItsStack checks that the Stack which applied a State applies it, and destroys it, also when the
// State comes from its backup. A state that a user pushed has none there either.
func TestRestoredStateHasItsStack(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	env.stack()
	must(t, func() error {
		_, err := env.store.Push(t.Context(), env.key, "alice", stateFile(1, "L", "", 1), false, 0)
		return err
	}())
	restored := func(want types.UID) {
		t.Helper()
		env.restoreStatus(nil)
		must(t, env.store.Promote(t.Context(), env.key))
		if now := env.status(); now.Version != 1 || now.StackUID != want {
			t.Errorf("version %d, applied by %q, want %q", now.Version, now.StackUID, want)
		}
	}
	restored("")
	me := env.attempt()
	env.lock(me, "a")
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(2, "L", "", 2)))
	must(t, env.store.Unlock(t.Context(), env.key, me, "a"))
	restored(env.run.OwnerReferences[0].UID)
}

func TestBackupIsWrittenBeforeTheJournalEnds(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	away := &noBackups{Bucket: env.bucket, away: true}
	env.store = state.New(apiserver.Kube, apiserver.Kube, away, state.Options{})
	me := applied(t, env, 2)
	must(t, env.store.AppendJournal(t.Context(), env.key, env.run, me, 0,
		[]byte(`{"entries":[{"address":"terraform_data.a","action":"create"}]}`)))
	if err := env.store.EndJournal(t.Context(), env.key, env.run, me); err == nil {
		t.Fatal("the journal ended without a backup of its state")
	}
	if journal, err := env.store.Journal(t.Context(), env.key); err != nil || len(journal.Entries) != 1 {
		t.Fatalf("%+v, %v", journal, err)
	}
	away.away = false
	must(t, env.store.EndJournal(t.Context(), env.key, env.run, me))
	env.restoreStatus(nil)
	must(t, env.store.Promote(t.Context(), env.key))
	env.reads(stateFile(2, "L", "", 2))
}

func TestPlanWritesAMissingBackup(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	applied(t, env, 1)
	must(t, env.bucket.Delete(t.Context(), "states/"+env.namespace+"/net/backup"))
	must(t, env.store.Promote(t.Context(), env.key))
	env.restoreStatus(nil)
	must(t, env.store.Promote(t.Context(), env.key))
	env.reads(stateFile(1, "L", "", 1))
}

func TestEndOfAJournalKeepsANewerBackup(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	me := env.attempt()
	env.lock(me, "a")
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "", 1)))
	before := env.status()
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(2, "L", "", 2)))
	env.restoreStatus(&before)
	must(t, env.store.EndJournal(t.Context(), env.key, env.run, me))
	must(t, env.store.Unlock(t.Context(), env.key, me, "a"))
	must(t, env.store.Promote(t.Context(), env.key))
	env.reads(stateFile(2, "L", "", 2))
}

func TestBackupOfAnotherStackNeedsAUser(t *testing.T) {
	for name, forget := range map[string]bool{"taken": false, "forgotten": true} {
		t.Run(name, func(t *testing.T) {
			env := newTestEnv(t, state.Options{})
			env.stack()
			env.rest(applied(t, env, 1), "")
			env.restoreStatus(nil)
			env.stack()
			wantRejected(t, env.store.Promote(t.Context(), env.key), decision.Stale)
			_, err := env.store.Restore(t.Context(), env.key, "root", forget)
			must(t, err)
			must(t, env.store.Promote(t.Context(), env.key))
			if forget {
				if _, err := env.store.Read(t.Context(), env.key); !errors.Is(err, state.ErrNone) {
					t.Errorf("the lost state exists: %v", err)
				}
				return
			}
			env.reads(stateFile(1, "L", "", 1))
			if last := env.status().Versions[0]; last.By != "root" {
				t.Errorf("%+v", last)
			}
		})
	}
}

func TestPushDoesNotReplaceABackup(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	env.stack()
	me := env.attempt()
	env.lock(me, "a")
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "", 1)))
	before := env.status()
	before.Lock = nil
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(3, "L", "", 3)))
	must(t, env.store.Unlock(t.Context(), env.key, me, "a"))
	env.rest(me, "")
	env.restoreStatus(&before)
	_, err := env.store.Push(t.Context(), env.key, "ann", stateFile(2, "L", "mine", 1), false, 0)
	wantRejected(t, err, decision.Stale)
	env.reads(stateFile(3, "L", "", 3))
	env.restoreStatus(&before)
	_, err = env.store.Rollback(t.Context(), env.key, "ann", 1, 1)
	wantRejected(t, err, decision.Stale)
	env.reads(stateFile(3, "L", "", 3))

	env.restoreStatus(&before)
	_, err = env.store.Push(t.Context(), env.key, "ann", stateFile(2, "L", "mine", 1), true, 0)
	must(t, err)
	must(t, env.store.Promote(t.Context(), env.key))
	env.reads(stateFile(2, "L", "mine", 1))
}

func TestBackupIsDeletedWithItsState(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	applied(t, env, 1)
	must(t, env.store.Purge(t.Context(), env.key))
	if keys, err := env.bucket.List(t.Context(), "states"); err != nil || len(keys) != 0 {
		t.Errorf("%v, %v", keys, err)
	}
}

// TestDeletedNamespaceLeavesTheBackupOfAState checks what follows spec.deletionPolicy Orphan in a namespace that is
// being deleted: the State and its Secrets go with the namespace, and the bucket keeps the last copy.
func TestDeletedNamespaceLeavesTheBackupOfAState(t *testing.T) {
	for name, test := range map[string]struct {
		resources int
		backup    bool
		kept      bool
	}{
		"with its backup":         {2, true, true},
		"without a backup yet":    {2, false, true},
		"a state without content": {0, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			env := newTestEnv(t, state.Options{})
			env.stack()
			me := env.attempt()
			env.lock(me, "a")
			data := stateFile(1, "L", "", test.resources)
			if test.resources == 0 {
				data = []byte(`{"version":4,"serial":1,"lineage":"L","outputs":{},"resources":[]}`)
			}
			must(t, env.store.Write(t.Context(), env.key, me, "a", data))
			must(t, env.store.Unlock(t.Context(), env.key, me, "a"))
			env.rest(me, "")
			backup := "states/" + env.namespace + "/net/backup"
			if !test.backup {
				must(t, env.bucket.Delete(t.Context(), backup))
			}
			must(t, apiserver.Kube.Delete(t.Context(),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: env.namespace}}))
			must(t, apiserver.Kube.Delete(t.Context(),
				&v1alpha1.State{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: "net"}}))
			must(t, env.store.Orphan(t.Context(), env.key))
			must(t, apiserver.Kube.Delete(t.Context(),
				&v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: "net"}}))
			env.reconcile()
			if err := apiserver.Kube.Get(t.Context(), env.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) ||
				len(env.secrets()) != 0 {
				t.Errorf("%v, %d Secrets", err, len(env.secrets()))
			}
			if kept, err := env.bucket.Exists(t.Context(), backup); err != nil || kept != test.kept {
				t.Errorf("the backup exists: %t, %v", kept, err)
			}
		})
	}
}

// TestInterruptedDeletionIsFinished checks that a Stack checks its resources again before it deletes its State, also if
// the deletion was started before and only the State remains.
func TestInterruptedDeletionIsFinished(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	applied(t, env, 1)
	me := env.attempt()
	env.lock(me, "b")
	must(t, env.store.Write(t.Context(), env.key, me, "b", stateFile(2, "L", "", 0)))
	must(t, env.store.Unlock(t.Context(), env.key, me, "b"))

	cut := errors.New("interrupted")
	dying := state.New(interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if _, ok := o.(*v1alpha1.State); ok && len(o.GetFinalizers()) == 0 {
				return cut
			}
			return c.Update(ctx, o, opts...)
		},
	}), apiserver.Kube, env.bucket, state.Options{})
	if err := dying.Delete(t.Context(), env.key); !errors.Is(err, cut) {
		t.Fatal(err)
	}
	if n := len(env.secrets()); n != 0 {
		t.Fatalf("%d Secrets: it was interrupted too early", n)
	}
	must(t, env.store.Promote(t.Context(), env.key))
	if unsaved, err := env.store.Unsaved(t.Context(), env.key); err != nil || unsaved != nil {
		t.Errorf("%q, %v", unsaved, err)
	}
	must(t, env.store.Delete(t.Context(), env.key))
	if err := apiserver.Kube.Get(t.Context(), env.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) {
		t.Errorf("the State exists: %v", err)
	}
	if keys, err := env.bucket.List(t.Context(), "states"); err != nil || len(keys) != 0 {
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
