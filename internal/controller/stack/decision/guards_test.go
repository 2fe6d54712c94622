package decision

import "testing"

// TestDeletedStackWaitsForItsDestroy checks that the finalizer stays until the destroy has ended: its last write may
// empty the state before its pod has ended.
func TestDeletedStackWaitsForItsDestroy(t *testing.T) {
	w := newSnapshot(deleted, state(0), withRun("net-2", "Applying", "sha256:last", destroyOperation))
	if d := Decide(w); d.Finish || d.Reason != "Destroying" {
		t.Errorf("got %+v", d)
	}
	// and the State may be deleted
	w = newSnapshot(deleted, withRun("net-2", "Planning", "sha256:last", destroyOperation))
	if d := Decide(w); d.Finish {
		t.Errorf("got %+v", d)
	}
}

// TestStackWithAnUnreadableStateIsDestroyed checks that a state which the engine encrypts counts as empty only after a
// successful destroy.
func TestStackWithAnUnreadableStateIsDestroyed(t *testing.T) {
	if d := Decide(newSnapshot(deleted, state(-1))); d.Finish || d.Start == nil {
		t.Errorf("got %+v", d)
	}
	if d := Decide(newSnapshot(deleted, state(-1), withRun("net-2", "Succeeded", "sha256:last",
		destroyOperation))); !d.Finish {
		t.Errorf("got %+v", d)
	}
}
