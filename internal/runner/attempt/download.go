package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
)

// largestEngine is how large an engine's program may be.
const largestEngine = 1 << 30

// fetchEngine downloads an engine from the server; why is the reason for not using the image's.
func (s *engineStep) fetchEngine(ctx context.Context, t *tool, constraint, why string) error {
	release, err := s.client.Engine(ctx, t.Name(), constraint, runtime.GOOS, runtime.GOARCH, s.onDownload())
	if away, ok := errors.AsType[*unreachableError](err); ok {
		return fmt.Errorf("%s; %w", why, away)
	}
	if code := runnerapi.Code(err); code == http.StatusUnprocessableEntity || code == http.StatusFailedDependency {
		return &engine.Rejection{Reason: why + "; " + err.Error()}
	}
	if err != nil {
		return fmt.Errorf("%s; ask the server for it: %w", why, err)
	}
	// The version becomes a path, and what is not a version meets no constraint.
	if meets, err := engine.Meets(release.Version, cmp.Or(constraint, ">= 0")); err != nil || !meets {
		return errors.Join(fmt.Errorf("the server returned %s %q for %q", t.Name(), release.Version, constraint), err)
	}
	dir := filepath.Join(s.work.Engines(), strings.ToLower(t.Name())+"-"+release.Version)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, t.Program())
	if !isProgram(path, release.Digest) {
		if err := s.download(ctx, t.Name(), release, path); err != nil {
			return fmt.Errorf("fetch %s %s: %w", t.Name(), release.Version, err)
		}
	}
	t.path, t.version, t.unsigned = path, release.Version, release.Unsigned
	if t.Traits.ChecksumsWithoutVersion {
		return s.checkVersion(ctx, t)
	}
	return nil
}

// checkVersion asks a program that was downloaded for its version. The signed list of its checksums names no version,
// so a source of releases can serve another version than the requested one. The program is its publisher's, so it
// reports its own.
func (s *engineStep) checkVersion(ctx context.Context, t *tool) error {
	announced := t.version
	if _, err := s.meets(ctx, t, ""); err != nil {
		return err
	}
	if t.version == announced {
		return nil
	}
	reported := t.version
	t.path, t.version = "", ""
	return &engine.Rejection{Reason: fmt.Sprintf("the program that was downloaded as %s %s reports version %s: "+
		"the source of %[1]s serves another release. Correct that source (--engine-mirror, chart value "+
		"engines.mirrors.%[1]s), and delete engines/%[4]s/%[2]s in the cache of Cairn's server", t.Name(), announced,
		reported, t.Program())}
}

// isProgram reports whether a file is what an earlier attempt of this pod downloaded.
func isProgram(path, digest string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // only read
	return workspace.Verify(file, digest) == nil
}

// download fetches a program. It is at its path only when its digest is the one that the server announced.
func (s *engineStep) download(ctx context.Context, name string, release runnerapi.EngineRelease, path string) error {
	file, err := os.OpenFile(path+".part", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o700) //nolint:gosec // a program has to be executable
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // a write that went wrong gives another digest
	if err := s.client.EngineProgram(ctx, name, release.Version, runtime.GOOS, runtime.GOARCH, file,
		largestEngine); err != nil {
		return err
	}
	if err := workspace.Verify(file, release.Digest); err != nil {
		return err
	}
	// Closed before it is run: a program that is open for writing cannot be.
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
