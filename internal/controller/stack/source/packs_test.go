package source

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/controller/repository"
)

func stackKey(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// TestPacksRunInTheBackground checks that archives which need the network are created once for all Stacks, which are
// notified of the end.
func TestPacksRunInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		p := newPacks()
		go p.start(ctx)
		var started atomic.Int32
		hang := make(chan struct{})
		slow := func(context.Context) error { started.Add(1); <-hang; return nil }

		for _, name := range []string{"a", "b"} {
			var later *NotPacked
			if err := p.pack(stackKey("one", name), "key", repository.Ask{}, slow); !errors.As(err, &later) ||
				later.Again != 0 {
				t.Fatalf("%v", err)
			}
		}
		// Another namespace does not wait for a remote that hangs, and the packs of a namespace are limited.
		for _, key := range []string{"other 1", "other 2", "other 3"} {
			p.pack(stackKey("one", "c"), key, repository.Ask{}, slow)
		}
		p.pack(stackKey("two", "d"), "key 2", repository.Ask{}, func(context.Context) error {
			started.Add(1)
			return nil
		})
		if e := <-p.ended; e.Object != stackKey("two", "d") {
			t.Fatalf("%v", e)
		}
		synctest.Wait()
		if n := started.Load(); n != 1+packsAtOnce {
			t.Errorf("%d packs were started", n)
		}
		close(hang)
		ended := map[string]int{}
		for range 5 {
			ended[(<-p.ended).Object.Name]++
		}
		if ended["a"] != 1 || ended["b"] != 1 || ended["c"] != 3 {
			t.Errorf("%v", ended)
		}
		stop()
		synctest.Wait()
	})
}

// TestFailedPacksAreRemoved checks that the error of a commit is removed once there is another commit.
func TestFailedPacksAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		p := newPacks()
		go p.start(ctx)
		for i := range 5 {
			p.pack(stackKey("one", "a"), fmt.Sprint("commit ", i), repository.Ask{}, func(context.Context) error {
				return errors.New("no such submodule")
			})
			<-p.ended
			time.Sleep(packAgain)
		}
		if len(p.all) > 1 {
			t.Errorf("%d failures are kept", len(p.all))
		}
		stop()
		synctest.Wait()
	})
}

// TestFailedPackIsRetriedAfterAMinute checks that a failure is cached for a minute.
func TestFailedPackIsRetriedAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		p := newPacks()
		go p.start(ctx)
		attempts := 0
		fail := func(context.Context) error { attempts++; return errors.New("the remote is unavailable") }
		ask := func() (later *NotPacked) {
			if err := p.pack(stackKey("one", "a"), "key", repository.Ask{}, fail); !errors.As(err, &later) {
				t.Fatalf("%v", err)
			}
			return later
		}
		ask()
		<-p.ended
		if later := ask(); later.why == nil || later.Again != packAgain || attempts != 1 {
			t.Errorf("%+v after %d attempts", later, attempts)
		}
		time.Sleep(packAgain)
		ask()
		<-p.ended
		if attempts != 2 {
			t.Errorf("%d attempts", attempts)
		}
		stop()
		synctest.Wait()
	})
}
