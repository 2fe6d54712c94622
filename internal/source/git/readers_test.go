package git

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestIdleProcessesEnd(t *testing.T) {
	f := newFixture(t, Options{})
	id := f.commit(map[string]string{"main.tf": "a"})
	f.fetch()
	f.must(f.m.Close())
	dir := f.m.dir
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{T: t, m: mirror(t, dir, Options{})}
		running := func(want int) {
			t.Helper()
			synctest.Wait()
			if got := processes(dir); len(got) != want {
				t.Errorf("%v run, not %d", got, want)
			}
		}
		f.at("main", id)
		running(1)
		time.Sleep(restTime - time.Second)
		running(1)
		f.at("main", id) // the minute starts again
		time.Sleep(restTime - time.Second)
		running(1)
		time.Sleep(2 * time.Second)
		running(0)
		f.at("main", id)
		running(1)
		f.must(f.m.Close()) // while one rests
		running(0)
	})
}
