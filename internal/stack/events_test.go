package stack

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"

	"cairn.dev/cairn/internal/run/runinfo"
	"cairn.dev/cairn/internal/stack/decision"
)

// TestEventMessageIsTruncated checks messages of more than 1024 bytes, which the API server rejects in an event.
func TestEventMessageIsTruncated(t *testing.T) {
	long := strings.Repeat("é", 4000)
	for name, publish := range map[string]func(Recorder){
		"a decision": func(r Recorder) {
			r.DecisionEvent(newSnapshot(), decision.Decision{Ready: "False", Reason: "RunFailed", Message: long})
		},
		"a rejection": func(r Recorder) { r.RequestRejected(newSnapshot(), runinfo.Request{Operation: "Apply"}, long) },
	} {
		recorder := events.NewFakeRecorder(1)
		publish(Recorder{recorder})
		e := strings.SplitN(<-recorder.Events, " ", 3)
		if n := len(e[2]); n > 1024 || n < 1020 || !strings.HasSuffix(e[2], "é…") {
			t.Errorf("%s: the event has %d bytes and ends with %q", name, n, e[2][len(e[2])-10:])
		}
	}
}
