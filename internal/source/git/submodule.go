package git

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

const (
	// mostDepth is how deep submodules may be in submodules; one may have itself.
	mostDepth = 5
	// mostSubmodules of an archive.
	mostSubmodules = 100
)

// enter adds the files of a submodule.
func (g *gathering) enter(ctx context.Context, p place, e Entry) error {
	name := path.Join(p.prefix, e.Path)
	switch {
	case !g.m.o.Submodules:
		return fail(ErrContent, "%s is a submodule: set spec.submodules of the Repository to true, or exclude it from "+
			"the code", name)
	case p.remote == nil:
		return fmt.Errorf("submodule %s: %w", name, errEmpty)
	case p.depth == mostDepth:
		return fail(ErrContent, "%s is a submodule in %d others: that is too deep", name, mostDepth)
	}
	if g.submodules++; g.submodules > mostSubmodules {
		return fail(ErrTooLarge, "more than %d submodules: take fewer", mostSubmodules)
	}
	remote, err := g.remoteOf(ctx, p, e)
	if err != nil {
		return fmt.Errorf("submodule %s: %w", name, err)
	}
	beside, tree, err := g.m.besideTree(ctx, remote, e.ID)
	if err != nil {
		return fmt.Errorf("submodule %s: %w", name, err)
	}
	return g.add(ctx, place{beside, tree, &remote, name, p.depth + 1}, Entry{Kind: KindDir})
}

// remoteOf is the remote of a submodule. It receives our credentials only if its server is that of the Repository
// itself: an author of .gitmodules may not be allowed to know them.
func (g *gathering) remoteOf(ctx context.Context, p place, e Entry) (Remote, error) {
	urls, err := p.m.submodules(ctx, p.tree)
	if err != nil {
		return Remote{}, err
	}
	written, ok := urls[e.Path]
	if !ok {
		return Remote{}, fail(ErrConfig, ".gitmodules has no url for it")
	}
	base, err := parseRemote(p.remote.URL)
	if err != nil {
		return Remote{}, err
	}
	at, err := base.join(written)
	if err != nil {
		return Remote{}, err
	}
	own := g.m.lastRemote()
	ours, err := parseRemote(own.URL)
	if err != nil {
		return Remote{}, err
	}
	remote := Remote{URL: at.String()}
	if at.sameServer(ours) {
		remote.Auth = own.Auth
	}
	return remote, nil
}

// submodules returns the URLs of a tree's submodules by their paths, as .gitmodules has them. git parses it itself.
func (m *Mirror) submodules(ctx context.Context, tree *Tree) (map[string]string, error) {
	file, ok := tree.Entry(".gitmodules")
	if !ok || file.Kind != KindFile && file.Kind != KindExec {
		return nil, fail(ErrConfig, "there is no .gitmodules in the root of the repository")
	}
	out, err := m.run(ctx, command{args: []string{"config", "--no-includes", "--blob=" + file.ID, "--null",
		"--get-regexp", `^submodule\..*\.(path|url)$`}})
	failed, ok := errors.AsType[*gitError](err)
	if ok && failed.said != "" {
		return nil, fail(ErrConfig, ".gitmodules cannot be read: %s", mainLine(failed.said))
	}
	if err != nil && !ok {
		return nil, err
	}
	return parseSubmodules(out), nil
}

// parseSubmodules reads "submodule.<name>.path<newline><value><null>".
func parseSubmodules(out []byte) map[string]string {
	paths, urls := map[string]string{}, map[string]string{}
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		key, value, _ := strings.Cut(string(entry), "\n")
		if name, ok := strings.CutSuffix(key, ".path"); ok {
			paths[name] = path.Clean(value)
		} else if name, ok := strings.CutSuffix(key, ".url"); ok {
			urls[name] = value
		}
	}
	found := map[string]string{}
	for name, path := range paths {
		if url, ok := urls[name]; ok {
			found[path] = url
		}
	}
	return found
}

// besideTree returns a commit of another repository, out of a mirror that is in our own folder, so that no other
// Repository sees what our credentials showed.
func (m *Mirror) besideTree(ctx context.Context, remote Remote, commit string) (*Mirror, *Tree, error) {
	beside, err := m.besideMirror(ctx, remote.URL)
	if err != nil {
		return nil, nil, err
	}
	tree, err := beside.Tree(ctx, commit)
	if !errors.Is(err, ErrNoRef) && !errors.Is(err, ErrEmpty) {
		return beside, tree, err
	}
	err = beside.Fetch(ctx, remote, FetchOptions{Commits: []string{commit}})
	if missing, ok := errors.AsType[*missingCommits](err); ok && missing.cause != nil {
		err = missing.cause // the remote may have it, so there is nothing to correct
	}
	if err != nil {
		return nil, nil, err
	}
	tree, err = beside.Tree(ctx, commit)
	return beside, tree, err
}

func (m *Mirror) besideMirror(ctx context.Context, url string) (*Mirror, error) {
	m = cmp.Or(m.source, m)
	sum := sha256.Sum256([]byte(url))
	name := hex.EncodeToString(sum[:16])
	m.besideMu.Lock()
	defer m.besideMu.Unlock()
	if m.ctx.Err() != nil {
		return nil, errClosed
	}
	if beside := m.beside[name]; beside != nil {
		return beside, nil
	}
	folder := filepath.Join(m.path(modules), name)
	beside, err := Open(ctx, folder, Options{Timeout: m.o.Timeout, Trees: m.o.Trees, Egress: m.o.Egress, within: m})
	if err != nil {
		return nil, err
	}
	now := time.Now()
	_ = os.Chtimes(folder, now, now) // for removeUnusedMirrors
	m.beside[name] = beside
	return beside, nil
}
