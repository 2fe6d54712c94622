package providers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cairn.dev/cairn/internal/download"
)

// known is a list of versions and when the registry was last asked for it.
type known struct {
	list listing
	at   time.Time
}

// Versions gives the versions of a provider, sorted as text: ErrNotFound when there is no such provider. While its
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

// list gives what a registry lists.
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
		// Also when the registry is away: not everybody has to wait to be told so.
		m.lists.Add(p, known{list, m.Now()}, list.weight())
		return list, nil
	})
}
