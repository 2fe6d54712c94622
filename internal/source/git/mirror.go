// Package git keeps bare mirrors of repositories and reads trees, blobs and archives out of them. It runs the git
// binary, without any feature that could run programs of a repository or of the host, and does not depend on
// Kubernetes.
package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"cairn.dev/cairn/internal/base/egress"
	"cairn.dev/cairn/internal/base/weightedlru"
)

// What is in a Mirror's folder. There is a repository only once a fetch has filled it.
const (
	repository = "mirror.git"
	sessions   = "tmp"     // what is needed for one fetch: keys, certificates, an incomplete mirror
	modules    = "modules" // mirrors of submodules
	lfsObjects = "lfs"     // files of LFS, by their digest
)

// Options of a Mirror. The zero value is what a server wants.
type Options struct {
	// Timeout of one fetch, 10 minutes if zero. Every other call of git has it too.
	Timeout time.Duration
	// MaxFiles and MaxBytes of an archive, 10,000 and 100 MiB if zero: what the runner unpacks.
	MaxFiles int
	MaxBytes int64
	// MaxDisk is how many bytes of disk space the Mirror may use, with submodules and files of LFS; 2 GiB if zero.
	// While a damaged mirror is fetched again, the old one is beside it.
	MaxDisk int64
	// Space is shared with other Mirrors; without a limit if nil.
	Space *Space
	// within is the Mirror that this one is a submodule of; nil for none.
	within *Mirror
	// Trees has those that were listed last, for all Mirrors that share it; its own if nil.
	Trees *Trees
	// Egress are the addresses that it connects to; nil means the default.
	Egress *egress.Guard
	// Log gets a line when a damaged mirror was fetched again; nil for none.
	Log *slog.Logger
	// Submodules: archives have the files of submodules. Without it a submodule in an archive is an error.
	Submodules bool
	// LFS: archives have the content of files that are in LFS. Without it they have the pointers that are in git.
	LFS bool
}

var errClosed = errors.New("the mirror is closed")

// Mirror is a bare mirror of a repository, with all of its branches and tags, in a folder of its own. Its methods
// may be called at the same time; two Mirrors must not share a folder, nor may two processes.
type Mirror struct {
	dir string
	o   Options

	ctx    context.Context // over when the Mirror is closed
	cancel context.CancelFunc
	work   sync.WaitGroup // fetches that are under way

	// objects is the folder for new objects; empty for the mirror's own. source is the Mirror whose objects are read
	// besides.
	objects string
	source  *Mirror

	turn      chan struct{} // has one while a fetch runs
	suspect   atomic.Bool   // an object could not be read: the next Fetch checks the mirror
	oversized *oversized
	readers   *readers
	apps      *apps

	mu   sync.Mutex
	refs refs
	// origin is what was fetched last; archives need it for submodules and LFS.
	origin *Remote
	// redirect is where the last fetch that succeeded was from; nil before one.
	redirect *redirect

	besideMu sync.Mutex
	// beside has the mirrors of submodules by the name of their folder.
	beside map[string]*Mirror

	listing sync.Mutex // held while a tree is listed, so that callers that want the same one wait for the first
	number  int64      // of this Mirror among all that share its Trees
	roots   *lru.Cache[string, string]
}

// Open opens the Mirror in a folder. When there is none, or a broken one, the Mirror is Empty until a Fetch succeeds.
// What a process that was killed left behind is removed.
func Open(ctx context.Context, dir string, o Options) (*Mirror, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open mirror: %w", err)
	}
	o.Timeout = cmp.Or(o.Timeout, 10*time.Minute)
	o.MaxFiles, o.MaxBytes = cmp.Or(o.MaxFiles, 10_000), cmp.Or(o.MaxBytes, 100<<20)
	o.MaxDisk = cmp.Or(o.MaxDisk, defaultMaxDisk)
	if o.Space == nil {
		o.Space = NewSpace("this process", 0)
	}
	if o.Trees == nil {
		o.Trees = NewTrees(mostTrees)
	}
	m := &Mirror{
		dir: dir, o: o, number: o.Trees.opened.Add(1), roots: weightedlru.Sized[string, string](mostRoots),
		beside: map[string]*Mirror{},
		turn:   make(chan struct{}, 1), apps: &apps{turn: make(chan struct{}, 1)},
		oversized: &oversized{commits: map[string]oversize{}},
	}
	m.readers = &readers{m: m, turns: make(chan struct{}, mostReaders)}
	if err := m.prepare(ctx); err != nil {
		return nil, fmt.Errorf("open mirror: %w", err)
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	if m.root() == m {
		o.Space.set(m, m.usage(""))
	}
	return m, nil
}

// Close ends what is under way, and waits for it.
func (m *Mirror) Close() error {
	m.mu.Lock()
	m.cancel()
	m.mu.Unlock()
	m.work.Wait()
	m.readers.close()
	m.readers.wait()
	m.o.Space.forget(m)
	m.besideMu.Lock()
	defer m.besideMu.Unlock()
	var errs []error
	for _, beside := range m.beside {
		errs = append(errs, beside.Close())
	}
	return errors.Join(errs...)
}

// Options are those it was opened with, their defaults filled in.
func (m *Mirror) Options() Options { return m.o }

func (m *Mirror) path(name string) string { return filepath.Join(m.dir, name) }

// prepare creates or repairs the folder.
func (m *Mirror) prepare(ctx context.Context) error {
	if err := os.RemoveAll(m.path(sessions)); err != nil { // keys may be in there
		return err
	}
	for _, name := range []string{sessions, "home", modules, lfsObjects} {
		if err := os.MkdirAll(m.path(name), 0o700); err != nil {
			return err
		}
	}
	if _, err := os.Stat(m.path(repository)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := unlock(m.path(repository)); err != nil {
		return err
	}
	known, err := m.readRefs(ctx, repository)
	if _, broken := errors.AsType[*gitError](err); broken {
		return os.RemoveAll(m.path(repository))
	}
	m.publish(known)
	return err
}

// Refs names all branches and tags as they are now, and what they name: another value after a fetch means that it
// received new commits or tags.
func (m *Mirror) Refs() string {
	known, sum := m.known(), sha256.New()
	fmt.Fprintf(sum, "%s\n", known.head)
	for _, name := range slices.Sorted(maps.Keys(known.ids)) {
		fmt.Fprintf(sum, "%s %s\n", known.ids[name], name)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Empty reports whether no fetch has filled the mirror since it was created: nothing is known of the remote. What
// was fetched from a repository without branches and tags is not empty.
func (m *Mirror) Empty() bool { return m.known().ids == nil }

// IsCommitID reports whether a ref is the full ID of a commit, which needs no branch or tag.
func IsCommitID(ref string) bool { return isID(ref) }
