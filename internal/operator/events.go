package operator

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// recorder is the recorder of all events of this process.
func recorder(mgr manager.Manager) events.EventRecorder {
	return lineRecorder{mgr.GetEventRecorder("cairn")}
}

// lineRecorder records notes of one line. A note quotes texts of pods, users and other servers: kubectl prints it as it
// is, so that with line breaks it could have lines that look like those of another field or event.
type lineRecorder struct{ events.EventRecorder }

// Eventf records an event with the note as one line that the API server accepts.
func (r lineRecorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", runinfo.Note(fmt.Sprintf(note, args...)))
}
