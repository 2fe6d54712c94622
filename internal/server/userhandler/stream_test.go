package userhandler

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// A log comes in pieces that are cut anywhere, and is sent in whole characters, each with the place that it leads to.
func TestLogPiecesAreWholeCharacters(t *testing.T) {
	const text = "añ€😀z"
	for cut := range len(text) + 1 {
		w := httptest.NewRecorder()
		p := &logPieces{events: newEventStream(w), at: 100}
		for _, part := range []string{text[:cut], text[cut:]} {
			if err := p.send([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.end(); err != nil {
			t.Fatal(err)
		}
		got := w.Body.String()
		if strings.Contains(got, "�") || !strings.Contains(got, "id: 111\n") ||
			!strings.HasSuffix(got, "event: end\ndata: {}\n\n") {
			t.Errorf("cut at %d: %q", cut, got)
		}
	}
}

// Invalid text delays nothing.
func TestLogPiecesOfInvalidText(t *testing.T) {
	w := httptest.NewRecorder()
	p := &logPieces{events: newEventStream(w)}
	for _, part := range []string{"\xff\xfe\x80\x80\x80\x80\x80", "\xf0", "x", "\xe2\x82"} {
		if err := p.send([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	if got := w.Body.String(); !strings.Contains(got, "id: 11\n") || strings.Count(got, "event: log") != 3 {
		t.Errorf("%q", got)
	}
}
