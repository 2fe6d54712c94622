package attempt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runnerapi"
)

// Whether a hook runs before or after its step, in an order.
const (
	before = "Before"
	after  = "After"
)

// tryAgain is the exit code of a hook that a retry may cure: EX_TEMPFAIL of sysexits.h.
const tryAgain = 75

// hook is a script and the name of its step.
type hook struct {
	runnerapi.Hook
	name string
}

// called returns the script's name in messages: a command's script is neither before nor after its step.
func (h hook) called() string {
	if h.When == "" {
		return "the script of " + h.name
	}
	return "hook " + h.name
}

// hooks returns those before or after a step.
func (j *job) hooks(step, when string) []hook {
	var found []hook
	for _, h := range j.order.Hooks {
		if h.Step != step || h.When != when {
			continue
		}
		name := strings.ToLower(when) + "-" + step
		if n := len(found); n > 0 {
			name += "-" + strconv.Itoa(n+1)
		}
		found = append(found, hook{h, name})
	}
	return found
}

// withHooks returns the names of a step and of the hooks around it, in order.
func (j *job) withHooks(step string) []string {
	var names []string
	for _, h := range j.hooks(step, before) {
		names = append(names, h.name)
	}
	names = append(names, step)
	for _, h := range j.hooks(step, after) {
		names = append(names, h.name)
	}
	return names
}

// runHooks runs those before or after a step, each as a step of its own.
func (w *workbench) runHooks(ctx context.Context, step, when string) error {
	for _, h := range w.hooks(step, when) {
		err := w.step(ctx, h.name, func(ctx context.Context) (result, error) { return w.runHook(ctx, h) })
		if err == nil {
			continue
		}
		if !h.Continue || ctx.Err() != nil {
			return err
		}
		fmt.Fprintf(w.text, "%s failed; the attempt continues, as its onFailure is set\n", h.name)
	}
	return nil
}

// runHook runs a script until it ends. It holds no state, so that one that ignores signals is killed.
func (w *workbench) runHook(ctx context.Context, h hook) (result, error) {
	env, err := w.hookEnvironment(h)
	if err != nil {
		return result{}, err
	}
	cmd, err := w.script(h, env)
	if err != nil {
		return result{}, err
	}
	launcher := w.launcher()
	ended, err := launcher.Run(ctx, cmd, process.Options{Name: h.name, Stop: launcher.StopGroup})
	if err != nil {
		return result{}, cannotRun(h, err)
	}
	switch {
	case ended.Code == 0:
		return result{exitCode: &ended.Code}, nil
	case ended.Code == tryAgain, ended.Interrupted():
		return result{}, &programError{engine.Transient, ended.Explain(h.called(), engine.Events{}), ended.Code}
	}
	return result{}, &programError{engine.ConfigurationError, ended.Explain(h.called(), engine.Events{}), ended.Code}
}

// script returns the command that runs a script.
func (w *workbench) script(h hook, env []string) (*exec.Cmd, error) {
	path, err := w.writeHook(h)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path) //nolint:noctx // it is interrupted by who runs it, not killed
	if !strings.HasPrefix(h.Script, "#!") {
		cmd = exec.Command(process.Shell, path) //nolint:noctx // it is interrupted by who runs it, not killed
	}
	cmd.Env, cmd.Dir = env, w.hookDir()
	return cmd, nil
}

// writeHook writes a script to a file of its own. No other program may be started meanwhile: it would have the file
// open for writing, and Linux does not execute such a file.
func (j *job) writeHook(h hook) (string, error) {
	if err := os.MkdirAll(j.work.Hooks(), 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(j.work.Hooks(), h.name)
	if err := os.RemoveAll(path); err != nil {
		return "", err
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return path, os.WriteFile(path, []byte(h.Script), 0o700) //nolint:gosec // a script has to be executable
}

// hookDir returns the root module's folder once this attempt has it, and the workspace before.
func (w *workbench) hookDir() string {
	if info, err := os.Stat(w.module()); w.fetched && err == nil && info.IsDir() {
		return w.module()
	}
	return string(w.work)
}

// cannotRun returns what to do about a script that could not be started. A retry would fail in the same way.
func cannotRun(h hook, err error) error {
	line, _, _ := strings.Cut(h.Script, "\n")
	switch {
	case errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(line, "#!"):
		return &engine.Rejection{Reason: fmt.Sprintf(
			"%s cannot run: its first line is %q, and there is no such program in this image", h.called(), line)}
	case errors.Is(err, fs.ErrNotExist):
		return &engine.Rejection{Reason: fmt.Sprintf(
			"%s cannot run: there is no %s in this image; let the script begin with #! and a program that is",
			h.called(), process.Shell)}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.ELOOP):
		return &engine.Rejection{Reason: fmt.Sprintf("%s cannot run: its first line is %q: %v", h.called(), line, err)}
	}
	return err
}
