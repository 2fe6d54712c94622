package closure

import (
	"errors"
	"fmt"
)

// Kinds of errors. A user corrects each of them, in the Stack or in the repository.
var (
	// ErrPath: the repository has no such directory. The message names the nearest one that exists.
	ErrPath error = &kind{"path not found", "PathNotFound"}
	// ErrNoCode: the directory has no code: no *.tf, *.tofu, *.tf.json or *.tofu.json, or no terragrunt.hcl.
	ErrNoCode error = &kind{"no code", "CodeNotFound"}
	// ErrTerragruntStack: the directory has only a terragrunt.stack.hcl, which Cairn does not run.
	ErrTerragruntStack error = &kind{"a Terragrunt stack is not supported", "TerragruntStackNotSupported"}
	// ErrModule: code names a local module, or a file of Terragrunt's, that is not in the repository. The message has
	// the position in the code.
	ErrModule error = &kind{"module not found", "ModuleNotFound"}
	// ErrInvalidGlob: a trigger is not a valid glob over paths in the repository.
	ErrInvalidGlob error = &kind{"invalid glob", "TriggerInvalid"}
	// ErrVariableFile: a variable file is not in the repository.
	ErrVariableFile error = &kind{"variable file not found", "VariableFileNotFound"}
	// ErrTooLarge: a file of code is too long, or there are too many modules.
	ErrTooLarge error = &kind{"too large", "SourceTooLarge"}
)

// kind of an error, and its reason in a condition.
type kind struct{ text, reason string }

func (k *kind) Error() string { return k.text }

// Reason returns the reason of an error in a condition; "" for an error of another kind, such as a blob that could
// not be read.
func Reason(err error) string {
	if k, ok := errors.AsType[*kind](err); ok {
		return k.reason
	}
	return ""
}

// failure is an error of a kind, with a message for a user.
type failure struct {
	kind    error
	message string
}

func (f *failure) Error() string { return f.message }
func (f *failure) Unwrap() error { return f.kind }

func fail(kind error, format string, args ...any) error {
	return &failure{kind, fmt.Sprintf(format, args...)}
}
