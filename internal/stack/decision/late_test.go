package decision

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// createdLate is a Run that a former leader created after the Stack had named a later one; the Stack is about to act.
func createdLate(name string) func(*Snapshot) {
	return func(w *Snapshot) {
		owner := *metav1.NewControllerRef(w.Stack, v1alpha1.GroupVersion.WithKind("Stack"))
		w.AddRuns([]v1alpha1.Run{{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{owner}}}})
		if d := Decide(*w); d.Start != nil || d.Finish {
			w.Leftover.Run = w.LateRun
		}
	}
}

func TestARunThatIsCreatedLate(t *testing.T) {
	tests := map[string]decision{
		"a user deletes the Run after it: the next one waits until it has ended": {
			world: world(namedFor("net-2", "Apply", "Spec"), createdLate("net-1")),
			ready: "Unknown", reason: "Running", message: "Run net-1 ends first: it was created late, after Run net-2 was named", requeue: leftoverRequeue,
		},
		"a destroy that a user asks for waits until it has ended": {
			world: world(lastRun("net-2"), state(3), asks("Destroy"), createdLate("net-1")),
			ready: "Unknown", reason: "Running", message: "Run net-1 ends first", requeue: leftoverRequeue,
		},
		"a Stack that a user deletes goes once it has ended": {
			world: world(deleted, lastRun("net-2"), createdLate("net-1")),
			ready: "Unknown", reason: "Running", message: "Run net-1 ends first", requeue: leftoverRequeue,
		},
		"a Stack that is Ready stays Ready": {
			world: world(applied("sha256:now"), state(3), had("net-2", "Succeeded", "sha256:now"), lastRun("net-2"), createdLate("net-1")),
			ready: "True", reason: "Applied", message: "3 resources are as declared",
		},
		"the Run after it goes on": {
			world: world(namedFor("net-2", "Apply", "Spec"), had("net-2", "Applying", "sha256:now"), createdLate("net-1")),
			ready: "Unknown", reason: "Running", message: "Run net-2 is under way",
		},
		"a Stack that a user suspends is suspended": {
			world: world(suspended, lastRun("net-2"), createdLate("net-1")),
			ready: "False", reason: "Suspended", stalled: true,
		},
	}
	decide(t, tests)
	for name, tt := range tests {
		if s := Status(tt.world, Decide(tt.world)); s.CurrentRun == "net-1" || s.LastRun != "net-2" {
			t.Errorf("%s: the status names %q, and %s as the last", name, s.CurrentRun, s.LastRun)
		}
	}
}

// What a user asked for is not lost when the Run that was named for it could not be created yet.
func TestARunThatIsCreatedLateTakesNoRequestAway(t *testing.T) {
	w := world(had("net-0", "Succeeded", "sha256:now"), applied("sha256:now"), asks("Apply"), namedFor("net-2", "Apply", "Manual"), createdLate("net-1"))
	w.Stack.Status.LastHandledRequest, w.Reserved.Run = &v1alpha1.HandledRequest{Value: "now"}, "net-2"
	w.Stack.Status = Status(w, Decide(w))
	w.LateRun, w.Leftover = "", Leftover{} // it is superseded
	if d := Decide(w); d.Start == nil || d.Name != "net-2" {
		t.Errorf("got %+v", d)
	}
}
