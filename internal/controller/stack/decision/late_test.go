package decision

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// createdLate is a Run that a former leader created after a later one was reserved.
func createdLate(name string) func(*Snapshot) {
	return func(w *Snapshot) {
		owner := *metav1.NewControllerRef(w.Stack, v1alpha1.GroupVersion.WithKind("Stack"))
		w.AddRuns([]v1alpha1.Run{
			{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{owner}}}})
		if d := Decide(*w); d.Start != nil || d.Finish {
			w.Leftover.Run = w.LateRun
		}
	}
}

func TestLateRun(t *testing.T) {
	tests := map[string]decision{
		"a user deletes the Run after it: the next one waits until it has ended": {
			snapshot: newSnapshot(reservedFor("net-2", "Apply", "Spec"), createdLate("net-1")),
			ready:    "Unknown", reason: "Running", message: "Run net-1 ends first: it was created late, after Run " +
				"net-2 was named", requeue: leftoverRequeue,
		},
		"a destroy that a user requests waits until it has ended": {
			snapshot: newSnapshot(lastRun("net-2"), state(3), withRequest("Destroy"), createdLate("net-1")),
			ready:    "Unknown", reason: "Running", message: "Run net-1 ends first", requeue: leftoverRequeue,
		},
		"a Stack that a user deletes is removed once it has ended": {
			snapshot: newSnapshot(deleted, lastRun("net-2"), createdLate("net-1")),
			ready:    "Unknown", reason: "Running", message: "Run net-1 ends first", requeue: leftoverRequeue,
		},
		"a Ready Stack stays Ready": {
			snapshot: newSnapshot(applied("sha256:now"), state(3), withRun("net-2", "Succeeded", "sha256:now"),
				lastRun("net-2"), createdLate("net-1")),
			ready: "True", reason: "Applied", message: "Up to date (3 resources)",
		},
		"the Run after it continues": {
			snapshot: newSnapshot(reservedFor("net-2", "Apply", "Spec"), withRun("net-2", "Applying", "sha256:now"),
				createdLate("net-1")),
			ready: "Unknown", reason: "Running", message: "Run net-2 is under way",
		},
		"a Stack that a user suspends is suspended": {
			snapshot: newSnapshot(suspended, lastRun("net-2"), createdLate("net-1")),
			ready:    "False", reason: "Suspended", stalled: true,
		},
	}
	decide(t, tests)
	for name, tt := range tests {
		if s := Status(tt.snapshot, Decide(tt.snapshot)); s.CurrentRun == "net-1" || s.LastRun != "net-2" {
			t.Errorf("%s: the status names %q, and %s as the last", name, s.CurrentRun, s.LastRun)
		}
	}
}

// TestLateRunKeepsTheRequest checks that a requested Run is created later if a late Run delayed it.
func TestLateRunKeepsTheRequest(t *testing.T) {
	w := newSnapshot(withRun("net-0", "Succeeded", "sha256:now"), applied("sha256:now"), withRequest("Apply"),
		reservedFor("net-2", "Apply", "Manual"), createdLate("net-1"))
	w.Stack.Status.LastHandledRequest, w.Reserved.Run = &v1alpha1.HandledRequest{Value: "now"}, "net-2"
	w.Stack.Status = Status(w, Decide(w))
	w.LateRun, w.Leftover = "", Leftover{} // it is superseded
	if d := Decide(w); d.Start == nil || d.Name != "net-2" {
		t.Errorf("got %+v", d)
	}
}
