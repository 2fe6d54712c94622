// Package redact removes secrets from text, by value: code that has a secret adds it, and every text that leaves
// the process goes through String or a Writer. It does not matter where in the text the secret is, nor whether it was
// escaped or encoded.
//
// An encoded secret is a pattern like the secret itself (forms.go). Escapes (escapes.go) and white space are no
// patterns: the text is read with and without them (matcher.go).
//
// docs/concepts/secret-values.md lists the forms, and what is not hidden: a value that was changed in another way
// (reversed, hashed, compressed, cut in two), or one that left before it was added.
package redact

import (
	"io"
	"strings"
	"sync"
)

// Mask replaces a secret.
const Mask = "(sensitive)"

// shortest is the length below which a value is left alone: hiding "1" or "dev" everywhere would hide everything.
const shortest = 4

// Redactor knows secrets and hides them. It may be used by many goroutines and may learn more secrets at any time.
type Redactor struct {
	mu       sync.RWMutex
	known    map[string]bool
	patterns patterns
}

// New returns a Redactor that knows no secret.
func New() *Redactor {
	return &Redactor{known: map[string]bool{}, patterns: newPatterns()}
}

// Add declares values secret from now on, in each of the forms they are likely to be written in. Values shorter
// than four bytes and the words true, false and null are ignored: they reveal nothing, and hiding them would hide
// everything.
func (r *Redactor) Add(values ...string) {
	for _, value := range values {
		if !r.news(value) {
			continue
		}
		value = strings.Trim(value, " \t\r\n")
		for _, encoder := range encoders {
			all := encoder.encode(value)
			r.mu.Lock()
			for _, form := range all {
				r.patterns.add(form, encoder.encoded)
			}
			r.mu.Unlock()
		}
	}
}

// news reports whether a value is worth adding and was not added before.
func (r *Redactor) news(value string) bool {
	switch short := normal(value); {
	case len(short) < shortest, short == "true", short == "false", short == "null":
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[value] {
		return false
	}
	r.known[value] = true
	return true
}

// String returns s without secrets.
func (r *Redactor) String(s string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if out, _, _ := r.patterns.scan(nil, []byte(s), 0, true, nil); string(out) != s {
		return string(out)
	}
	return s
}

// Find returns s without secrets, as String does, and what of s it has replaced.
func (r *Redactor) Find(s string) (hidden string, found []string) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out, _, _ := r.patterns.scan(nil, []byte(s), 0, true, func(match []byte) { found = append(found, string(match)) })
	if found == nil {
		return s, nil
	}
	return string(out), found
}

// Hides reports whether String would change s.
func (r *Redactor) Hides(s string) bool { return r.String(s) != s }

// Writer writes to w what is written to it, without secrets. What could be the beginning of a secret is held back
// until it is known whether it is one; Close writes what is still held back, and does not close w.
//
// A Writer is for one goroutine.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &writer{redactor: r, to: w} }

type writer struct {
	redactor *Redactor
	to       io.Writer
	// held back, of which the first covered bytes are part of a secret that Mask was already written for.
	held    []byte
	covered int
	out     []byte
}

func (w *writer) Write(p []byte) (int, error) {
	w.held = append(w.held, p...)
	if err := w.flush(false); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) Close() error { return w.flush(true) }

func (w *writer) flush(final bool) error {
	w.redactor.mu.RLock()
	out, held, covered := w.redactor.patterns.scan(w.out[:0], w.held, w.covered, final, nil)
	w.redactor.mu.RUnlock()
	w.out, w.covered = out, covered
	w.held = w.held[:copy(w.held, w.held[held:])]
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}
