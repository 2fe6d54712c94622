package engine

import (
	"fmt"
	"path"
	"strings"
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

// Snippet says what the code calls where a diagnostic is about a function.
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

// FirstError gives the error that says most about a failure: the first one, but for those that only say that the engine
// was told to stop, or that errors follow. It is nil when there is none.
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

// String is the diagnostic on one line: what, why, where.
func (d Diagnostic) String() string {
	text := strings.Join(strings.Fields(d.Summary), " ")
	if detail := strings.Join(strings.Fields(d.Detail), " "); detail != "" {
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

// file gives the path within the root module. What lies outside of it are Cairn's own copies of variable files, whose
// place means nothing to a person.
func (r *Range) file() string {
	if path.IsAbs(r.Filename) || strings.HasPrefix(r.Filename, "../") {
		return path.Base(r.Filename)
	}
	return r.Filename
}
