package attempt

import (
	"context"
	"errors"
	"syscall"

	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/interrupt"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runner/report"
	"cairn.dev/cairn/internal/runnerapi"
)

// programError is the failure of the engine, or of a hook.
type programError struct {
	class    engine.Class
	message  string
	exitCode int32
}

func (e *programError) Error() string { return e.message }

// preventedError is the failure of a plan that would destroy a resource with prevent_destroy.
type preventedError struct{ *programError }

func (e *preventedError) Unwrap() error { return e.programError }

// canceled is the class of an attempt that a user canceled: it is not retried.
const canceled = runnerapi.FailureCanceled

// stranded is the class of an attempt whose state is nowhere but in the pod's log, or not even there. It must not be
// retried: what it created would be created twice.
const stranded = runnerapi.FailureStateNotSaved

// strandedError is why a state could be neither written nor rescued.
type strandedError struct{ error }

// ErrStranded is that, when it could not even be reported: the program's exit code reports it.
var ErrStranded = errors.New("the state could be neither written nor rescued")

// exitCode returns the exit code of the program that failed, if one did.
func exitCode(err error) *int32 {
	if failed, ok := errors.AsType[*programError](err); ok {
		return &failed.exitCode
	}
	return nil
}

// failure returns what is reported of an error. When the attempt timed out, was canceled or interrupted, that is the
// reason, whatever it broke, unless a state could not be saved. note is added to a message about the code; nil for
// none.
func (j *job) failure(ctx context.Context, err error, note func() string) *runnerapi.Failure {
	class, reason, message := string(engine.Transient), "", err.Error()
	var failed *programError
	var denied *deniedError
	var stopped *interrupt.CanceledError
	var refused *engine.Rejection
	var lost *strandedError
	switch {
	case errors.As(err, &lost):
		class = stranded
	case ctx.Err() != nil:
		cause := context.Cause(ctx)
		message = cause.Error()
		switch {
		case errors.As(cause, &stopped):
			class = canceled
		case errors.Is(cause, interrupt.ErrStopping):
			reason = runnerapi.ReasonInterrupted
		}
	case errors.As(err, &failed):
		class = string(failed.class)
		if _, prevented := errors.AsType[*preventedError](err); prevented {
			reason = runnerapi.ReasonPreventDestroy
		}
	case errors.As(err, &denied):
		class = policy
	case errors.As(err, &refused):
		class, reason = string(engine.ConfigurationError), refused.Code
	}
	if lost == nil && denied == nil && refused == nil && ctx.Err() == nil && j.diskFull(err) { // whatever that broke
		class, reason = string(engine.Transient), runnerapi.ReasonDiskFull
		message = "the pod's disk is full: set a request for ephemeral-storage in spec.runner.resources, or " +
			"delete what fills it: " + message
	}
	if class == string(engine.ConfigurationError) && note != nil {
		message = j.clean(message)
		if about := j.clean(note()); about != "" {
			message = shorten.Bytes(message, max(report.LongestMessage-len(about), report.LongestMessage/2)) + about
		}
	}
	return &runnerapi.Failure{Class: class, Reason: reason, Message: j.clean(message)}
}

// diskFull reports whether an attempt failed while a disk that it writes to was full. Engines and hooks report it
// only as a text.
func (j *job) diskFull(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	tmp := process.Variable(j.Environ, "TMPDIR") // where there is none, it is in the workspace
	return process.DiskFull(j.code()) || tmp != "" && process.DiskFull(tmp)
}
