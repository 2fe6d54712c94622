package decision

import "testing"

// The last write of a destroy may empty the state some time before its pod has ended.
func TestADeletedStackStaysWhileItsDestroyIsUnderWay(t *testing.T) {
	w := world(deleted, state(0), had("net-2", "Applying", "sha256:kept", destroys))
	if d := Decide(w); d.Finish || d.Reason != "Destroying" {
		t.Errorf("got %+v", d)
	}
	w = world(deleted, had("net-2", "Planning", "sha256:kept", destroys)) // and the State may be gone
	if d := Decide(w); d.Finish {
		t.Errorf("got %+v", d)
	}
}

// What the engine encrypts may hold anything: only a destroy that went well says that nothing is left.
func TestAStateThatCannotBeLookedIntoIsDestroyed(t *testing.T) {
	if d := Decide(world(deleted, state(-1))); d.Finish || d.Start == nil {
		t.Errorf("got %+v", d)
	}
	if d := Decide(world(deleted, state(-1), had("net-2", "Succeeded", "sha256:kept", destroys))); !d.Finish {
		t.Errorf("got %+v", d)
	}
}
