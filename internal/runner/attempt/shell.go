package attempt

import (
	"slices"
	"strings"

	"cairn.dev/cairn/internal/runner/process"
)

// statePush is the operation of an engine that pushes a state.
const statePush = "state-push"

// deniedInShell returns true for what a user in a shell may not do after an apply whose state could not be written:
// all but put it back. What was no apply leaves no file, created nothing, and may be tried again; an older file may be
// there, which was put back.
func (s *rescuer) deniedInShell(operation string, lost []byte) bool {
	left, err := s.readErrored()
	return operation != statePush && (err != nil || left != nil && !olderState(left, lost))
}

// shellEnvironment returns what the engine gets, but that it may ask the user; and the variable files for those
// commands that take them.
func (w *workbench) shellEnvironment() ([]string, error) {
	env, err := w.aboutRun()
	if err != nil {
		return nil, err
	}
	env = slices.DeleteFunc(env, func(pair string) bool {
		return strings.HasPrefix(pair, "TF_INPUT=") || strings.HasPrefix(pair, "TF_IN_AUTOMATION=")
	})
	if args := w.files.arguments(); len(args) > 0 {
		for _, command := range takeVariables {
			env = append(env, "TF_CLI_ARGS_"+command+"="+strings.Join(args, " "))
		}
	}
	return process.WithoutNUL(env), nil
}

// takeVariables are the commands of an engine that take variable files.
var takeVariables = []string{"plan", "apply", "destroy", "import", "refresh", "console"}
