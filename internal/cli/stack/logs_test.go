package stack

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/userapi"
)

func TestLogOfOneStep(t *testing.T) {
	const log = "before\n── init ──\nInitializing\n── init ── not a step\n── plan ──\nplanned\n── after-plan " +
		"──\nhook\n── init ──\nagain, cut"
	for step, want := range map[string]string{
		"init":       "── init ──\nInitializing\n── init ── not a step\n── init ──\nagain, cut",
		"plan":       "── plan ──\nplanned\n",
		"after-plan": "── after-plan ──\nhook\n",
		"apply":      "",
	} {
		for _, size := range []int{1, 7, len(log)} {
			var out bytes.Buffer
			only := &stepFilter{out: &out, step: step}
			if _, err := io.CopyBuffer(only, struct{ io.Reader }{strings.NewReader(log)},
				make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			only.flush()
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Errorf("%s by %d: %s", step, size, diff)
			}
		}
	}
}

func TestWaitAfterDoublesForTooManyRequests(t *testing.T) {
	full := fmt.Errorf("logs: %w", &userapi.Error{Code: http.StatusTooManyRequests})
	wait := retryInterval
	for _, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second,
		longestWait, longestWait} {
		if wait = waitAfter(full, wait); wait != want {
			t.Errorf("%s, want %s", wait, want)
		}
	}
	if wait = waitAfter(&userapi.Error{Code: http.StatusServiceUnavailable}, wait); wait != retryInterval {
		t.Errorf("after another error: %s", wait)
	}
}
