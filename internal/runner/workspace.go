package runner

import (
	"fmt"
	"os"
	"path/filepath"
)

// workspace is where an attempt keeps its files. Nothing but the code is in the root module's folder, so that nothing
// of ours is taken for code.
type workspace struct{ dir string }

func openWorkspace(dir string) (workspace, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return workspace{}, err
	}
	w := workspace{dir}
	for _, path := range []string{w.home(), w.tmp()} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return w, err
		}
	}
	return w, nil
}

func (w workspace) code() string   { return filepath.Join(w.dir, "code") }
func (w workspace) values() string { return filepath.Join(w.dir, "values") }
func (w workspace) source() string { return filepath.Join(w.dir, "source.tar.gz") }
func (w workspace) plan() string   { return filepath.Join(w.dir, "plan") }

// backend has the arguments of the engine's own backend, and moving the state that is put there.
func (w workspace) backend() string { return filepath.Join(w.dir, "backend.json") }
func (w workspace) moving() string  { return filepath.Join(w.dir, "moving.tfstate") }

func (w workspace) events() string { return filepath.Join(w.dir, "events") }
func (w workspace) git() string    { return filepath.Join(w.dir, "git") }
func (w workspace) home() string   { return filepath.Join(w.dir, "home") }
func (w workspace) tmp() string    { return filepath.Join(w.dir, "tmp") }

// said is what the engine printed while it planned, with all secrets; the other two are without any.
func (w workspace) said() string     { return filepath.Join(w.dir, "plan.said") }
func (w workspace) planText() string { return filepath.Join(w.dir, "plan.txt") }
func (w workspace) planJSON() string { return filepath.Join(w.dir, "plan.json") }

// hooks has the scripts, and bin the engine under its usual name, for them.
func (w workspace) hooks() string { return filepath.Join(w.dir, "hooks") }
func (w workspace) bin() string   { return filepath.Join(w.dir, "bin") }

// door is by whose open ends the runner knows who is in a shell, and shell what the shell is given.
func (w workspace) door() string  { return filepath.Join(w.dir, "shell.door") }
func (w workspace) shell() string { return filepath.Join(w.dir, "shell.json") }

// cache is where Terragrunt puts root modules together.
func (w workspace) cache() string { return filepath.Join(w.dir, "cache") }

// image is where a builder keeps what it needs.
func (w workspace) image() string { return filepath.Join(w.dir, "image") }

// engines is what came from the store. It stays for the pod's further attempts.
func (w workspace) engines() string { return filepath.Join(w.dir, "engines") }

// clear makes room for other code: nothing of the last is left.
func (w workspace) clear() error {
	for _, path := range []string{
		w.code(), w.values(), w.source(), w.plan(), w.said(), w.planText(), w.planJSON(), w.events(), w.cache(), w.git(), w.backend(), w.moving(),
	} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("clear the workspace: %w", err)
		}
	}
	for _, path := range []string{w.code(), w.values(), w.git()} {
		if err := os.Mkdir(path, 0o700); err != nil {
			return fmt.Errorf("clear the workspace: %w", err)
		}
	}
	return nil
}
