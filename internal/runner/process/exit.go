package process

import (
	"cmp"
	"fmt"
	"strings"
	"syscall"

	"cairn.dev/cairn/internal/engine"
)

// Exit is how a program ended.
type Exit struct {
	Code int32
	// Signal is the one that ended the program, if one did.
	Signal syscall.Signal
	// Last is the end of what it printed.
	Last string
	// Events are those that it printed.
	Events engine.Events

	// outOfMemory is the message that the kernel killed the program, or another process meanwhile, for the
	// container's memory, with what to do; maybeOutOfMemory what to do when that is possible and cannot be known.
	outOfMemory, maybeOutOfMemory string
}

// OutOfMemory reports whether the kernel killed the program, or another process meanwhile, for the container's memory.
func (e Exit) OutOfMemory() bool { return e.outOfMemory != "" }

// Interrupted reports whether a signal or the kernel ended the program or a process that it needed: the same program
// may succeed the next time.
func (e Exit) Interrupted() bool { return e.Signal != 0 || e.OutOfMemory() }

// engineTooOld is what an OpenTofu before 1.12 prints.
const engineTooOld = "not defined: -json-into"

// EngineTooOld reports whether the program is an engine without an option that Cairn needs.
func (e Exit) EngineTooOld() bool { return strings.Contains(e.Last, engineTooOld) }

// Explain returns why a program failed: the first error of its events or, without one, what is known otherwise.
func (e Exit) Explain(name string, events engine.Events) string {
	message := e.explain(name, events)
	if e.OutOfMemory() && e.Signal != syscall.SIGKILL { // the kernel killed another process, a provider's most likely
		message += "; a process was killed: " + e.outOfMemory
	}
	return message
}

func (e Exit) explain(name string, events engine.Events) string {
	killed := e.Signal == syscall.SIGKILL
	if first := engine.FirstError(events.Errors); first != nil && !killed {
		return first.String()
	}
	memory := cmp.Or(e.outOfMemory, e.maybeOutOfMemory)
	switch {
	case killed && memory != "":
		return name + " was killed (SIGKILL): " + memory
	case killed:
		return name + " was killed (SIGKILL), and not for the container's memory"
	case e.Signal != 0:
		return fmt.Sprintf("%s was ended by a signal: %s", name, e.Signal)
	case e.EngineTooOld():
		return "this image's " + name + " is too old for Cairn, which needs 1.12 or later"
	}
	lines := strings.Split(strings.TrimSpace(e.Last), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return fmt.Sprintf("%s ended with exit code %d: %s", name, e.Code, last)
	}
	return fmt.Sprintf("%s ended with exit code %d and printed nothing", name, e.Code)
}
