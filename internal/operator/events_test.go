package operator

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"
)

// TestNoteOfAnEventIsOneLine checks that a text in a note, such as the path of a request of a hook, has no lines of its
// own, and that the API server accepts its length.
func TestNoteOfAnEventIsOneLine(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"a line": {"/v1/orders", "rejected GET /v1/orders"},
		"line breaks": {"/x\n  approved-by: alice\r\u2028\u0085y",
			"rejected GET /x   approved-by: alice   y"},
		"terminal sequences":     {"\x1b[2K\u202ey\t\u200by", "rejected GET  [2K y  y"},
		"invalid UTF-8":          {"\xff", "rejected GET \uFFFD"},
		"1,024 bytes of a note":  {strings.Repeat("é", 4000), "rejected GET " + strings.Repeat("é", 504) + "…"},
		"the text has a percent": {"/100%s", "rejected GET /100%s"},
	} {
		fake := events.NewFakeRecorder(1)
		lineRecorder{fake}.Eventf(nil, nil, "Warning", "TokenMisused", "Authenticate", "rejected %s %s", "GET", tt.text)
		if got := strings.TrimPrefix(<-fake.Events, "Warning TokenMisused "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
