package decision

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// heldBy returns what the status of a pull request has, released or not.
func heldBy(uid string, since time.Duration, released v1alpha1.HoldEnd) HoldRequest {
	return HoldRequest{Released: released, StackHold: v1alpha1.StackHold{
		Namespace: "web", Name: "infra-" + uid, UID: types.UID(uid), Number: 12, Head: "head of " + uid,
		Since: metav1.NewTime(now.Add(since)),
	}}
}

func TestNextHold(t *testing.T) {
	first, second := heldBy("a", 0, ""), heldBy("b", time.Minute, "")
	known := &first.StackHold
	left := func(reason v1alpha1.HoldEnd) *v1alpha1.EndedHold {
		return &v1alpha1.EndedHold{Number: 12, Head: "head of a", Reason: reason}
	}
	newer := first
	newer.Head = "another head"
	for name, tt := range map[string]struct {
		known    *v1alpha1.StackHold
		before   *v1alpha1.EndedHold
		requests []HoldRequest
		want     *v1alpha1.StackHold
		ended    *v1alpha1.EndedHold
	}{
		"none":                             {nil, nil, nil, nil, nil},
		"a pull request is applied":        {nil, nil, []HoldRequest{first}, known, nil},
		"the first of two":                 {nil, nil, []HoldRequest{second, first}, known, nil},
		"the second one waits for its end": {&second.StackHold, nil, []HoldRequest{first, second}, &second.StackHold, nil},
		"another head is applied":          {known, nil, []HoldRequest{newer}, &newer.StackHold, nil},
		"it is merged":                     {known, nil, []HoldRequest{heldBy("a", 0, "Merged")}, nil, nil},
		"it is closed":                     {known, nil, []HoldRequest{heldBy("a", 0, "Closed")}, nil, left("Closed")},
		"a user unlocks it":                {known, nil, []HoldRequest{heldBy("a", 0, "Unlocked")}, nil, left("Unlocked")},
		"its object is deleted":            {known, nil, nil, nil, left("Deleted")},
		"it is closed, and the next one is applied": {
			known, nil, []HoldRequest{heldBy("a", 0, "Closed"), second}, &second.StackHold, left("Closed"),
		},
		"what ended before stays known": {nil, left("Closed"), []HoldRequest{second}, &second.StackHold, left("Closed")},
		"it ended before it was known":  {nil, nil, []HoldRequest{heldBy("a", 0, "Unlocked")}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, ended := NextHold(tt.known, tt.before, tt.requests)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the hold:\n%s", diff)
			}
			if diff := cmp.Diff(tt.ended, ended); diff != "" {
				t.Errorf("the ended one:\n%s", diff)
			}
		})
	}
}

// TestEndedHoldRequiresAnApproval checks that what a pull request applied that was not merged is left by an approved
// plan only, until something else is applied.
func TestEndedHoldRequiresAnApproval(t *testing.T) {
	closed := func(w *Snapshot) {
		w.EndedHold = &v1alpha1.EndedHold{Number: 12, Head: "b0b", Reason: v1alpha1.HoldClosed}
	}
	w := newSnapshot(closed, applied("sha256:of pull"), withRun("net-1", "Succeeded", "sha256:of pull"))
	d := Decide(w)
	if d.Start == nil || d.Start.AfterHold != "pull request 12, which was closed without a merge" {
		t.Fatalf("the Run of the base is %+v", d.Start)
	}
	if s := Status(w, d); s.EndedHold == nil {
		t.Error("it is forgotten before the base is applied")
	}
	w = newSnapshot(closed, applied("sha256:now"), withRun("net-1", "Succeeded", "sha256:now"))
	if s := Status(w, Decide(w)); s.EndedHold != nil {
		t.Errorf("nothing of it is applied, and it stays: %+v", s.EndedHold)
	}
	w.Problem = &Problem{Reason: v1alpha1.ReasonPathNotFound}
	if s := Status(w, Decide(w)); s.EndedHold == nil {
		t.Error("it is forgotten while it is not known what is declared")
	}
}

func TestUpstreamIsHeld(t *testing.T) {
	hold := heldBy("a", 0, "").StackHold
	upstream := func(w *Snapshot) { w.Dependencies = []Dependency{{Name: "vpc", Hold: &hold}} }
	decide(t, map[string]decision{
		"a change waits": {
			snapshot: newSnapshot(upstream), ready: "Unknown", reason: "UpstreamHeld",
			message: "waits for Stack vpc, to which pull request 12 is applied before its merge",
		},
		"so does a request of a user": {
			snapshot: newSnapshot(upstream, isApplied, withRequest("Apply")), ready: "Unknown", reason: "UpstreamHeld",
		},
		"the same pull request is applied to both": {
			snapshot: newSnapshot(upstream, func(w *Snapshot) { w.Hold = &hold }), start: "Apply net-1", ready: "Unknown", reason: "Running",
		},
		"another one is applied to this one": {
			snapshot: newSnapshot(upstream, func(w *Snapshot) { w.Hold = &v1alpha1.StackHold{UID: "b"} }), ready: "Unknown", reason: "UpstreamHeld",
		},
		"a Stack that is up to date does not wait": {
			snapshot: newSnapshot(upstream, isApplied), ready: "True", reason: "Applied",
		},
	})
}
