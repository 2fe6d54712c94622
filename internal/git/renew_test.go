package git

import (
	"os"
	"path/filepath"
	"testing"
)

// empty wants a mirror that says so whatever is asked.
func (w *world) empty(id string) {
	w.Helper()
	if !w.m.Empty() {
		w.Error("it is not empty")
	}
	for _, ref := range []string{"", "HEAD", "main", id} {
		_, err := w.m.Resolve(w.Context(), ref)
		fails(w.T, err, ErrEmpty, "not fetched yet")
		if Reason(err) != "NotFetched" {
			w.Error(Reason(err))
		}
	}
	_, err := w.m.Tree(w.Context(), id)
	fails(w.T, err, ErrEmpty, "not fetched yet")
	_, err = w.m.Blob(w.Context(), id, 10)
	fails(w.T, err, ErrEmpty, "not fetched yet")
}

// away wants a fetch that fails while the server is not well.
func (w *world) away() {
	w.Helper()
	w.http.Answer(503)
	fails(w.T, w.m.Fetch(w.Context(), w.remote(), FetchOptions{}), ErrUnreachable, "")
	w.http.Answer(0)
}

func TestAMirrorThatNoFetchHasFilledIsEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	id := w.commit(map[string]string{"main.tf": "a"})
	w.empty(id)
	w.away()
	w.empty(id)
	w.must(w.m.Close())
	w.m = mirror(t, w.m.dir, Options{})
	w.empty(id)
	w.fetch()
	w.at("main", id)
	if w.m.Empty() {
		t.Error("it is empty")
	}
}

func TestAMirrorOfARepositoryWithoutBranchesIsNotEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.fetch()
	for range 2 {
		if w.m.Empty() {
			t.Error("it is empty")
		}
		w.at("", "")
		w.at("main", "")
		w.must(w.m.Close())
		w.m = mirror(t, w.m.dir, Options{})
	}
}

func TestABrokenMirrorIsEmptyUntilItIsFetchedAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	id := w.commit(map[string]string{"main.tf": "a"})
	w.fetch()
	w.must(w.m.Close())
	w.must(os.Remove(filepath.Join(w.m.path(repository), "HEAD")))
	w.m = mirror(t, w.m.dir, Options{})
	if _, err := os.Stat(w.m.path(repository)); err == nil {
		t.Error("what is of no use takes space")
	}
	w.away()
	w.empty(id)
	w.fetch()
	w.at("main", id)
}

func TestWhatIsWholeOfADamagedMirrorIsReadWhileTheRemoteIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	id := w.commit(map[string]string{"main.tf": "a", "other.tf": "b"})
	w.fetch()
	tree, err := w.m.Tree(t.Context(), id)
	w.must(err)
	main, _ := tree.Entry("main.tf")
	other, _ := tree.Entry("other.tf")
	w.unpackAll()
	w.must(os.Remove(w.object(main.ID)))
	if _, err := w.m.Blob(t.Context(), main.ID, 10); err == nil {
		t.Fatal("it is still there")
	}
	for range 2 {
		w.away()
		w.at("main", id)
		if data, err := w.m.Blob(t.Context(), other.ID, 10); err != nil || string(data) != "b" {
			t.Errorf("got %q, %v", data, err)
		}
	}
	w.fetch() // of nothing new
	if w.m.suspect.Load() {
		t.Error("all of it is read again by each fetch")
	}
	until(t, func() bool { return len(processes(w.m.dir)) == 0 }) // they had the old one open
	if data, err := w.m.Blob(t.Context(), main.ID, 10); err != nil || string(data) != "a" {
		t.Errorf("got %q, %v", data, err)
	}
	if left, _ := os.ReadDir(w.m.path(sessions)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// object is the file of an object that is in no pack.
func (w *world) object(id string) string {
	return filepath.Join(w.m.path(repository), "objects", id[:2], id[2:])
}

func TestACommitThatTheMirrorLostIsNoMissingRef(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	id := w.commit(map[string]string{"main.tf": "a"})
	blob, err := w.repo.Git("rev-parse", "main:main.tf")
	w.must(err)
	w.must(w.repo.Tag("file", blob, ""))
	w.fetch()
	w.at("file", "") // a tag of no commit
	if w.m.suspect.Load() {
		t.Error("the mirror is taken for damaged")
	}
	w.unpackAll()
	w.must(os.Remove(w.object(id)))
	for _, ref := range []string{"", "main", "refs/heads/main"} {
		_, err := w.m.Resolve(t.Context(), ref)
		fails(t, err, ErrEmpty, "has lost commit "+id)
	}
	w.fetch()
	w.at("main", id)
}
