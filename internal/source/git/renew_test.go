package git

import (
	"os"
	"path/filepath"
	"testing"
)

// empty wants a mirror that says so whatever is asked.
func (f *fixture) empty(id string) {
	f.Helper()
	if !f.m.Empty() {
		f.Error("it is not empty")
	}
	for _, ref := range []string{"", "HEAD", "main", id} {
		_, err := f.m.Resolve(f.Context(), ref)
		fails(f.T, err, ErrEmpty, "not fetched yet")
		if Reason(err) != "NotFetched" {
			f.Error(Reason(err))
		}
	}
	_, err := f.m.Tree(f.Context(), id)
	fails(f.T, err, ErrEmpty, "not fetched yet")
	_, err = f.m.Blob(f.Context(), id, 10)
	fails(f.T, err, ErrEmpty, "not fetched yet")
}

// away wants a fetch that fails while the server is not well.
func (f *fixture) away() {
	f.Helper()
	f.http.Answer(503)
	fails(f.T, f.m.Fetch(f.Context(), f.remote(), FetchOptions{}), ErrUnreachable, "")
	f.http.Answer(0)
}

func TestMirrorIsEmptyBeforeTheFirstFetch(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	id := f.commit(map[string]string{"main.tf": "a"})
	f.empty(id)
	f.away()
	f.empty(id)
	f.must(f.m.Close())
	f.m = mirror(t, f.m.dir, Options{})
	f.empty(id)
	f.fetch()
	f.at("main", id)
	if f.m.Empty() {
		t.Error("it is empty")
	}
}

func TestMirrorOfARepositoryWithoutBranchesIsNotEmpty(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.fetch()
	for range 2 {
		if f.m.Empty() {
			t.Error("it is empty")
		}
		f.at("", "")
		f.at("main", "")
		f.must(f.m.Close())
		f.m = mirror(t, f.m.dir, Options{})
	}
}

func TestBrokenMirrorIsEmptyUntilTheNextFetch(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	id := f.commit(map[string]string{"main.tf": "a"})
	f.fetch()
	f.must(f.m.Close())
	f.must(os.Remove(filepath.Join(f.m.path(repository), "HEAD")))
	f.m = mirror(t, f.m.dir, Options{})
	if _, err := os.Stat(f.m.path(repository)); err == nil {
		t.Error("what is of no use takes space")
	}
	f.away()
	f.empty(id)
	f.fetch()
	f.at("main", id)
}

func TestIntactObjectsOfADamagedMirrorAreReadWhileTheRemoteIsUnavailable(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	id := f.commit(map[string]string{"main.tf": "a", "other.tf": "b"})
	f.fetch()
	tree, err := f.m.Tree(t.Context(), id)
	f.must(err)
	main, _ := tree.Entry("main.tf")
	other, _ := tree.Entry("other.tf")
	f.unpackAll()
	f.must(os.Remove(f.object(main.ID)))
	if _, err := f.m.Blob(t.Context(), main.ID, 10); err == nil {
		t.Fatal("it is still there")
	}
	for range 2 {
		f.away()
		f.at("main", id)
		if data, err := f.m.Blob(t.Context(), other.ID, 10); err != nil || string(data) != "b" {
			t.Errorf("got %q, %v", data, err)
		}
	}
	f.fetch() // of nothing new
	if f.m.suspect.Load() {
		t.Error("all of it is read again by each fetch")
	}
	until(t, func() bool { return len(processes(f.m.dir)) == 0 }) // they had the old one open
	if data, err := f.m.Blob(t.Context(), main.ID, 10); err != nil || string(data) != "a" {
		t.Errorf("got %q, %v", data, err)
	}
	if left, _ := os.ReadDir(f.m.path(sessions)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// object is the file of an object that is in no pack.
func (f *fixture) object(id string) string {
	return filepath.Join(f.m.path(repository), "objects", id[:2], id[2:])
}

func TestLostCommitIsNotReportedAsMissingRef(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	id := f.commit(map[string]string{"main.tf": "a"})
	blob, err := f.repo.Git("rev-parse", "main:main.tf")
	f.must(err)
	f.must(f.repo.Tag("file", blob, ""))
	f.fetch()
	f.at("file", "") // a tag of no commit
	if f.m.suspect.Load() {
		t.Error("the mirror is taken for damaged")
	}
	f.unpackAll()
	f.must(os.Remove(f.object(id)))
	for _, ref := range []string{"", "main", "refs/heads/main"} {
		_, err := f.m.Resolve(t.Context(), ref)
		fails(t, err, ErrEmpty, "has lost commit "+id)
	}
	f.fetch()
	f.at("main", id)
}
