package git

import (
	"context"
	"errors"
	"fmt"
)

// FetchOptions say what is wanted beside branches and tags.
type FetchOptions struct {
	// Commits wanted by their full IDs, which no branch or tag need have: the head of a pull request from a fork. One
	// that is there already costs nothing. One that cannot be had is ErrNoRef; all the rest is fetched then. They are kept
	// for two weeks at least; ask again for those that are older.
	Commits []string
}

// Fetch makes branches and tags what they are at the remote. It takes only what is new, drops what is gone, and does not
// mind a push by force. One Fetch runs at a time. Callers that ask meanwhile for the same, as the same, share the next.
//
// When ctx is over Fetch returns; the fetch itself ends only when none of those that share it is left.
//
// ErrNoRef says that branches and tags are those of the remote now, and only some of Commits are not there. After any other
// error they are those of the last fetch that succeeded; Refs tells, should ctx have been over while commits were fetched.
func (m *Mirror) Fetch(ctx context.Context, remote Remote, o FetchOptions) error {
	if err := checkFetch(remote); err != nil {
		return err
	}
	f, err := m.board(remote, o)
	if err != nil {
		return err
	}
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		m.queue.leave(f)
		return stopped(ctx, "fetch "+remote.URL)
	}
}

func checkFetch(remote Remote) error {
	if err := CheckURL(remote.URL); err != nil {
		return err
	}
	return remote.Auth.check()
}

// board joins a fetch that has not begun, or starts one.
func (m *Mirror) board(remote Remote, o FetchOptions) (*flight, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return nil, errClosed
	}
	ctx, cancel := context.WithCancel(m.ctx)
	f, began := m.queue.join(remote, o, cancel)
	if began {
		m.work.Go(func() { m.fly(ctx, f) })
	} else {
		cancel()
	}
	return f, nil
}

// fly runs a fetch for all that wait for it, then cleans up while nobody waits.
func (m *Mirror) fly(ctx context.Context, f *flight) {
	defer f.cancel()
	if err := m.queue.begin(ctx, f); err != nil { // nobody is left, or the Mirror was closed
		f.err = fmt.Errorf("fetch %s: %w", f.remote.URL, err)
		close(f.done)
		return
	}
	defer func() { <-m.queue.turn }()
	f.err = m.fetch(ctx, f.remote, f.o)
	close(f.done)
	if f.err == nil || errors.Is(f.err, ErrNoRef) {
		m.maintain()
	}
}

// fetch has the mirror for itself.
func (m *Mirror) fetch(ctx context.Context, remote Remote, o FetchOptions) error {
	ctx, cancel := context.WithTimeout(ctx, m.o.Timeout)
	defer cancel()
	s, err := m.open(ctx, remote)
	if err != nil {
		return err
	}
	defer s.close()
	if err = m.checkWhole(ctx); err == nil {
		err = s.fetchAll(ctx, o.Commits)
	}
	if errors.Is(err, errDamaged) {
		err = s.renew(ctx, o.Commits)
	}
	if errors.Is(err, ErrAuthentication) {
		m.apps.forget()
	}
	if err != nil && !errors.Is(err, ErrNoRef) {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.origin = &remote
	return err
}

// errDamaged says that the mirror itself is broken, or that there is none yet.
var errDamaged = errors.New("the mirror is damaged")

// checkWhole reads all of the mirror, which takes long, if something in it could not be read.
func (m *Mirror) checkWhole(ctx context.Context) error {
	if m.Empty() {
		return errDamaged
	}
	if !m.suspect.Load() {
		return nil
	}
	_, err := m.run(ctx, command{args: []string{"fsck", "--no-dangling", "--no-progress"}})
	var failed *gitError
	if errors.As(err, &failed) { // it stays suspect until it is renewed: the remote may be away
		return errDamaged
	}
	if err == nil {
		m.suspect.Store(false)
	}
	return err
}
