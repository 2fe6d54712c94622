// Package providers is a mirror of providers: what engines request is pulled through from its registry once,
// verified once, and kept. It knows nothing of Kubernetes.
//
//	Versions ─► what the registry lists, taken as it is for some minutes
//	Version  ─► SHA256SUMS, its signature checked, kept for good: it has the checksum of every archive of that version
//	Archive  ─► the zip, if its checksum is the one that was kept
//
// A Folder, when there is one, comes before the registry.
//
// Requests go to the hosts that users' code names, and to what such a registry points to. Only https is used, no answer
// is shown to the user, and Egress decides which addresses are allowed: private ones are, for private registries. Where
// code is not trusted that far, Hosts lists the registries that are allowed.
package providers

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"

	"cairn.dev/cairn/internal/base/download"
	"cairn.dev/cairn/internal/base/egress"
	"cairn.dev/cairn/internal/base/weightedlru"
)

var (
	// ErrNotFound is a provider, version or platform that there is not, or that this mirror may not ask for.
	ErrNotFound = errors.New("not in the mirror of providers")
	// ErrVerify is a package that differs from what its author published. Nothing of it is kept.
	ErrVerify = errors.New("verification failed")
)

// Options of a Mirror.
type Options struct {
	// Dir keeps what was verified, packed as `tofu providers mirror` does it. It is created when it is missing,
	// belongs to one Mirror at a time, and may be emptied while none runs. It is needed.
	Dir string
	// Folder is a packed mirror that the operator fills, searched before a registry is asked: each file in it is
	// trusted as it is. Empty means none.
	Folder string
	// Offline never asks a registry: there is what Folder and Dir hold.
	Offline bool
	// Hosts are the only registries that are asked, as code names them. Empty means any. Example:
	// registry.opentofu.org.
	Hosts []string
	// Unsigned are the registries whose providers may come without a key of their maker, on the registry's word for
	// the checksum alone. nil means registry.opentofu.org, as in OpenTofu; a provider with a key has to be signed
	// everywhere.
	Unsigned []string
	// Most is how many bytes of archives are kept in Dir; 0 means any number. Those that were not asked for for the
	// longest time go first, once another was pulled, and are pulled again when they are asked for. The last one
	// pulled stays, however large.
	Most int64
	// Client speaks to registries. nil means one that keeps to the proxies in the environment. How it follows redirects
	// is the Mirror's own: few, and to https only.
	Client *http.Client
	// Egress are the addresses that it connects to, if Client is nil. nil means the default.
	Egress *egress.Guard
	// Fresh is how long a list of versions is taken as it is before the registry is asked again; 0 means 5 minutes.
	Fresh time.Duration
	// Requested is called for each archive that is requested: it was cached already (a hit), or it was not, with the
	// result of the pull. Nil is not called.
	Requested func(hit bool, err error)
	// Now is the clock; nil means the real one.
	Now func() time.Time
}

// Mirror serves providers. Its methods may be called at the same time.
type Mirror struct {
	Options
	registry registry
	dir      *os.Root
	folder   *os.Root // nil when there is none
	lists    *weightedlru.Cache[Provider, known]
	hashed   *lru.Cache[string, sums]
	pulls    *semaphore.Weighted
	// trims is held while archives are deleted.
	trims sync.Mutex
	// records is held while a record of a version is read and written again.
	records   sync.Mutex
	downloads *download.Group
	// transfers are the files on their way, by the name of the provider.
	transfers download.Transfers
}

// Progress of the download of a provider that is under way; the zero Transfer when there is none.
func (m *Mirror) Progress(p Provider) download.Transfer { return m.transfers.Of(p.String()) }

const (
	// mostKnown is how many files' checksums, and how many hosts' registries, are in memory.
	mostKnown = 1000
	// mostLists is how much memory the lists of versions take. A registry is whatever code names, and decides how
	// long they are.
	mostLists = 32 << 20
	// mostPulls is how many archives are pulled at a time; further ones wait.
	mostPulls = 4
)

// New returns a Mirror. Close ends it.
func New(o Options) (*Mirror, error) {
	if o.Dir == "" {
		return nil, errors.New("mirror of providers: no folder to keep them in")
	}
	if o.Unsigned == nil {
		o.Unsigned = []string{"registry.opentofu.org"}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Requested == nil {
		o.Requested = func(bool, error) {}
	}
	o.Fresh = cmp.Or(o.Fresh, 5*time.Minute)
	m := &Mirror{
		Options: o, registry: newRegistry(o), hashed: weightedlru.Sized[string, sums](mostKnown),
		pulls: semaphore.NewWeighted(mostPulls),
		lists: weightedlru.New[Provider, known](mostLists, weightedlru.EntryOverhead),
	}
	if err := m.open(); err != nil {
		m.closeFolders()
		return nil, fmt.Errorf("mirror of providers: %w", err)
	}
	m.downloads = download.NewGroup()
	return m, nil
}

// open opens the folders. What a process that was killed left half done goes.
func (m *Mirror) open() (err error) {
	if err := os.MkdirAll(m.Dir, 0o700); err != nil {
		return err
	}
	if m.dir, err = os.OpenRoot(m.Dir); err != nil {
		return err
	}
	if err := m.dir.RemoveAll(incoming); err != nil {
		return err
	}
	if err := m.dir.Mkdir(incoming, 0o700); err != nil {
		return err
	}
	if m.Folder != "" {
		m.folder, err = os.OpenRoot(m.Folder)
	}
	return err
}

// Close ends what is being pulled and waits for it. The Mirror serves nothing afterwards.
func (m *Mirror) Close() {
	m.downloads.Close()
	m.closeFolders()
}

func (m *Mirror) closeFolders() {
	for _, root := range []*os.Root{m.dir, m.folder} {
		if root != nil {
			_ = root.Close()
		}
	}
}

// asks reports whether a provider's registry may be asked.
func (m *Mirror) asks(p Provider) error {
	switch {
	case m.Offline:
		return fmt.Errorf("%s: %w, which is offline", p, ErrNotFound)
	case len(m.Hosts) > 0 && !slices.Contains(m.Hosts, p.Hostname):
		return fmt.Errorf("%s: %w, which takes none from %s", p, ErrNotFound, p.Hostname)
	}
	return nil
}
