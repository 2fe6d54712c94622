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

	"cairn.dev/cairn/internal/repository"
)

func stackKey(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// What needs the network is done beside the reconcile, once for all that want it, and all of them are told of the end.
func TestPacksAreMadeBesideReconciles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		p := newPacks()
		go p.start(ctx)
		var made atomic.Int32
		hang := make(chan struct{})
		slow := func(context.Context) error { made.Add(1); <-hang; return nil }

		for _, name := range []string{"a", "b"} {
			var later *NotPacked
			if err := p.pack(stackKey("one", name), "key", repository.Ask{}, slow); !errors.As(err, &later) || later.Again != 0 {
				t.Fatalf("%v", err)
			}
		}
		// Another namespace does not wait for a remote that hangs, and a namespace's own places are bounded.
		for _, key := range []string{"other 1", "other 2", "other 3"} {
			p.pack(stackKey("one", "c"), key, repository.Ask{}, slow)
		}
		p.pack(stackKey("two", "d"), "key 2", repository.Ask{}, func(context.Context) error { made.Add(1); return nil })
		if e := <-p.ended; e.Object != stackKey("two", "d") {
			t.Fatalf("%v", e)
		}
		synctest.Wait()
		if n := made.Load(); n != 1+packsAtOnce {
			t.Errorf("%d were begun", n)
		}
		close(hang)
		told := map[string]int{}
		for range 5 {
			told[(<-p.ended).Object.Name]++
		}
		if told["a"] != 1 || told["b"] != 1 || told["c"] != 3 {
			t.Errorf("%v", told)
		}
		stop()
		synctest.Wait()
	})
}

// A commit whose archive cannot be made is asked for no more once there is another one.
func TestFailuresOfPacksAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		p := newPacks()
		go p.start(ctx)
		for i := range 5 {
			p.pack(stackKey("one", "a"), fmt.Sprint("commit ", i), repository.Ask{}, func(context.Context) error { return errors.New("no such submodule") })
			<-p.ended
			time.Sleep(packAgain)
		}
		if len(p.all) > 1 {
			t.Errorf("%d are remembered", len(p.all))
		}
		stop()
		synctest.Wait()
	})
}

// A failure is told to all that ask within a minute, and then tried again.
func TestAPackThatFailsIsTriedAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		p := newPacks()
		go p.start(ctx)
		tries := 0
		fail := func(context.Context) error { tries++; return errors.New("the remote is away") }
		ask := func() (later *NotPacked) {
			if err := p.pack(stackKey("one", "a"), "key", repository.Ask{}, fail); !errors.As(err, &later) {
				t.Fatalf("%v", err)
			}
			return later
		}
		ask()
		<-p.ended
		if later := ask(); later.why == nil || later.Again != packAgain || tries != 1 {
			t.Errorf("%+v after %d tries", later, tries)
		}
		time.Sleep(packAgain)
		ask()
		<-p.ended
		if tries != 2 {
			t.Errorf("%d tries", tries)
		}
		stop()
		synctest.Wait()
	})
}
