// Package engine knows the programs that plan and apply code: their arguments, the events they write, what an error
// means and which code they take. It starts no process and knows nothing of Kubernetes.
//
// An engine is a file: tofu.go, terraform.go, terragrunt.go. What they differ in is their arguments and what they
// print.
package engine

import (
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

// Engine returns the arguments of one engine's commands.
//
// Text is always without color: escape codes within a line would cut a secret in two, and it would not be detected.
type Engine interface {
	// Name for messages.
	Name() string
	// Program is the command's name.
	Program() string
	// Version asks for the version, for ParseVersion.
	Version() []string
	// Init prepares the root module. It never upgrades: plan and apply must use the same providers.
	Init(Init) []string
	// Plan finds out what is to be done. It takes no lock: it only reads the state, and what it found is checked
	// against the state again when it is applied.
	Plan(Plan) []string
	// Apply does what was planned.
	Apply(Apply) []string
	// Show prints the changes of a saved plan, as JSON.
	Show(Show) []string
	// Adopt takes one resource that exists into the state, without a plan.
	Adopt(Adopt) []string
	// Pull prints the state in clear, or nothing when there is none. It is needed only for a state that the engine
	// encrypts, or keeps in a backend of its own.
	Pull(files []string) []string
	// Push puts the state of a file into the engine's own backend, if that has none or an older one of the same
	// lineage.
	Push(Push) []string
	// Output prints all outputs, for ParseOutputs. It is needed only for a state that the engine encrypts.
	Output(files []string) []string
	// PrintsEvents reports whether a step prints its events, for a Listener, instead of text.
	PrintsEvents(Step) bool
}

// Init has the options of an init.
type Init struct {
	// Events is the file that gets the events of an engine that does not print them.
	Events string
	// VariableFiles in order; a module's source and the backend may depend on variables (OpenTofu 1.8).
	VariableFiles []string
	// Locked rejects any provider that the lock file does not name.
	Locked bool
	// Backend is a file of arguments for the backend; empty for none.
	Backend string
}

func (o Init) backend(args []string) []string {
	if o.Backend != "" {
		args = append(args, "-backend-config="+o.Backend)
	}
	return args
}

// Plan has the options of a plan.
type Plan struct {
	Events        string
	VariableFiles []string
	// Out is the file that gets the plan.
	Out string
	// Destroy plans the end of everything.
	Destroy bool
}

// Apply has the options of an apply.
type Apply struct {
	Events string
	// VariableFiles have to be those of the plan. The values are in the plan, and the engine rejects others; the files
	// are for ephemeral variables and for the keys of encrypted plans and states.
	VariableFiles []string
	// Plan is the saved plan.
	Plan string
	// Version of the engine that created the plan and applies it; empty when it is not known.
	Version string
}

// Push has the options of a push of a state.
type Push struct {
	VariableFiles []string
	// State is the file that has it.
	State string
	// Force takes any state, whatever is there.
	Force bool
}

func (o Push) args() []string {
	args := []string{"state", "push", "-no-color"}
	if o.Force {
		args = append(args, "-force")
	}
	return args
}

// Show has the options of a show.
type Show struct {
	// VariableFiles have to be those of the plan: they are for the keys of encrypted plans.
	VariableFiles []string
	// Plan is the saved plan.
	Plan string
}

func variableFiles(args, files []string) []string {
	for _, file := range files {
		args = append(args, "-var-file="+file)
	}
	return args
}

// ParseVersion reads what an engine answers to Version: JSON or, from Terragrunt, a line of text.
func ParseVersion(data []byte) (string, error) {
	if words := strings.Fields(string(data)); len(words) == 3 && words[0] == "terragrunt" {
		return strings.TrimPrefix(words[2], "v"), nil
	}
	var answer struct {
		Version string `json:"terraform_version"`
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
