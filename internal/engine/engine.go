// Package engine knows the programs that plan and apply code: their arguments, the events they write, what an error
// means and which code they take. It starts no process and knows nothing of Kubernetes.
//
// An engine is a file and a row in all.go: opentofu.go, terraform.go, terragrunt.go. What they differ in is their
// arguments, what they print, and their Traits.
package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/go-version"
)

// Step is a command of an engine that does a part of an attempt.
type Step string

// The commands of an engine.
const (
	StepInit  Step = "init"
	StepPlan  Step = "plan"
	StepApply Step = "apply"
)

// LockFile is where an engine pins the providers it chose, in the root module and in a saved plan.
const LockFile = ".terraform.lock.hcl"

// DataDir is what an engine keeps in the root module for itself.
const DataDir = ".terraform"

// LocalState is where an engine keeps the state when it has no backend.
const LocalState = "terraform.tfstate"

// ErroredState is what an engine leaves in the root module when it could write the state nowhere else.
const ErroredState = "errored.tfstate"

// PlanChanges is the exit code of a plan that is not empty.
const PlanChanges = 2

// Engine is one of the programs: a value of this package, as OpenTofu is. Engines differ in their fields alone.
//
// Text is always without color: escape codes within a line would cut a secret in two, and it would not be detected.
type Engine struct {
	// name for messages, and program is the command's name.
	name, program string
	// version are the arguments that ask for the version, for ParseVersion.
	version []string
	Traits  Traits
	Release Release
	// wrap is set for one that runs another engine.
	wrap *wrap
	// under is what it runs; nil until Around.
	under *under
}

// Traits are what engines differ in. The zero value is of an engine that prints events, and has no specialty.
type Traits struct {
	// eventsToFile writes events to a file of their own. Otherwise a step prints either events or text.
	eventsToFile bool
	// planVariables are the versions that accept variable files beside a saved plan; empty are all.
	planVariables string
	// Encrypts plans and states, with keys that may depend on variables.
	Encrypts bool
	// ReadsTofu: a *.tofu of the code replaces the *.tf of the same name.
	ReadsTofu bool
	// RootFile is a file that the folder of a root module has to have, by itself or with .json; empty when code is
	// enough.
	RootFile string
	// AsksGit: its functions ask git for the root of the repository.
	AsksGit bool
	// ChecksumsWithoutVersion: the signed checksums of its releases name no version, so that a download is asked for
	// its own.
	ChecksumsWithoutVersion bool
	// BackendBlock is what in its code names the backend, and PullState the command with which a user reads the state
	// there. Empty are the backend block, and an init before state pull.
	BackendBlock, PullState string
}

// Release is how the releases of an engine are published. In the names of files {version}, {os} and {arch} stand for
// the requested ones.
type Release struct {
	// Folder of the engine on a mirror, and in a cache.
	Folder string
	// Index is the publisher's list of versions, and Base the folder of one of them: URLs.
	Index, Base string
	// Archive that holds the program, or is the program when Program is empty.
	Archive, Program string
	// Sums is the list of checksums, Signatures are names that its signature may have.
	Sums       string
	Signatures []string
	// Key is the publisher's armored public key.
	Key string
}

// wrap is how an engine, that assembles root modules from files of its own, runs another one there, with the path of
// that one's program and the folder for root modules. The other one holds the state, and may outlive it.
type wrap struct {
	// args precede the arguments of the other engine.
	args func(path, cache string) []string
	// env has a script that starts the wrapper itself find what was prepared, and do nothing twice.
	env func(path, cache string) []string
}

// under is the engine that a wrapper runs.
type under struct {
	Engine
	path, cache string
}

// Name for messages.
func (e Engine) Name() string { return e.name }

// Program is the command's name.
func (e Engine) Program() string { return e.program }

// Version asks for the version, for ParseVersion.
func (e Engine) Version() []string { return e.version }

// Wraps reports whether it is a wrapper: one that runs another engine.
func (e Engine) Wraps() bool { return e.wrap != nil }

// Around returns the wrapper of an engine and that one's program, with the folder for root modules.
func (e Engine) Around(other Engine, path, cache string) Engine {
	e.under = &under{other, path, cache}
	return e
}

// Environment has a script that starts a wrapper itself find what was prepared, and do nothing twice.
func (e Engine) Environment() []string {
	if e.under == nil {
		return nil
	}
	return e.wrap.env(e.under.path, e.under.cache)
}

// Args returns the arguments of a command. A wrapper runs only that command: no init of its own, which would upgrade
// nothing but still choose, and above all no retry of a command that failed, since a plan is applied once.
func (e Engine) Args(c Command) []string {
	if e.under == nil {
		return c.args(e.Traits)
	}
	if apply, ok := c.(Apply); ok {
		apply.Version = "" // it is the wrapper's own
		c = apply
	}
	return append(e.wrap.args(e.under.path, e.under.cache), e.under.Args(c)...)
}

// PrintsEvents reports whether a step prints its events, for a Listener, instead of text.
func (e Engine) PrintsEvents(step Step) bool {
	if e.under != nil {
		return e.under.PrintsEvents(step)
	}
	return e.Traits.printsEvents(step)
}

// ParseVersion reads what an engine answers to Version: JSON or, from Terragrunt, a line of text. Lines before the JSON
// are warnings, for example that the file in TF_CLI_CONFIG_FILE does not exist.
func ParseVersion(data []byte) (string, error) {
	if words := strings.Fields(string(data)); len(words) == 3 && words[0] == "terragrunt" {
		return strings.TrimPrefix(words[2], "v"), nil
	}
	var answer struct {
		Version string `json:"terraform_version"`
	}
	if warnings, _, found := bytes.Cut(data, []byte("\n{")); found {
		data = data[len(warnings):]
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return "", fmt.Errorf("read the engine's version: %w", err)
	}
	if answer.Version == "" {
		return "", errors.New("the engine does not print its version")
	}
	return answer.Version, nil
}

// Meets reports whether a version satisfies a constraint as in required_version. As there, a prerelease counts as the
// release that it precedes; it also meets a constraint that names it.
func Meets(have, constraint string) (bool, error) {
	wanted, err := version.NewConstraint(constraint)
	if err != nil {
		return false, fmt.Errorf("version constraint %q: %w", constraint, err)
	}
	v, err := version.NewVersion(have)
	if err != nil {
		return false, fmt.Errorf("engine version %q: %w", have, err)
	}
	return wanted.Check(v.Core()) || wanted.Check(v), nil
}
