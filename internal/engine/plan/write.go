package plan

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Style is how a View is written.
type Style struct {
	// Color puts in the codes for terminals.
	Color bool
}

// widest is the longest path that the values beside it are aligned to.
const widest = 40

// Write writes the plan for a terminal, as users know it from the engines: + - ~ -/+, and a summary at the end.
// What ends a resource comes first. Control characters in it are escaped, and long values are cut.
func (v View) Write(w io.Writer, style Style) error {
	p := &printer{Writer: bufio.NewWriter(w), style: style}
	for _, c := range v.Changes {
		p.change(c)
	}
	if len(v.Outputs) > 0 {
		p.line(p.bold("Changes to outputs:"))
		var all []Attribute
		for _, o := range v.Outputs {
			all = append(all, o.Attributes...)
		}
		p.attributes(all, "")
		p.line("")
	}
	p.line(p.bold(v.Summary()))
	return p.Flush()
}

// Text writes the plan without color.
func Text(w io.Writer, v View) error { return v.Write(w, Style{}) }

// Summary is the line at the end of a plan, with the numbers as the engines count: a replacement adds one and
// destroys one. Example: Plan: 3 to add, 1 to change, 0 to destroy.
func (v View) Summary() string {
	n := map[string]int{}
	for _, c := range v.Changes {
		n[c.Action]++
		if c.Importing != "" && c.Action != Import {
			n[Import]++
		}
	}
	switch {
	case v.onlyRefreshes(n):
		return v.refreshed(n)
	case len(v.Changes)-n[Read] > 0:
	case len(v.Outputs) > 0:
		return "Plan: only outputs change."
	case n[Read] > 0:
		return "Plan: nothing changes; data sources are read."
	default:
		return "No changes."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Plan: %d to add, %d to change, %d to destroy",
		n[Create]+n[Replace], n[Update], n[Delete]+n[Replace])
	for _, more := range []struct{ action, form string }{
		{Replace, " (%d to replace)"}, {Import, ", %d to import"}, {Forget, ", %d to forget"}, {Move, ", %d to move"},
		{Invoke, ", %d to invoke"},
	} {
		if n[more.action] > 0 {
			fmt.Fprintf(&b, more.form, n[more.action])
		}
	}
	return b.String() + "."
}

// onlyRefreshes reports whether the apply changes nothing but the state, for the numbers of changes by action.
func (v View) onlyRefreshes(n map[string]int) bool {
	return v.RefreshOnly && n[Refresh]+n[Forget]+n[Move] == len(v.Changes) && len(v.Changes)+len(v.Outputs) > 0
}

// refreshed is the Summary of a plan with -refresh-only.
func (v View) refreshed(n map[string]int) string {
	var parts []string
	outputs := "outputs"
	if len(v.Outputs) == 1 {
		outputs = "output"
	}
	for _, part := range []struct {
		n    int
		form string
	}{
		{n[Refresh], "%d to refresh"}, {n[Forget], "%d to forget"}, {n[Move], "%d to move"},
		{len(v.Outputs), "%d " + outputs + " to update"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf(part.form, part.n))
		}
	}
	return "Plan, of the state alone: " + strings.Join(parts, ", ") + ". No resource is changed."
}

// Codes for a terminal.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

// form is how a change of a kind is printed.
type form struct{ symbol, color, words string }

var forms = map[string]form{
	Delete:  {"-", red, "will be destroyed"},
	Replace: {"-/+", red, "will be replaced"},
	Forget:  {".", red, "will be removed from the state, but not destroyed"},
	Invoke:  {"!", yellow, "will be invoked"},
	Update:  {"~", yellow, "will be changed"},
	Create:  {"+", green, "will be created"},
	Import:  {"", "", "will be imported"},
	Refresh: {"~", cyan, "changed outside of Cairn, and the state will have this"},
	Move:    {"", "", "will be moved"},
	Read:    {"<=", cyan, "will be read"},
}

// printer writes for a terminal. Its Writer keeps the first error.
type printer struct {
	*bufio.Writer
	style Style
}

func (p *printer) line(s string) {
	_, _ = p.WriteString(s) // Flush returns the error
	_ = p.WriteByte('\n')
}

func (p *printer) paint(code, s string) string {
	if !p.style.Color || code == "" || s == "" {
		return s
	}
	return code + s + reset
}

func (p *printer) bold(s string) string { return p.paint(bold, s) }

// signed puts the symbol of a change before a line, in a column of its own.
func (p *printer) signed(indent int, symbol, color, line string) {
	blank := indent - utf8.RuneCountInString(symbol)
	p.line(strings.TrimRight(fmt.Sprintf("%*s%s %s", blank, "", p.paint(color, symbol), line), " "))
}

func (p *printer) change(c Change) {
	f := forms[c.Action]
	if c.CreateFirst {
		f.symbol, f.words = "+/-", "will be replaced, the new one first"
	}
	about := escape(c.Address)
	if c.Deposed != "" {
		about += " (deposed object " + escape(c.Deposed) + ")"
	}
	p.signed(3, f.symbol, f.color, p.bold(about)+" "+f.words)
	if c.Reason != "" {
		p.line("      # " + escape(c.Reason))
	}
	if c.Previous != "" {
		p.line("      # it was " + escape(c.Previous))
	}
	if c.Importing != "" {
		p.line("      # imported by " + text(c.Importing))
		if c.Action == Replace {
			p.line("      # this destroys what is imported")
		}
	}
	p.attributes(c.Attributes, c.Action)
	if c.Unchanged > 0 && c.Action != Import && c.Action != Move && c.Action != Delete {
		noun := "attributes"
		if c.Unchanged == 1 {
			noun = "attribute"
		}
		p.line(fmt.Sprintf("      # %d %s unchanged", c.Unchanged, noun))
	}
	p.line("")
}

func (p *printer) attributes(all []Attribute, action string) {
	width := 0
	for _, a := range all {
		if n := utf8.RuneCountInString(escape(a.Path)); n <= widest {
			width = max(width, n)
		}
	}
	for _, a := range all {
		p.attribute(a, width, action)
	}
}

func (p *printer) attribute(a Attribute, width int, action string) {
	f := forms[Update]
	switch {
	case a.Before == nil:
		f = forms[Create]
	case a.After == nil && !a.Unknown:
		f = forms[Delete]
	}
	if action == Read {
		f = forms[Create]
	}
	name := fmt.Sprintf("%-*s = ", width, escape(a.Path))
	note := ""
	if a.Forces {
		note = p.paint(red, " # forces replacement")
	}
	if kind, all := lines(a); all != nil {
		p.signed(7, f.symbol, f.color, name+"<<"+kind+note)
		for _, l := range all {
			p.signed(11, l.symbol, forms[l.action].color, l.text)
		}
		p.line("        " + kind)
		return
	}
	after := brief(a.After, a.Sensitive)
	if a.Unknown {
		after = "(known after apply)"
	}
	value := cmp.Or(after, brief(a.Before, a.Sensitive))
	switch {
	case a.Before == nil || f == forms[Delete]:
	case a.Sensitive && after == Hidden:
	default:
		value = brief(a.Before, a.Sensitive) + " -> " + after
	}
	p.signed(7, f.symbol, f.color, name+value+note)
}
