package cli

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
)

// untilGets is how often a Run is read by who waits for a moment of it, and when it was there, with an API server that
// watches so.
func untilGets(t *testing.T, enough int, watches func() (watch.Interface, error)) (gets int, took time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, _, _ := quiet()
	s.kube = interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			if gets++; gets > 100 {
				cancel()
			}
			return nil
		},
		Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
			return watches()
		},
	})
	began := time.Now()
	err := s.until(ctx, &v1alpha1.Run{}, &v1alpha1.RunList{}, client.ObjectKey{Namespace: "ns", Name: "net-1"}, s.progress(), func(client.Object, bool) (bool, error) {
		return gets == enough, nil
	})
	if err != nil {
		t.Errorf("read %d times: %v", gets, err)
	}
	return gets, time.Since(began)
}

func TestAWatchThatEndsAtOnceIsNotAskedForWithoutAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, took := untilGets(t, 5, func() (watch.Interface, error) {
			w := watch.NewFake()
			w.Stop()
			return w, nil
		})
		if took != 4*askAgain {
			t.Errorf("it took %s", took)
		}
	})
}

// TestWhoMayNotWatchLooks: roles for one thing bring get, and no watch.
func TestWhoMayNotWatchLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, took := untilGets(t, 5, func() (watch.Interface, error) {
			return nil, apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("runs").GroupResource(), "net-1", errors.New("bob cannot watch"))
		})
		if took != 4*lookEvery {
			t.Errorf("it took %s", took)
		}
	})
}
