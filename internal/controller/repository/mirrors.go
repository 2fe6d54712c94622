package repository

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/egress"
	"cairn.dev/cairn/internal/source/git"
)

// atOnce is how many Repositories are fetched at the same time, in all and of one namespace, so that remotes which
// answer slowly hold up those of their own namespace only.
const (
	atOnce     = 16
	atOnceEach = 4
)

// Limits of the disk space of mirrors, in bytes; 0 for the default of git.Options, and for no limit of a namespace.
type Limits struct{ Repository, Namespace int64 }

// Mirrors are the mirrors of all Repositories in a folder of this machine. What is in it can be fetched again.
type Mirrors struct {
	dir string
	// Metrics count the fetches; nil for none. It is set before the first one.
	Metrics *Metrics
	// Egress are the addresses that are connected to; nil for the default. It is set before the first fetch.
	Egress *egress.Guard
	// Log gets what no status has; nil for none. It is set before the first fetch.
	Log *slog.Logger
	// Limits of disk space. They are set before the first fetch.
	Limits Limits
	// opening and slots bound how many are opened and fetched at the same time. They are two, since remotes that do not
	// answer must not keep others from what is on the disk.
	opening, slots *semaphore.Weighted
	// trees that were listed last.
	trees *git.Trees
	// ended gets each Repository whose fetch ended, moved each whose mirror has new commits, exists now, or was
	// fetched for another spec or request.
	ended, moved chan Event
	// subscribers get what moved gets. They are added before the first fetch.
	subscribers []chan Event

	// owned is the lock of dir: open since the first use of the folder.
	owning sync.Mutex
	owned  *os.File

	mu  sync.Mutex
	all map[types.UID]*mirror
	// each has the slots of a namespace.
	each map[string]*semaphore.Weighted
	// spaces have the disk space of a namespace.
	spaces map[string]*git.Space
	// running is over when the fetches are to end.
	running context.Context
	stop    context.CancelFunc
	fetches sync.WaitGroup
}

// Event names a Repository that changed.
type Event = event.TypedGenericEvent[types.NamespacedName]

// mirror of one Repository.
type mirror struct {
	key types.NamespacedName
	// git is nil before the first fetch; only a fetch sets it. filled: it has what a fetch received, maybe one of
	// an earlier process. opened is what it was opened for.
	git    *git.Mirror
	filled bool
	opened opened
	last   *Fetch
	// fetched is when the last fetch that went well ended; before one has, when the first one began.
	fetched time.Time
	// cancel ends the fetch under way; nil when there is none. done is closed when the last one that began is over.
	cancel context.CancelFunc
	done   chan struct{}
	// commits are what refs name, as far as a caller asked since the last fetch.
	commits map[string]resolved
}

type resolved struct {
	commit git.Commit
	err    error
}

// NewMirrors keeps mirrors below dir, one folder each.
func NewMirrors(dir string) *Mirrors {
	running, stop := context.WithCancel(context.Background())
	return &Mirrors{
		running: running, stop: stop, trees: git.NewTrees(0),
		dir: dir, opening: semaphore.NewWeighted(atOnce), slots: semaphore.NewWeighted(atOnce),
		all: map[types.UID]*mirror{}, each: map[string]*semaphore.Weighted{}, spaces: map[string]*git.Space{},
		ended: make(chan Event, 1000), moved: make(chan Event, 1000),
	}
}

// Ended returns the Repositories whose fetch has ended.
func (m *Mirrors) Ended() <-chan Event { return m.ended }

// Moved returns the Repositories whose refs may name other commits now, or whose spec or request is another one.
func (m *Mirrors) Moved() <-chan Event { return m.moved }

// Subscribe returns a channel that receives the Repositories of Moved too. It is called before the first fetch.
func (m *Mirrors) Subscribe() <-chan Event {
	c := make(chan Event, 1000)
	m.subscribers = append(m.subscribers, c)
	return c
}

// Start owns the fetches: when ctx is done they are ended and waited for.
func (m *Mirrors) Start(ctx context.Context) error {
	<-ctx.Done()
	m.mu.Lock()
	m.stop()
	m.mu.Unlock()
	m.fetches.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, one := range m.all {
		if one.git != nil {
			errs = append(errs, one.git.Close())
		}
	}
	return errors.Join(append(errs, m.disown())...)
}

// Fetch begins to fetch a Repository, if no fetch of it is under way. It returns at once; Ended receives the end.
func (m *Mirrors) Fetch(r *v1alpha1.Repository, auth git.Auth, ask Ask, commits []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running.Err() != nil {
		return
	}
	one := m.one(r)
	if one.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(m.running)
	done := make(chan struct{})
	one.cancel, one.done = cancel, done
	if one.fetched.IsZero() {
		one.fetched = time.Now()
	}
	spec := *r.Spec.DeepCopy()
	m.fetches.Go(func() {
		defer close(done)
		defer cancel()
		m.fetch(ctx, r.UID, one, spec, auth, ask, commits)
	})
}

// one is the mirror of a Repository. The caller holds mu.
func (m *Mirrors) one(r *v1alpha1.Repository) *mirror {
	one := m.all[r.UID]
	if one == nil {
		one = &mirror{key: types.NamespacedName{Namespace: r.Namespace, Name: r.Name}}
		m.all[r.UID] = one
	}
	if m.each[r.Namespace] == nil {
		m.each[r.Namespace] = semaphore.NewWeighted(atOnceEach)
		m.spaces[r.Namespace] = git.NewSpace("namespace "+r.Namespace, m.Limits.Namespace)
	}
	return one
}

func (m *Mirrors) fetch(
	ctx context.Context, uid types.UID, one *mirror, spec v1alpha1.RepositorySpec, auth git.Auth, ask Ask,
	commits []string,
) {
	began := time.Now()
	moved, err := m.update(ctx, uid, one, spec, auth, commits)
	now := time.Now()
	end := &Fetch{Ask: ask, At: now, Took: now.Sub(began).Round(time.Millisecond), Moved: moved}
	if err != nil {
		end.Reason, end.Message = git.Reason(err), err.Error()
	}
	if m.running.Err() == nil { // a fetch that ends with the process has not failed
		m.Metrics.count(end)
	}

	m.mu.Lock()
	if err == nil {
		one.fetched = now
	}
	if err != nil && one.last != nil {
		end.Failures = one.last.Failures
	}
	if err != nil {
		end.Failures++
	}
	// The first fetch that succeeds is news also when it found nothing, and so is one for another spec or request.
	moved = moved || (err == nil && (!one.filled || one.last == nil || one.last.Ask != ask))
	one.last, one.cancel = end, nil
	one.filled = one.filled || err == nil
	one.commits = map[string]resolved{}
	gone := m.all[uid] != one
	m.mu.Unlock()
	if gone {
		return
	}
	m.send(m.ended, one.key)
	if moved {
		m.sendMoved(one.key)
	}
}

// update opens the mirror, if that was not done yet, and fetches.
func (m *Mirrors) update(
	ctx context.Context, uid types.UID, one *mirror, spec v1alpha1.RepositorySpec, auth git.Auth, commits []string,
) (moved bool, err error) {
	repo, err := m.open(ctx, uid, one, opened{m.options(one.key.Namespace, spec), spec.URL})
	if err != nil {
		return false, err
	}
	leave, err := m.enter(ctx, one.key.Namespace)
	if err != nil {
		return false, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, spec.Timeout.Duration) // it does not run while others are waited for
	defer cancel()
	before := repo.Refs()
	err = repo.Fetch(ctx, git.Remote{URL: spec.URL, Auth: auth}, git.FetchOptions{Commits: commits})
	moved = before != repo.Refs() // also when what came after the branches failed
	for _, id := range commits {
		if _, err := repo.Resolve(ctx, id); err == nil { // it is new
			moved = true
		}
	}
	// the Stacks that name the commit report it; all the rest is fetched
	if len(commits) > 0 && errors.Is(err, git.ErrNoRef) {
		err = nil
	}
	return moved, err
}

// options returns how the mirror of a Repository is opened.
func (m *Mirrors) options(namespace string, spec v1alpha1.RepositorySpec) git.Options {
	m.mu.Lock()
	defer m.mu.Unlock()
	return git.Options{
		Timeout: spec.Timeout.Duration, Trees: m.trees, Submodules: spec.Submodules, LFS: spec.LFS,
		Egress: m.Egress, Log: m.Log, MaxDisk: m.Limits.Repository, Space: m.spaces[namespace],
	}
}

// enter takes a place among the fetches of a namespace, and then among all.
func (m *Mirrors) enter(ctx context.Context, namespace string) (leave func(), err error) {
	m.mu.Lock()
	each := m.each[namespace]
	m.mu.Unlock()
	if err := each.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	if err := m.slots.Acquire(ctx, 1); err != nil {
		each.Release(1)
		return nil, err
	}
	return func() { m.slots.Release(1); each.Release(1) }, nil
}

func (m *Mirrors) sendMoved(key types.NamespacedName) {
	m.send(m.moved, key)
	for _, c := range m.subscribers {
		m.send(c, key)
	}
}

func (m *Mirrors) send(c chan Event, key types.NamespacedName) {
	select {
	case c <- Event{Object: key}:
	case <-m.running.Done():
	}
}

// LastFetch returns the result of the last fetch of a Repository, nil before the first, and whether one is under way.
func (m *Mirrors) LastFetch(uid types.UID) (last *Fetch, fetching bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one := m.all[uid]
	if one == nil {
		return nil, false
	}
	return one.last, one.cancel != nil
}

// ErrNotFetched is a Repository that this process has no mirror of yet.
var ErrNotFetched = errors.New("it is not fetched yet")

// Commit returns the commit that a ref names in the mirror; "" is the remote's default branch.
func (m *Mirrors) Commit(ctx context.Context, uid types.UID, ref string) (*git.Mirror, git.Commit, error) {
	m.mu.Lock()
	one := m.all[uid]
	if one == nil || one.git == nil || !one.filled {
		m.mu.Unlock()
		return nil, git.Commit{}, ErrNotFetched
	}
	repo, commits := one.git, one.commits
	known, ok := commits[ref]
	m.mu.Unlock()
	if ok {
		return repo, known.commit, known.err
	}
	known.commit, known.err = repo.Resolve(ctx, ref)
	if errors.Is(known.err, git.ErrEmpty) { // it was damaged, and has to be fetched again
		return nil, git.Commit{}, ErrNotFetched
	}
	if known.err == nil || errors.Is(known.err, git.ErrNoRef) {
		m.mu.Lock()
		commits[ref] = known
		m.mu.Unlock()
	}
	return repo, known.commit, known.err
}

// URLOf is the URL that a mirror of a Repository was opened for; empty when it has another mirror now.
func (m *Mirrors) URLOf(uid types.UID, repo *git.Mirror) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if one := m.all[uid]; one != nil && one.git == repo {
		return one.opened.url
	}
	return ""
}
