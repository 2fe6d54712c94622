// Package workspace is the folder that a runner works in, and the files that orders name below its inputs folder.
package workspace

import (
	"fmt"
	"os"
	"path/filepath"
)

// Dir is the folder where an attempt keeps its files. Only the code is in the root module's folder, so that no file
// of the runner's is taken for code.
type Dir string

// Open creates what is missing of a workspace.
func Open(path string) (Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	d := Dir(path)
	for _, path := range []string{d.Home(), d.Tmp()} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return d, err
		}
	}
	return d, nil
}

func (d Dir) join(name string) string { return filepath.Join(string(d), name) }

// Code is the folder of the code, which has a name of its own if the order names one.
func (d Dir) Code(name string) string { return filepath.Join(d.join("code"), name) }

// Archive is the file that the code is unpacked from.
func (d Dir) Archive() string { return d.join("source.tar.gz") }

// VariableFiles is the folder of the engine's variable files.
func (d Dir) VariableFiles() string { return d.join("values") }

// BackendConfig has the arguments of the engine's own backend.
func (d Dir) BackendConfig() string { return d.join("backend.json") }

// PushedState is the state that is put into the engine's own backend.
func (d Dir) PushedState() string { return d.join("pushed.tfstate") }

// Plan is the saved plan.
func (d Dir) Plan() string { return d.join("plan") }

// PlanText is the plan's text, without secrets.
func (d Dir) PlanText() string { return d.join("plan.txt") }

// PlanDocument is the plan's JSON with all values, until it is sent to the server.
func (d Dir) PlanDocument() string { return d.join("plan.document.json") }

// PlanJSON is the plan's JSON, without secrets.
func (d Dir) PlanJSON() string { return d.join("plan.json") }

// Events is the file that an engine writes its events to.
func (d Dir) Events() string { return d.join("events") }

// Git is the folder of the credentials for git.
func (d Dir) Git() string { return d.join("git") }

// Home is the HOME of programs, where the image has none.
func (d Dir) Home() string { return d.join("home") }

// Tmp is the TMPDIR of programs, where the image has none.
func (d Dir) Tmp() string { return d.join("tmp") }

// Hooks is the folder of the scripts of hooks.
func (d Dir) Hooks() string { return d.join("hooks") }

// Bin has the engine under its usual name, for scripts.
func (d Dir) Bin() string { return d.join("bin") }

// ShellPipe is the named pipe by whose open ends the runner knows who is in a shell.
func (d Dir) ShellPipe() string { return d.join("shell.pipe") }

// ShellConfig is what a shell starts with.
func (d Dir) ShellConfig() string { return d.join("shell.json") }

// WrapperCache is the folder that a wrapper of engines assembles root modules in.
func (d Dir) WrapperCache() string { return d.join("cache") }

// Image is the folder of an image builder's own files.
func (d Dir) Image() string { return d.join("image") }

// Engines has the engines that were downloaded. It stays for the pod's further attempts.
func (d Dir) Engines() string { return d.join("engines") }

// Clear removes what an earlier attempt left, and creates the folders of the next one: its code is in Code(code).
func (d Dir) Clear(code string) error {
	for _, path := range []string{
		d.Code(""), d.VariableFiles(), d.Archive(), d.Plan(), d.PlanText(), d.PlanJSON(), d.PlanDocument(), d.Events(),
		d.WrapperCache(), d.Git(), d.BackendConfig(), d.PushedState(),
	} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("clear the workspace: %w", err)
		}
	}
	for _, path := range []string{d.Code(code), d.VariableFiles(), d.Git()} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return fmt.Errorf("clear the workspace: %w", err)
		}
	}
	return nil
}
