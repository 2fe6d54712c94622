package message

import (
	"encoding/json"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
)

// TestCloudEventsAreValid reads each message with the SDK of CloudEvents.
func TestCloudEventsAreValid(t *testing.T) {
	for name, m := range messages {
		body, err := CloudEvent(m)
		if err != nil {
			t.Fatal(err)
		}
		var e event.Event
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := e.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var content data
		if err := e.DataAs(&content); err != nil || content.Count != m.Count || !e.Time().Equal(at) || e.ID() != m.ID {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}
