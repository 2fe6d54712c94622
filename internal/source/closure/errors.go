package closure

import (
	"errors"
	"fmt"
)

// Kinds of errors. A user corrects each of them, in the Stack or in the repository.
var (
	// ErrPath: the repository has no such directory. The message names the nearest one that exists.
	ErrPath = errors.New("path not found")
	// ErrNoCode: the directory has no code: no *.tf, *.tofu, *.tf.json or *.tofu.json, or no terragrunt.hcl.
	ErrNoCode = errors.New("no code")
	// ErrTerragruntStack: the directory has only a terragrunt.stack.hcl, which Cairn does not run.
	ErrTerragruntStack = errors.New("a Terragrunt stack is not supported")
	// ErrModule: code names a local module, or a file of Terragrunt's, that is not in the repository. The message has
	// the position in the code.
	ErrModule = errors.New("module not found")
	// ErrInvalidGlob: a trigger is not a valid glob over paths in the repository.
	ErrInvalidGlob = errors.New("invalid glob")
	// ErrVariableFile: a variable file is not in the repository.
	ErrVariableFile = errors.New("variable file not found")
	// ErrTooLarge: a file of code is too long, or there are too many modules.
	ErrTooLarge = errors.New("too large")
)

// Reason returns the reason of an error in a condition; "" for an error of another kind, such as a blob that could
// not be read.
func Reason(err error) string {
	for _, known := range []struct {
		err    error
		reason string
	}{
		{ErrPath, "PathNotFound"},
		{ErrNoCode, "CodeNotFound"},
		{ErrTerragruntStack, "TerragruntStackNotSupported"},
		{ErrModule, "ModuleNotFound"},
		{ErrInvalidGlob, "TriggerInvalid"},
		{ErrVariableFile, "VariableFileNotFound"},
		{ErrTooLarge, "SourceTooLarge"},
	} {
		if errors.Is(err, known.err) {
			return known.reason
		}
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
