// Package screen formats Stacks and Runs as text for users. It is pure: it has no client and no clock.
package screen

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"cairn.dev/cairn/api/v1alpha1"
)

// Style is the style of the output.
type Style struct {
	// Color allows escape codes for colors.
	Color bool
	// Program is the name of the command: cairn, or kubectl cairn.
	Program string
	// Namespace is that of the flag -n, which commands for the user repeat; empty if it is not set.
	Namespace string
	// Now is the time from which ages are computed.
	Now time.Time
}

// Command is the program with the flag -n, for commands that the output suggests.
func (s Style) Command() string { return s.inNamespace(s.Program) }

// inNamespace adds the flag -n to a program.
func (s Style) inNamespace(program string) string {
	if s.Namespace == "" {
		return program
	}
	return program + " -n " + s.Namespace
}

// Escape codes for colors, which only repeat what words or signs express. All have one length, to align columns.
const (
	plain  = "00"
	bold   = "01"
	dim    = "02"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// paint colors a text.
func (s Style) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// age returns the time since t; "-" for the zero time.
func (s Style) age(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return duration.HumanDuration(s.Now.Sub(t))
}

// Duration formats a duration in a few characters.
func Duration(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", max(0, d).Seconds())
	}
	return duration.HumanDuration(d)
}

// Clean removes characters from an untrusted text that a terminal would interpret: control characters, and those that
// change the direction of the text. Line breaks and tabs become spaces.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// CleanLines cleans each line of an untrusted text.
func CleanLines(text string) string { return strings.Join(lines(text), "\n") }

// lines returns the lines of an untrusted text, each clean.
func lines(text string) []string {
	var clean []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		clean = append(clean, Clean(line))
	}
	return clean
}

// condition returns the condition of a type; an empty one if there is none.
func condition(conditions []metav1.Condition, kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// Ready returns the condition Ready of a Stack.
func Ready(s *v1alpha1.Stack) metav1.Condition {
	return condition(s.Status.Conditions, v1alpha1.ConditionReady)
}

// Succeeded returns the condition Succeeded of a Run.
func Succeeded(r *v1alpha1.Run) metav1.Condition {
	return condition(r.Status.Conditions, v1alpha1.ConditionSucceeded)
}

// Phase returns the phase of a Run; Queued for one that was not reconciled yet.
func Phase(r *v1alpha1.Run) v1alpha1.RunPhase { return cmp.Or(r.Status.Phase, v1alpha1.PhaseQueued) }

// IsApplied reports whether a Run has applied its plan.
func IsApplied(r *v1alpha1.Run) bool {
	return Phase(r) == v1alpha1.PhaseSucceeded && (r.Spec.Operation == v1alpha1.OperationApply ||
		r.Spec.Operation == v1alpha1.OperationDestroy)
}

// A page has rows of two columns, a name and a value, and lines of text.
type page struct {
	out   *tabwriter.Writer
	style Style
	err   error
}

func newPage(w io.Writer, s Style) *page {
	return &page{out: tabwriter.NewWriter(w, 0, 4, 2, ' ', 0), style: s}
}

// ready prints the name of an object, and its Ready condition.
func (p *page) ready(kind string, o metav1.Object, conditions []metav1.Condition) {
	is := condition(conditions, v1alpha1.ConditionReady)
	reason := cmp.Or(is.Reason, "New")
	switch is.Status {
	case metav1.ConditionTrue:
		reason = p.style.paint(green, "Ready: "+reason)
	case metav1.ConditionFalse:
		reason = p.style.paint(red, "not Ready: "+reason)
	default:
		reason = p.style.paint(yellow, "not Ready: "+reason)
	}
	name := fmt.Sprintf("%s %s in %s", kind, o.GetName(), o.GetNamespace())
	p.text("%s  %s", p.style.paint(bold, name), reason)
	p.message(is.Message)
}

// text prints a line without columns.
func (p *page) text(format string, args ...any) {
	p.flush()
	_, err := fmt.Fprintf(p.out, format+"\n", args...)
	p.keep(err)
	p.flush()
}

// more prints how many lines of a list are left out, after an indentation.
func (p *page) more(indent string, n int) {
	if n > 0 {
		p.text("%sand %d more", indent, n)
	}
}

// row prints a line in columns; nothing if all cells are empty.
func (p *page) row(name string, cells ...string) {
	if strings.Join(cells, "") == "" {
		return
	}
	_, err := fmt.Fprintln(p.out, strings.TrimRight(name+"\t"+strings.Join(cells, "\t"), "\t "))
	p.keep(err)
}

// message prints the message of a condition, and an empty line.
func (p *page) message(message string) {
	for _, line := range lines(message) {
		if line != "" {
			p.text("  %s", line)
		}
	}
	p.text("")
}

// title starts a section.
func (p *page) title(format string, args ...any) {
	p.text("\n%s", p.style.paint(bold, fmt.Sprintf(format, args...)))
}

func (p *page) flush() { p.keep(p.out.Flush()) }
func (p *page) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

// end returns the first error.
func (p *page) end() error {
	p.flush()
	return p.err
}
