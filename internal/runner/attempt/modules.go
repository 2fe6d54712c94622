package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/source/closure"
)

// checkModules rejects downloaded modules that read files of the repository which the archive of a closure lacks. The
// closure was computed without their code, and an engine plans without such files: fileexists is false there, and
// fileset is empty. A wrapper runs engines in its cache, where a module reaches no file of the repository by a relative
// path.
func (s *initStep) checkModules(ctx context.Context) error {
	if s.engine.Wraps() || !s.order.Partial {
		return nil
	}
	modules, err := s.downloadedModules()
	if err != nil || len(modules) == 0 {
		return err
	}
	wanted := closure.Wanted{
		Path: s.order.Path, Triggers: s.order.Triggers, Language: closure.LanguageOf(s.engine.Name(), ""),
	}
	for _, file := range s.order.VariableFiles {
		if file.Path != "" {
			wanted.VariableFiles = append(wanted.VariableFiles, file.Path)
		}
	}
	disk := closure.Disk{Root: s.code(), Hidden: func(name string) bool { return name == gitFolder }}
	closures := closure.New(closure.Options{CacheBytes: largestAnalysis, Work: mostAnalysis})
	missing, unknown, err := closures.Undelivered(ctx, disk, disk, wanted, modules)
	if err != nil {
		return fmt.Errorf("read the downloaded modules: %w", err)
	}
	for _, at := range unknown {
		fmt.Fprintf(s.text, "a downloaded module may read a file that is not in the pod: %s\n", at)
	}
	if missing == nil {
		return nil
	}
	return &engine.Rejection{Code: runnerapi.ReasonFilesNotDelivered,
		Reason: fmt.Sprintf("a downloaded module reads %s of "+
			"the repository at %s, and Cairn delivers only the files that the Stack's own code reads: add %q to "+
			"spec.source.git.triggers, or \"**\" for the whole repository",
			cmp.Or(missing.Path, "the root directory"), missing.At, cmp.Or(missing.Path, "**"))}
}

// Limits of the analysis of downloaded modules: the bytes of its caches, and its work.
const (
	largestAnalysis = 16 << 20
	mostAnalysis    = 150_000_000
)

// downloadedModules returns the directories of the modules that init downloaded, from the root of the code.
func (s *initStep) downloadedModules() ([]string, error) {
	manifest := path.Join(engine.DataDir, "modules", "modules.json")
	text, err := os.ReadFile(filepath.Join(s.module(), filepath.FromSlash(manifest)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var installed struct {
		Modules []struct{ Dir string }
	}
	if err := json.Unmarshal(text, &installed); err != nil {
		return nil, fmt.Errorf("%s: %w", manifest, err)
	}
	var dirs []string
	for _, m := range installed.Modules {
		if dir := path.Clean(filepath.ToSlash(m.Dir)); strings.HasPrefix(dir, path.Dir(manifest)+"/") {
			dirs = append(dirs, path.Join(s.order.Path, dir))
		}
	}
	return dirs, nil
}
