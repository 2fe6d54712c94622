// Package screen draws what people see of Stacks and Runs: objects in, text out. It asks nobody anything, and has no clock.
package screen

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"cairn.dev/cairn/api/v1alpha1"
)

// Style is how a screen is drawn.
type Style struct {
	// Color says that escape codes for colors may be used.
	Color bool
	// Program is how the command line is called: cairn, or kubectl cairn.
	Program string
	// Now is the time that ages are told from.
	Now time.Time
}

// Escape codes for colors; what they color is always said in words or signs too. All are of one length, or columns
// would not be straight.
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

// age is how long ago something was; "-" when it was never.
func (s Style) age(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return duration.HumanDuration(s.Now.Sub(t))
}

// Took is how long something took, in a few characters.
func Took(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", max(0, d).Seconds())
	}
	return duration.HumanDuration(d)
}

// Clean is a text of strangers without what would steer a terminal: control characters, and those that turn the direction of
// the text around. Line breaks and tabs become spaces.
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

// CleanLines is a text of strangers of several lines, each clean.
func CleanLines(text string) string { return strings.Join(lines(text), "\n") }

// lines are the lines of a text of strangers, each clean.
func lines(text string) []string {
	var clean []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		clean = append(clean, Clean(line))
	}
	return clean
}

// condition of a type; an empty one when there is none.
func condition(conditions []metav1.Condition, kind string) metav1.Condition {
	for _, c := range conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// Ready is what a Stack's condition Ready says.
func Ready(s *v1alpha1.Stack) metav1.Condition {
	return condition(s.Status.Conditions, v1alpha1.ConditionReady)
}

// Succeeded is what a Run's condition Succeeded says.
func Succeeded(r *v1alpha1.Run) metav1.Condition {
	return condition(r.Status.Conditions, v1alpha1.ConditionSucceeded)
}

// Phase is how far a Run is; one that was not reconciled yet is queued.
func Phase(r *v1alpha1.Run) v1alpha1.RunPhase {
	if r.Status.Phase == "" {
		return v1alpha1.PhaseQueued
	}
	return r.Status.Phase
}

// A page has lines of two columns: what it is, and what is to be said of it.
type page struct {
	out *tabwriter.Writer
	sty Style
	err error
}

func newPage(w io.Writer, s Style) *page {
	return &page{out: tabwriter.NewWriter(w, 0, 4, 2, ' ', 0), sty: s}
}

// text prints what is not in columns.
func (p *page) text(format string, args ...any) {
	p.flush()
	_, err := fmt.Fprintf(p.out, format+"\n", args...)
	p.keep(err)
	p.flush()
}

// row prints a line in columns; nothing when it has nothing to say.
func (p *page) row(name string, cells ...string) {
	if strings.Join(cells, "") == "" {
		return
	}
	_, err := fmt.Fprintln(p.out, strings.TrimRight(name+"\t"+strings.Join(cells, "\t"), "\t "))
	p.keep(err)
}

// said shows what a condition says, and an empty line.
func (p *page) said(message string) {
	for _, line := range lines(message) {
		if line != "" {
			p.text("  %s", line)
		}
	}
	p.text("")
}

// title begins a part.
func (p *page) title(format string, args ...any) {
	p.text("\n%s", p.sty.paint(bold, fmt.Sprintf(format, args...)))
}

func (p *page) flush() { p.keep(p.out.Flush()) }
func (p *page) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

// end gives the first error.
func (p *page) end() error {
	p.flush()
	return p.err
}
