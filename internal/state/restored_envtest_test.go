//go:build envtest

package state_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket/buckettest"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/storage"
	"cairn.dev/cairn/test/apiserver"
)

// recreate deletes the Stack, the State and its Secrets, and creates them again as a tool does that restores objects:
// without status, UIDs and owners. A tool may not restore the State.
func (env *testEnv) recreate(withState bool) {
	env.Helper()
	secrets := env.secrets()
	st := &v1alpha1.State{}
	must(env.T, apiserver.Kube.Get(env.Context(), env.key, st))
	for i := range secrets {
		secrets[i].Finalizers = nil
		must(env.T, apiserver.Kube.Update(env.Context(), &secrets[i]))
	}
	env.restoreStatus(nil)
	for _, s := range secrets {
		must(env.T, apiserver.Kube.Create(env.Context(), &corev1.Secret{
			ObjectMeta: restoredMeta(&s, v1alpha1.Finalizer), Type: s.Type, Immutable: s.Immutable, Data: s.Data,
		}))
	}
	if withState {
		must(env.T, apiserver.Kube.Create(env.Context(),
			&v1alpha1.State{ObjectMeta: restoredMeta(st, v1alpha1.Finalizer), Spec: st.Spec}))
	}
	env.stack()
}

func restoredMeta(o client.Object, finalizer string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: o.GetNamespace(), Name: o.GetName(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(),
		Finalizers: []string{finalizer},
	}
}

// TestSecretsOfAStateThatNoStateNamesStopThePlan checks that objects which were restored are not taken for those of a
// Stack without a state: the next plan would create all resources again.
func TestSecretsOfAStateThatNoStateNamesStopThePlan(t *testing.T) {
	const lostBucket, keptBucket = true, false
	for name, test := range map[string]struct{ withState, lost, forget bool }{
		"by a backup tool, and the bucket is lost": {true, lostBucket, false},
		"by a backup tool":                         {true, keptBucket, false},
		"from git, with the Secrets":               {false, lostBucket, false},
		"by a backup tool, and forgotten":          {true, lostBucket, true},
		"from git, and forgotten":                  {false, keptBucket, true},
	} {
		t.Run(name, func(t *testing.T) {
			env := newTestEnv(t, state.Options{})
			env.stack()
			env.rest(applied(t, env, 3), "")
			env.recreate(test.withState)
			if test.lost {
				env.bucket = buckettest.New(t)
				env.store = state.New(apiserver.Kube, apiserver.Kube, env.bucket, state.Options{})
			}
			err := env.store.Promote(t.Context(), env.key)
			wantRejected(t, err, decision.Stale)
			if !strings.Contains(err.Error(), "cairn state restore net") {
				t.Error(err)
			}
			_, err = env.store.Push(t.Context(), env.key, "ann", stateFile(9, "M", "", 1), false, 0)
			wantRejected(t, err, decision.Stale)

			_, err = env.store.Restore(t.Context(), env.key, "root", test.forget)
			must(t, err)
			must(t, env.store.Promote(t.Context(), env.key))
			if test.forget {
				if _, err := env.store.Read(t.Context(), env.key); !errors.Is(err, state.ErrNone) {
					t.Errorf("the lost state exists: %v", err)
				}
				if test.lost && len(env.secrets()) != 0 {
					t.Errorf("%d Secrets remain", len(env.secrets()))
				}
				return
			}
			env.reads(stateFile(3, "L", "", 3))
			now := env.status()
			if last := now.Versions[0]; last.By != "root" || now.StackUID != "" ||
				len(env.secrets()) != 3 && test.lost {
				t.Errorf("%+v, %d Secrets", now, len(env.secrets()))
			}
		})
	}
}

// TestLostVersionStopsThePlan checks a State in the bucket that was restored without its status and without the bucket.
func TestLostVersionStopsThePlan(t *testing.T) {
	env := newTestEnv(t, state.Options{Storage: v1alpha1.StateStorageBucket})
	env.stack()
	env.rest(applied(t, env, 2), "")
	env.recreate(true)
	must(t, env.bucket.DeletePrefix(t.Context(), "states"))
	err := env.store.Promote(t.Context(), env.key)
	wantRejected(t, err, decision.Stale)
	if !strings.Contains(err.Error(), "was at version 2") {
		t.Error(err)
	}
	must(t, env.store.KeepSelfApproval(t.Context(), env.key,
		func(*v1alpha1.KeptSelfApproval) *v1alpha1.KeptSelfApproval {
			return &v1alpha1.KeptSelfApproval{RemovedBy: "alice"}
		}))
	wantRejected(t, env.store.Promote(t.Context(), env.key), decision.Stale)
	_, err = env.store.Restore(t.Context(), env.key, "root", false)
	wantRejected(t, err, decision.Missing)
	_, err = env.store.Restore(t.Context(), env.key, "root", true)
	must(t, err)
	must(t, env.store.Promote(t.Context(), env.key))
}

// TestRestoredStateOfABackendFollowsItAgain checks a Stack whose engine's own backend has the state: what Cairn copied
// of it is forgotten, and the next plan reads the backend, which may have changed since.
func TestRestoredStateOfABackendFollowsItAgain(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	env.stack()
	me := env.attemptTo(v1alpha1.AttemptPlan)
	must(t, env.follow(me, stateFile(19, "L", "before", 2)))
	env.rest(me, "")
	env.recreate(true)
	wantRejected(t, env.store.Promote(t.Context(), env.key), decision.Stale)

	_, err := env.store.Restore(t.Context(), env.key, "root", true)
	must(t, err)
	must(t, env.store.Promote(t.Context(), env.key))
	must(t, env.follow(env.attemptTo(v1alpha1.AttemptPlan), stateFile(20, "L", "since", 1)))
	env.reads(stateFile(20, "L", "since", 1))
	if now := env.status(); now.Backend == nil || now.Backend.Serial != 20 || !now.TakenOverBy(types.UID("another")) {
		t.Errorf("%+v", now)
	}
}

// TestDamagedSecretsAreNotRestored checks that what the Secrets have is the version that their names have.
func TestDamagedSecretsAreNotRestored(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	env.stack()
	env.rest(applied(t, env, 1), "")
	env.recreate(true)
	must(t, env.bucket.DeletePrefix(t.Context(), "states"))
	broken := env.secrets()[0]
	broken.Finalizers = nil
	must(t, apiserver.Kube.Update(t.Context(), &broken))
	must(t, apiserver.Kube.Delete(t.Context(), &broken))
	other, err := storage.Pack(stateFile(9, "M", "", 1))
	must(t, err)
	must(t, apiserver.Kube.Create(t.Context(), &corev1.Secret{
		ObjectMeta: restoredMeta(&broken, v1alpha1.Finalizer), Type: broken.Type,
		Data: map[string][]byte{"chunk": other},
	}))
	wantRejected(t, env.store.Promote(t.Context(), env.key), decision.Stale)
	_, err = env.store.Restore(t.Context(), env.key, "root", false)
	wantRejected(t, err, decision.Damaged)
}

// TestSecretsOfAnApplyThatBeganStopNoPlan checks that what a server left when it was killed between the write of the
// first version and that of the State is no state to restore: the apply and its journal have it.
func TestSecretsOfAnApplyThatBeganStopNoPlan(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	env.stack()
	me := applied(t, env, 1)
	env.rest(me, "")
	before := env.status()
	env.restoreStatus(&v1alpha1.StateStatus{InputsDigest: before.InputsDigest, StackUID: before.StackUID})
	must(t, env.bucket.DeletePrefix(t.Context(), "states"))
	must(t, env.store.Promote(t.Context(), env.key))
}
