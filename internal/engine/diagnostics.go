package engine

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn.dev/cairn/internal/base/shorten"
)

// Diagnostic is a warning or an error.
type Diagnostic struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail,omitempty"`
	// Address of the resource it is about, or of the provider.
	Address string `json:"address,omitempty"`
	// Range is the place in the code that it is about.
	Range *Range `json:"range,omitempty"`
	// Snippet is the code there, as far as a function is called in it.
	Snippet *Snippet `json:"snippet,omitempty"`
}

// Snippet has the call in the code where a diagnostic is about a function.
type Snippet struct {
	FunctionCall *FunctionCall `json:"function_call,omitempty"`
}

// FunctionCall is the call of a function.
type FunctionCall struct {
	// CalledAs is the name in the code, with the namespace where it has one: core::file.
	CalledAs string `json:"called_as"`
}

// ReadsFile reports whether the diagnostic is about a call of a function that reads a file by its path. Engines since
// Terraform 1.4 and OpenTofu 1.6 name the function.
func (d Diagnostic) ReadsFile() bool {
	if d.Snippet == nil || d.Snippet.FunctionCall == nil {
		return false
	}
	name := strings.TrimPrefix(d.Snippet.FunctionCall.CalledAs, "core::")
	return strings.HasPrefix(name, "file") || strings.HasPrefix(name, "templatefile")
}

// PreventsDestroy reports whether the diagnostic is about a resource whose lifecycle has prevent_destroy.
func (d Diagnostic) PreventsDestroy() bool {
	return d.Summary == "Instance cannot be destroyed" || d.Summary == "Resource instance cannot be destroyed"
}

// selection is an option that limits a plan to a part of the code.
var selection = regexp.MustCompile(`(^|\s)-(target|exclude)\b`)

// AdvisesSelection reports whether the engine advises to limit the plan to a part of the code.
func (d Diagnostic) AdvisesSelection() bool { return selection.MatchString(d.Detail) }

// advice returns the detail on one line, without the sentences that advise such an option: Cairn plans all of the code.
func (d Diagnostic) advice() string {
	sentences := strings.Split(strings.Join(strings.Fields(d.Detail), " "), ". ")
	kept := slices.DeleteFunc(sentences, func(s string) bool { return selection.MatchString(s) })
	return strings.TrimSuffix(strings.Join(kept, ". "), ".")
}

// Range is a place in the code.
type Range struct {
	Filename string   `json:"filename"`
	Start    Position `json:"start"`
}

// Position is a place in a file.
type Position struct {
	Line int `json:"line"`
}

// halted is the engine's error when it was interrupted; what it interrupted follows.
const halted = "execution halted"

// prologue begins the text of an init of Terraform 1.9 and later whose code is wrong; what is wrong with it follows.
const prologue = "Terraform encountered problems during initialisation"

// FirstError returns the error that explains most of a failure: the first one, except for those that only report that
// the engine was asked to stop, or that errors follow. It is nil when there is none.
func FirstError(diagnostics []Diagnostic) *Diagnostic {
	var first *Diagnostic
	for i, d := range diagnostics {
		if d.Severity != "error" {
			continue
		}
		if d.Summary != halted && !strings.HasPrefix(d.Summary, prologue) {
			return &diagnostics[i]
		}
		if first == nil {
			first = &diagnostics[i]
		}
	}
	return first
}

// advisesFlags is what an engine advises for a required variable without a value. A Stack has no command line.
const advisesFlags = "Use a -var or -var-file command line argument to provide a value for this variable."

// withoutValue is the summary of an error about a required variable without a value.
const withoutValue = "No value for required variable"

// variableName is the name of the variable in the detail of such an error.
var variableName = regexp.MustCompile(`variable "([^"]+)"`)

// mostNamed is how many variables a message names.
const mostNamed = 20

// Explain returns the error that explains most of a failure, on one line; empty if there is none. Engines report each
// variable without a value as an error of its own: Explain names all of them.
func Explain(diagnostics []Diagnostic) string {
	first := FirstError(diagnostics)
	if first == nil {
		return ""
	}
	var names []string
	for _, d := range diagnostics {
		if d.Severity != "error" || d.Summary != withoutValue {
			continue
		}
		if m := variableName.FindStringSubmatch(d.Detail); len(m) > 1 && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	if first.Summary != withoutValue || len(names) < 2 {
		return first.String()
	}
	slices.Sort(names)
	return withoutValue + "s: " + shorten.List(names, mostNamed) +
		". Set them in spec.variables of the Stack, or set defaults in the code."
}

// String is the diagnostic on one line: what, why, where.
func (d Diagnostic) String() string {
	text := strings.Join(strings.Fields(d.Summary), " ")
	detail := strings.Join(strings.Fields(d.Detail), " ")
	if d.AdvisesSelection() {
		detail = d.advice()
	}
	detail = strings.Replace(detail, advisesFlags, "Set it in spec.variables of the Stack, or set a default "+
		"in the code.", 1)
	if detail != "" {
		text += ": " + detail
	}
	var where []string
	if d.Address != "" {
		where = append(where, d.Address)
	}
	if d.Range != nil {
		where = append(where, fmt.Sprintf("%s:%d", d.Range.file(), d.Range.Start.Line))
	}
	if len(where) > 0 {
		text += " (" + strings.Join(where, ", ") + ")"
	}
	return text
}

// file returns the path within the root module. Files outside of it are Cairn's own copies of variable files, whose
// path is of no use to a user.
func (r *Range) file() string {
	if path.IsAbs(r.Filename) || strings.HasPrefix(r.Filename, "../") {
		return path.Base(r.Filename)
	}
	return r.Filename
}

// place is the line in an engine's text with the place in the code of an error.
var place = regexp.MustCompile(`^  on (.+) line (\d+)(?:,|:|$)`)

// ReadErrors finds the errors in the text output of an engine, for when it prints no events. Of each it reads the
// fields that an event has:
//
//	Error: summary
//
//	  with address,
//	  on file line 3, in block:
//	   3: code
//
//	detail
func ReadErrors(text string) []Diagnostic {
	var all []Diagnostic
	var detail []string
	end := func() {
		if len(all) > 0 {
			all[len(all)-1].Detail = strings.Join(detail, " ")
		}
		detail = nil
	}
	within := false // an error, and not a warning
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		summary, isError := strings.CutPrefix(line, "Error: ")
		switch {
		case isError || strings.HasPrefix(line, "Warning: "):
			if within {
				end()
			}
			if within = isError && len(all) < mostErrors; within {
				all = append(all, Diagnostic{Severity: "error", Summary: summary})
			}
		case !within:
		case strings.HasPrefix(line, "  ") && len(detail) == 0:
			all[len(all)-1].locate(line)
		default:
			detail = append(detail, strings.Fields(line)...)
		}
	}
	if within {
		end()
	}
	return all
}

// locate reads a line before the detail; lines with code are ignored.
func (d *Diagnostic) locate(line string) {
	if address, ok := strings.CutPrefix(line, "  with "); ok {
		d.Address = strings.TrimSuffix(strings.TrimSuffix(address, ","), ":")
		return
	}
	if found := place.FindStringSubmatch(line); found != nil && d.Range == nil {
		if number, err := strconv.Atoi(found[2]); err == nil {
			d.Range = &Range{Filename: found[1], Start: Position{Line: number}}
		}
	}
}

// LockFailed is the summary of an engine that could not have a lock.
const LockFailed = "Error acquiring the state lock"

// HeldLock is the report of an engine about a lock that it could not acquire.
type HeldLock struct {
	// Message of the backend. Example: Already locked for workspace creation: default.
	Message string
	// ID of the lock, Who has it, since when and for what, as its backend reports; all empty when it does not.
	ID, Who, Since, Operation string
}

// heldLock is that report, on one line.
var heldLock = regexp.MustCompile(
	`^Error message: (.*) Lock Info: ID: (\S*) Path: .* ?Operation: (\S*) Who: (\S*) Version: \S* Created: (.*?) Info:`)

// LockedBy finds the report of an engine about a lock in a backend of a type.
//
// PostgreSQL's locks name no holder, and neither do some responses of http: then the engine shows the lock that it
// asked for, with its own name, as if it were the one that is held. Where a response of http names the holder it has
// the ID twice.
func LockedBy(backend string, d Diagnostic) (HeldLock, bool) {
	found := heldLock.FindStringSubmatch(strings.Join(strings.Fields(d.Detail), " "))
	if d.Summary != LockFailed || found == nil {
		return HeldLock{}, false
	}
	held := HeldLock{Message: found[1], ID: found[2], Operation: found[3], Who: found[4], Since: found[5]}
	if slices.Contains([]string{"pg", "http"}, backend) && !strings.Contains(held.Message, "ID="+held.ID) {
		_, id, _ := strings.Cut(held.Message, "ID=")
		id, _, _ = strings.Cut(id, " ")
		held = HeldLock{Message: held.Message, ID: id}
	}
	return held, true
}
