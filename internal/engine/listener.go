package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Listener reads the output of an engine that has its events among it (see Engine.PrintsEvents), keeps the events, and
// writes them as text for users. Other lines are passed on as they are.
type Listener struct {
	text     io.Writer
	events   Events
	notifier notifier
	line     []byte
	// long is true within a line that is too long, which is left out.
	long bool
}

// NewListener returns a Listener that writes to text.
func NewListener(text io.Writer) *Listener { return &Listener{text: text} }

// Notify has it call observe for the operations of an apply.
func (l *Listener) Notify(observe Observer) { l.notifier.observe = observe }

// Write takes a part of what the engine prints.
func (l *Listener) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		part, rest, whole := bytes.Cut(p, []byte("\n"))
		if l.long = l.long || len(l.line)+len(part) > longestEvent; l.long {
			l.line = nil
		} else {
			l.line = append(l.line, part...)
		}
		if p = rest; !whole {
			break
		}
		if err := l.flush(); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// Close ends the text and returns the events. A last line that is cut off counts as text: the engine may have been
// killed.
func (l *Listener) Close() (Events, error) {
	var err error
	if len(l.line) > 0 || l.long {
		err = l.flush()
	}
	l.events.Changes.Forget(l.events.Gone)
	l.events.Changes.Sort()
	return l.events, err
}

// flush handles a whole line and writes it.
func (l *Listener) flush() error {
	line := l.line
	if l.line = l.line[:0]; l.long {
		l.long = false
		line = []byte("(a line of the engine that is too long was left out)")
	}
	var e event
	if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &e) != nil || e.Type == "" {
		_, err := l.text.Write(append(line, '\n'))
		return err
	}
	l.events.add(e)
	l.notifier.of(e)
	_, err := io.WriteString(l.text, e.text())
	return err
}

// text is an event as text for users.
func (e event) text() string {
	if e.Type != "diagnostic" || e.Diagnostic == nil {
		return e.Message + "\n"
	}
	d := e.Diagnostic
	var text strings.Builder
	fmt.Fprintf(&text, "\n%s\n\n", e.Message)
	if d.Address != "" {
		fmt.Fprintf(&text, "  with %s\n", d.Address)
	}
	if d.Range != nil {
		fmt.Fprintf(&text, "  on %s line %d\n", d.Range.file(), d.Range.Start.Line)
	}
	if d.Address != "" || d.Range != nil {
		text.WriteString("\n")
	}
	if d.Detail != "" {
		fmt.Fprintf(&text, "%s\n\n", d.Detail)
	}
	return text.String()
}
