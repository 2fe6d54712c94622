package providers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"cairn.dev/cairn/internal/base/download"
)

// known is a list of versions and when the registry was last asked for it.
type known struct {
	list listing
	at   time.Time
}

// Versions returns the versions of a provider, sorted as text: ErrNotFound when there is no such provider. While its
// registry is away they are those that it listed last, or else those that are here.
func (m *Mirror) Versions(ctx context.Context, p Provider) ([]string, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	here, err := m.here(p)
	if err != nil {
		return nil, err
	}
	if err := m.asks(p); err != nil {
		return here.orElse(err)
	}
	list, err := m.list(ctx, p)
	if err != nil {
		return here.orElse(err)
	}
	for version := range list.Versions {
		here[version] = true
	}
	return here.orElse(fmt.Errorf("%s has no versions: %w", p, ErrNotFound))
}

// list returns what a registry lists.
func (m *Mirror) list(ctx context.Context, p Provider) (listing, error) {
	last, ok := m.lists.Get(p)
	if ok && m.Now().Sub(last.at) < m.Fresh {
		return last.list, nil
	}
	return download.Do(ctx, m.downloads, "list "+p.String(), func(ctx context.Context) (listing, error) {
		m.transfers.Begin(p.String(), "https://"+p.Hostname)
		defer m.transfers.End(p.String())
		list, err := m.registry.versions(ctx, p)
		switch {
		case err == nil:
			m.keepList(p, list)
		case errors.Is(err, ErrNotFound):
			return listing{}, err
		case ok:
			list = last.list
		default:
			if list, ok = m.keptList(p); !ok {
				return listing{}, err
			}
		}
		// Also when the registry is away: not every request has to wait for the same error.
		m.lists.Add(p, known{list, m.Now()}, list.weight())
		return list, nil
	})
}

// Release is a version of a provider, in the form of a mirror's <version>.json.
type Release struct {
	// Archives by platform.
	Archives map[string]Package `json:"archives"`
	// Signed: the checksums are of a list that a key which the registry names has signed. Otherwise the registry
	// named no key and its own word was taken, or the archives are the operator's, in Folder.
	Signed bool `json:"signed"`
}

// Package is one archive of a Release.
type Package struct {
	// URL is the archive's, relative to the Release's own: its file name.
	URL string `json:"url"`
	// Hashes that the archive has. "zh:" is of the zip as it is, from the signed list. "h1:" is of what is in it,
	// and there only if the archive was once here: no other source proves it.
	Hashes []string `json:"hashes"`
}

// sum returns the checksum of the zip, in hex.
func (p Package) sum() string {
	for _, hash := range p.Hashes {
		if sum, ok := strings.CutPrefix(hash, "zh:"); ok {
			return sum
		}
	}
	return ""
}

// Version returns the platforms of a version and the hashes of their archives: ErrNotFound when there is no such
// version, ErrVerify when the registry's answers about it are not valid.
func (m *Mirror) Version(ctx context.Context, p Provider, version string) (Release, error) {
	if err := p.check(); err != nil {
		return Release{}, err
	}
	if err := p.checkVersion(version); err != nil {
		return Release{}, err
	}
	local, err := m.folderRelease(p, version)
	if err != nil {
		return Release{}, err
	}
	release, err := m.release(ctx, p, version)
	if err != nil && len(local) > 0 {
		return Release{Archives: local}, nil
	}
	if err != nil {
		return Release{}, err
	}
	if len(local) > 0 {
		release.Archives = maps.Clone(release.Archives)
		maps.Copy(release.Archives, local)
		release.Signed = false
	}
	return release, nil
}

// release returns what is kept of a version, or finds it out.
func (m *Mirror) release(ctx context.Context, p Provider, version string) (Release, error) {
	if kept, ok := m.keptRelease(p, version); ok {
		if !m.Offline {
			return kept, nil
		}
		if err := m.onlyHere(p, version, &kept); err != nil {
			return Release{}, err
		}
		if len(kept.Archives) > 0 {
			return kept, nil
		}
	}
	if err := m.asks(p); err != nil {
		return Release{}, err
	}
	return download.Do(ctx, m.downloads, "release "+p.String()+" "+version, func(ctx context.Context) (Release, error) {
		m.transfers.Begin(p.String(), "https://"+p.Hostname)
		defer m.transfers.End(p.String())
		release, err := m.verify(ctx, p, version)
		if err != nil {
			return Release{}, err
		}
		m.records.Lock()
		defer m.records.Unlock()
		return release, m.keep(p, version+".json", release)
	})
}
