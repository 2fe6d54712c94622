package closure

import (
	"errors"
	"fmt"
)

// Errors by what is wrong. All of them are for a person to correct, in the Stack or in the repository.
var (
	// ErrPath says that there is no such directory in the repository. The message names the nearest one there is.
	ErrPath = errors.New("path not found")
	// ErrNoCode says that the directory has no code: no *.tf, *.tofu, *.tf.json or *.tofu.json, or no terragrunt.hcl.
	ErrNoCode = errors.New("no code")
	// ErrTerragruntStack says that the directory has only a terragrunt.stack.hcl, which Cairn does not run.
	ErrTerragruntStack = errors.New("a Terragrunt stack is not supported")
	// ErrModule says that code names a local module, or a file of Terragrunt's, that is not in the repository. The message
	// says where.
	ErrModule = errors.New("module not found")
	// ErrInvalidGlob says that a trigger is no glob over paths in the repository.
	ErrInvalidGlob = errors.New("invalid glob")
	// ErrVariableFile says that a variable file is not in the repository.
	ErrVariableFile = errors.New("variable file not found")
	// ErrTooLarge says that a file of code is too long, or that there are too many modules.
	ErrTooLarge = errors.New("too large")
)

// Reason is what an error is called in a condition; "" for one of another kind, as when a blob could not be read.
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

// failure is an error of a kind, with a message for a person.
type failure struct {
	kind    error
	message string
}

func (f *failure) Error() string { return f.message }
func (f *failure) Unwrap() error { return f.kind }

func fail(kind error, format string, args ...any) error {
	return &failure{kind, fmt.Sprintf(format, args...)}
}
