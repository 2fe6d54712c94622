package git

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestProcessesThatNobodyNeedsEnd(t *testing.T) {
	w := newWorld(t, Options{})
	id := w.commit(map[string]string{"main.tf": "a"})
	w.fetch()
	w.must(w.m.Close())
	dir := w.m.dir
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, m: mirror(t, dir, Options{})}
		running := func(want int) {
			t.Helper()
			synctest.Wait()
			if got := processes(dir); len(got) != want {
				t.Errorf("%v run, not %d", got, want)
			}
		}
		w.at("main", id)
		running(1)
		time.Sleep(restTime - time.Second)
		running(1)
		w.at("main", id) // the minute begins anew
		time.Sleep(restTime - time.Second)
		running(1)
		time.Sleep(2 * time.Second)
		running(0)
		w.at("main", id)
		running(1)
		w.must(w.m.Close()) // while one rests
		running(0)
	})
}
