package git

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn.dev/cairn/test/gitserver"
)

// noise has that many bytes when it is compressed.
func noise(t *testing.T, size int) string {
	t.Helper()
	data := make([]byte, size)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(data)
}

// connections counts them from now on.
func (f *fixture) connections() (count func() int64) {
	var n atomic.Int64
	f.http.AnswerBy(func(r gitserver.Request) int {
		if strings.HasSuffix(r.Path, "/info/refs") {
			n.Add(1)
		}
		return 0
	})
	return n.Load
}

func TestTooLargeCommitDoesNotBlockBranchesAndOtherCommits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{MaxDisk: 1 << 20})
	f.commit(map[string]string{"main.tf": "a"})
	f.fetch()
	large, small := f.hidden(noise(t, 5<<18)), f.hidden("small")
	next := f.commit(map[string]string{"main.tf": "b"})

	err := f.m.Fetch(t.Context(), f.remote(), FetchOptions{Commits: []string{large, small}})
	fails(t, err, ErrNoRef, "commit "+large+": fetch "+f.remote().URL+": a quarter of the limit is for branches and "+
		"tags only, and the mirror needs more than 1 MiB")
	f.at("main", next)
	f.at(small, small)
	_, err = f.m.Resolve(t.Context(), large)
	fails(t, err, ErrMirrorTooLarge, "commit "+large+": a quarter of the limit is for branches and tags only, and "+
		"the mirror needs more than 1 MiB")
	if used := f.m.usage(""); used > 1<<19 {
		t.Errorf("%d bytes are left of it", used)
	}

	wanted := FetchOptions{Commits: []string{large}}
	connections := f.connections()
	fails(t, f.m.Fetch(t.Context(), f.remote(), wanted), ErrNoRef, "needs more than")
	if n := connections(); n != 1 {
		t.Errorf("%d connections: the commit was fetched again", n)
	}
	f.m.oversized.commits[large] = oversize{at: time.Now().Add(-oversizedFor)}
	f.at(large, "")
	fails(t, f.m.Fetch(t.Context(), f.remote(), wanted), ErrNoRef, "needs more than")
	if n := connections(); n != 3 {
		t.Errorf("%d connections: an hour later the commit was not fetched", n)
	}
}

// Many heads of pull requests from forks must not use the space that branches need.
func TestCommitsLeaveSpaceForBranches(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{MaxDisk: 1 << 20})
	f.commit(map[string]string{"main.tf": "a"})
	f.fetch()
	var heads []string
	for range 5 {
		heads = append(heads, f.hidden(noise(t, 200<<10)))
	}
	fails(t, f.m.Fetch(t.Context(), f.remote(), FetchOptions{Commits: heads}), ErrNoRef, "commit "+heads[3])
	f.at(heads[2], heads[2])
	next := f.commit(map[string]string{"image": noise(t, 200<<10)})
	f.fetch()
	f.at("main", next)
}
