package state

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/bucket/buckettest"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/storage"
)

var start = metav1.NewTime(time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC))

// oneState is an API server with at most one State and one Stack.
type oneState struct {
	state *v1alpha1.State
	stack bool
	// listed is called when the Secrets of the State are listed.
	listed func()
}

func (o *oneState) client() client.Client {
	gone := apierrors.NewNotFound(schema.GroupResource{}, "net")
	return interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, into client.Object,
			_ ...client.GetOption) error {
			switch into := into.(type) {
			case *v1alpha1.State:
				if o.state == nil {
					return gone
				}
				o.state.DeepCopyInto(into)
			default:
				if !o.stack {
					return gone
				}
			}
			return nil
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			if o.listed != nil {
				o.listed()
			}
			return nil
		},
		Update: func(_ context.Context, _ client.WithWatch, from client.Object, _ ...client.UpdateOption) error {
			o.state = from.(*v1alpha1.State).DeepCopy()
			if o.state.DeletionTimestamp != nil && len(o.state.Finalizers) == 0 {
				o.state = nil
			}
			return nil
		},
		Patch: func(_ context.Context, _ client.WithWatch, from client.Object, _ client.Patch,
			_ ...client.PatchOption) error {
			o.state = from.(*v1alpha1.State).DeepCopy()
			return nil
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			o.state = nil
			return nil
		},
	})
}

func (o *oneState) store(t *testing.T) (*Store, *bucket.Bucket) {
	t.Helper()
	b := buckettest.New(t)
	return New(o.client(), o.client(), b, Options{Now: func() time.Time { return start.Time }}), b
}

var netKey = types.NamespacedName{Namespace: "web", Name: "net"}

func stateWith(uid types.UID, status v1alpha1.StateStatus) *v1alpha1.State {
	return &v1alpha1.State{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "web", Name: "net", UID: uid, ResourceVersion: "1", Finalizers: []string{v1alpha1.Finalizer},
		},
		Status: status,
	}
}

// eventful is a bucket that calls a function when a folder is deleted.
type eventful struct {
	storage.Bucket
	folder string
	happen func() error
}

func (e *eventful) DeletePrefix(ctx context.Context, dir string) error {
	if dir == e.folder {
		if err := e.happen(); err != nil {
			return err
		}
	}
	return e.Bucket.DeletePrefix(ctx, dir)
}

// TestStartedDeletionContinues checks that a started deletion of a State cannot be stopped, since some of its data is
// deleted: the lock stays with the deletion.
func TestStartedDeletionContinues(t *testing.T) {
	for name, goOn := range map[string]func(*Store) error{
		"a new Stack of that name": func(s *Store) error {
			_, err := (&Reconciler{Client: s.fence.Live, States: s}).Reconcile(t.Context(),
				ctrl.Request{NamespacedName: netKey})
			return err
		},
		"a Stack whose policy is Orphan by now": func(s *Store) error { return s.Orphan(t.Context(), netKey) },
	} {
		t.Run(name, func(t *testing.T) {
			st := stateWith("1", v1alpha1.StateStatus{Version: 3, Resources: 2})
			st.DeletionTimestamp = &start
			kube := &oneState{state: st}
			s, b := kube.store(t)
			flaky := &eventful{b, rescueFolder(netKey), func() error { return errors.New("the bucket is unavailable") }}
			s.bucket = flaky
			if err := s.Purge(t.Context(), netKey); err == nil || kube.state == nil ||
				!decision.IsEnding(kube.state.Status) {
				t.Fatalf("%v, %+v", err, kube.state)
			}
			kube.stack, flaky.folder = true, ""
			if err := goOn(s); err != nil || kube.state != nil {
				t.Errorf("%v, %+v", err, kube.state)
			}
		})
	}
}

func TestStateIsKeptWithItsStack(t *testing.T) {
	st := stateWith("1", v1alpha1.StateStatus{Version: 3})
	st.DeletionTimestamp = &start
	kube := &oneState{state: st, stack: true}
	s, _ := kube.store(t)
	result, err := (&Reconciler{Client: s.fence.Live, States: s}).Reconcile(t.Context(),
		ctrl.Request{NamespacedName: netKey})
	if err != nil || result.RequeueAfter == 0 || kube.state.Status.Lock != nil {
		t.Errorf("%v, %v, %+v", result, err, kube.state)
	}
}

// TestInterruptedDeletionKeepsTheNextState checks an operator that continues a deletion after another one has finished
// it, when the name has another State.
func TestInterruptedDeletionKeepsTheNextState(t *testing.T) {
	for name, frozen := range map[string]func(*oneState, *Store, func()){
		"before it lists the Secrets": func(kube *oneState, _ *Store, next func()) { kube.listed = next },
		"at a folder of the bucket": func(_ *oneState, s *Store, next func()) {
			s.bucket = &eventful{s.bucket, journalFolder(netKey), func() error { next(); return nil }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			kube := &oneState{state: stateWith("1", v1alpha1.StateStatus{Version: 3})}
			s, b := kube.store(t)
			frozen(kube, s, func() {
				kube.state = stateWith("2", v1alpha1.StateStatus{Version: 1, Resources: 2})
				if err := b.Put(t.Context(), backupKey(netKey), nil); err != nil {
					t.Error(err)
				}
			})
			if err := s.Delete(t.Context(), netKey); err != nil {
				t.Error(err)
			}
			kept, err := b.Exists(t.Context(), backupKey(netKey))
			if kube.state == nil || kube.state.UID != "2" || len(kube.state.Finalizers) == 0 || !kept || err != nil {
				t.Errorf("%+v, backup %v, %v", kube.state, kept, err)
			}
		})
	}
}
