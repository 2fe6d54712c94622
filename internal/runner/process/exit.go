package process

import (
	"cmp"
	"fmt"
	"slices"
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
		return engine.Explain(events.Errors)
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
	if lines := e.LastLines(); len(lines) > 0 {
		return fmt.Sprintf("%s ended with exit code %d: %s", name, e.Code, strings.Join(lines, "; "))
	}
	return fmt.Sprintf("%s ended with exit code %d and printed nothing", name, e.Code)
}

// shownLines is how many of a program's last lines are in a message.
const shownLines = 3

// epilogues are parts of lines that programs print after the reason for a failure, and that do not have it.
var epilogues = []string{
	// git, after what ssh prints.
	"fatal: Could not read from remote repository.", "have the correct access rights", "and the repository exists.",
	// Buildah, more than once, after what a step of the Dockerfile prints.
	"subprocess exited with status",
	// Terragrunt, after its error.
	"Unable to determine underlying exit code",
}

// LastLines returns the last lines that a program printed, each once in a row, and without those that only repeat that
// it failed.
func (e Exit) LastLines() []string {
	var lines, all []string
	for line := range strings.Lines(e.Last) {
		if line = strings.TrimSpace(line); line == "" || (len(all) > 0 && all[len(all)-1] == line) {
			continue
		}
		all = append(all, line)
		if !slices.ContainsFunc(epilogues, func(part string) bool { return strings.Contains(line, part) }) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		lines = all
	}
	return lines[max(0, len(lines)-shownLines):]
}
