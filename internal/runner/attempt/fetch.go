package attempt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/workspace"
)

// Limits of what is fetched.
const (
	largestArchive = 100 << 20
	largestPlan    = 1 << 30
)

// fetchStep fetches the code and what belongs to it.
type fetchStep struct {
	*workbench
	withPlan bool
	// journal is what earlier applies have done, for a plan.
	journal journal
}

// fetch fills the workspace: the code, the variable files and, in another pod than the plan's, the plan.
func (s *fetchStep) fetch(ctx context.Context) (result, error) {
	if err := s.work.Clear(s.order.Folder); err != nil {
		return result{}, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.fetchCode(ctx) })
	group.Go(func() error { return s.fetchJournal(ctx) })
	if s.withPlan {
		group.Go(func() error { return s.fetchPlan(ctx) })
		if s.hasScripts() {
			group.Go(func() error { return s.fetchJSON(ctx) })
		}
	}
	variables := &variables{s.job}
	files, err := variables.gather(ctx)
	if err := errors.Join(err, group.Wait()); err != nil {
		return result{}, err
	}
	s.fetched = true
	if s.withPlan {
		s.about = s.fetchedPlan()
		s.leftOut("text", s.writeText())
	}
	s.files, err = variables.assemble(files)
	return result{}, err
}

// fetchCode downloads the code, unpacks it and checks it.
func (s *fetchStep) fetchCode(ctx context.Context) error {
	root, err := os.OpenRoot(s.code())
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // holds no data
	if err := s.fetchFiles(ctx, root); err != nil {
		return err
	}
	if s.engine.Traits.AsksGit {
		if err := createRepository(root); err != nil {
			return err
		}
	}
	if err := s.adopt(ctx, root); err != nil {
		return err
	}
	return s.setWorkspace(s.code())
}

// createRepository turns the folder into the root of a git repository without commits, for an engine that asks git for
// the root of the repository: the code comes without its own. The folder belongs to the user that the engine runs as,
// so that git needs no safe.directory.
func createRepository(code *os.Root) error {
	if _, err := code.Stat(gitFolder); !errors.Is(err, fs.ErrNotExist) {
		return err // nil when the code has one
	}
	for _, dir := range []string{"objects", "refs"} {
		if err := code.MkdirAll(path.Join(gitFolder, dir), 0o755); err != nil {
			return err
		}
	}
	return code.WriteFile(path.Join(gitFolder, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644)
}

// gitFolder has the files by which git recognizes the root of a repository.
const gitFolder = ".git"

// fetchFiles downloads the order's source, verifies its digest, and unpacks it.
func (j *job) fetchFiles(ctx context.Context, root *os.Root) error {
	file, err := os.Create(j.work.Archive())
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // a write that went wrong gives another digest
	if err := j.client.Source(ctx, j.order.Source, file, largestArchive); err != nil {
		return fmt.Errorf("fetch the code: %w", err)
	}
	if err := workspace.Verify(file, j.order.Source); err != nil {
		return fmt.Errorf("fetch the code: %w", err)
	}
	if err := workspace.Unpack(root, file); err != nil {
		return fmt.Errorf("unpack the code: %w", err)
	}
	return os.Remove(file.Name())
}

// adopt checks the root module's folder, and puts Cairn's own file into it.
func (s *fetchStep) adopt(ctx context.Context, code *os.Root) error {
	name := path.Clean(s.order.Path)
	if !fs.ValidPath(name) {
		return &engine.Rejection{Reason: fmt.Sprintf("the path %q leads out of the code", s.order.Path)}
	}
	if info, err := code.Stat(name); err != nil || !info.IsDir() {
		return &engine.Rejection{Reason: fmt.Sprintf("there is no folder %s in the code", name)}
	}
	module, err := code.OpenRoot(name)
	if err != nil {
		return err
	}
	defer module.Close() //nolint:errcheck // holds no data
	// What an engine left for itself in the folder that the code was taken from is not the code's.
	for _, left := range []string{engine.DataDir, engine.ErroredState} {
		if err := module.RemoveAll(left); err != nil {
			return err
		}
	}
	// A file of the folder may be a symlink to one elsewhere in the code, where os.Root of the folder alone does
	// not lead.
	folder, err := fs.Sub(code.FS(), name)
	if err != nil {
		return err
	}
	if b := s.order.Backend; b != nil && b.FromCode {
		if s.inCode, err = engine.FindBackend(folder); err != nil {
			return err
		}
	}
	if err := engine.CheckCode(s.engine.Engine, s.backend(), folder); err != nil {
		return err
	}
	if err := s.checkOwnBackend(ctx, folder); err != nil {
		return err
	}
	return module.WriteFile(engine.OverrideFile, []byte(s.backend().Override()), 0o600)
}

// code is the folder of the code.
func (j *job) code() string { return j.work.Code(j.order.Folder) }

// module is the root module's folder.
func (j *job) module() string {
	return filepath.Join(j.code(), filepath.FromSlash(j.order.Path))
}

// fetchPlan downloads the plan to apply, and verifies that it is the one that was approved.
func (s *fetchStep) fetchPlan(ctx context.Context) error {
	file, err := os.Create(s.work.Plan())
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // a write that went wrong gives another digest
	if err := s.client.Plan(ctx, s.order.PlanDigest, file, largestPlan); err != nil {
		return fmt.Errorf("fetch the plan: %w", err)
	}
	if err := workspace.Verify(file, s.order.PlanDigest); err != nil {
		return fmt.Errorf("fetch the plan: %w", err)
	}
	return nil
}

// pinProviders writes the lock file of the plan into the code, and reports whether there is one. The code, which
// may have a lock file too, has to be there first.
func (s *initStep) pinProviders() (bool, error) {
	file, err := os.Open(s.work.Plan())
	if err != nil {
		return false, err
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	lock, err := engine.PlannedLockFile(file, info.Size())
	if err != nil || lock == nil {
		return false, err
	}
	return true, os.WriteFile(filepath.Join(s.module(), engine.LockFile), lock, 0o600)
}
