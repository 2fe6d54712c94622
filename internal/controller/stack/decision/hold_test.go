package decision

import (
	"strings"
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
	until := func(r HoldRequest, deadline time.Duration) HoldRequest {
		r.Deadline = &metav1.Time{Time: now.Add(deadline)}
		return r
	}
	later, over, secondOver := until(first, time.Second), until(first, 0), until(second, 0)
	for name, tt := range map[string]struct {
		known    *v1alpha1.StackHold
		before   *v1alpha1.EndedHold
		requests []HoldRequest
		want     *v1alpha1.StackHold
		ended    *v1alpha1.EndedHold
		applying bool
	}{
		"none":                      {nil, nil, nil, nil, nil, false},
		"a pull request is applied": {nil, nil, []HoldRequest{first}, known, nil, false},
		"the first of two":          {nil, nil, []HoldRequest{second, first}, known, nil, false},
		"the second one waits for its end": {&second.StackHold, nil, []HoldRequest{first, second}, &second.StackHold,
			nil, false},
		"another head is applied": {known, nil, []HoldRequest{newer}, &newer.StackHold, nil, false},
		"it is merged":            {known, nil, []HoldRequest{heldBy("a", 0, "Merged")}, nil, nil, false},
		"it is closed":            {known, nil, []HoldRequest{heldBy("a", 0, "Closed")}, nil, left("Closed"), false},
		"a user unlocks it": {known, nil, []HoldRequest{heldBy("a", 0, "Unlocked")}, nil, left("Unlocked"),
			false},
		"its object is deleted": {known, nil, nil, nil, left("Deleted"), false},
		"it is closed, and the next one is applied": {
			known, nil, []HoldRequest{heldBy("a", 0, "Closed"), second}, &second.StackHold, left("Closed"), false,
		},
		"what ended before stays known": {nil, left("Closed"), []HoldRequest{second}, &second.StackHold, left("Closed"),
			false},
		"it ended before it was known": {nil, nil, []HoldRequest{heldBy("a", 0, "Unlocked")}, nil, nil, false},
		"its deadline is later":        {known, nil, []HoldRequest{later}, &later.StackHold, nil, false},
		"its deadline has passed":      {known, nil, []HoldRequest{over}, nil, left("Expired"), false},
		"and an apply is in progress":  {known, nil, []HoldRequest{over}, &over.StackHold, nil, true},
		"it is closed during an apply": {known, nil, []HoldRequest{heldBy("a", 0, "Closed")}, nil, left("Closed"),
			true},
		"its deadline has passed, and the next one is applied": {
			known, nil, []HoldRequest{over, second}, &second.StackHold, left("Expired"), false,
		},
		"its deadline passed before it was known":       {nil, nil, []HoldRequest{secondOver}, nil, nil, false},
		"so it did while another apply was in progress": {nil, nil, []HoldRequest{secondOver}, nil, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ended := NextHold(now, tt.applying, tt.known, tt.before, tt.requests)
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
	w = newSnapshot(closed, applied("sha256:now"), withRun("net-1", "Applying", "sha256:of pull"))
	if s := Status(w, Decide(w)); s.EndedHold == nil {
		t.Error("it is forgotten while a Run applies the code of the pull request")
	}
	w = newSnapshot(closed, applied("sha256:now"), withRun("net-1", "Succeeded", "sha256:now"))
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
			snapshot: newSnapshot(upstream, func(w *Snapshot) { w.Hold = &hold }), start: "Apply net-1",
			ready: "Unknown", reason: "Running",
		},
		"another one is applied to this one": {
			snapshot: newSnapshot(upstream, func(w *Snapshot) {
				w.Hold = &v1alpha1.StackHold{UID: "b"}
			}), ready: "Unknown", reason: "UpstreamHeld",
		},
		"a Stack that is up to date does not wait": {
			snapshot: newSnapshot(upstream, isApplied), ready: "True", reason: "Applied",
		},
	})
}

// TestHoldIsReadAtItsDeadline checks that a Stack is reconciled when its hold ends, and shows when that is.
func TestHoldIsReadAtItsDeadline(t *testing.T) {
	hold := heldBy("a", 0, "").StackHold
	hold.Deadline = &metav1.Time{Time: now.Add(time.Minute)}
	w := newSnapshot(isApplied, func(w *Snapshot) { w.Hold = &hold })
	d := Decide(w)
	want := "; pull request 12 is applied, and stays until it is merged or closed, or until " +
		hold.Deadline.UTC().Format("2006-01-02 15:04 UTC")
	if d.RequeueAfter != time.Minute || !strings.HasSuffix(d.Message, want) {
		t.Errorf("again after %s: %s", d.RequeueAfter, d.Message)
	}
	w.Now = hold.Deadline.Time // an apply is in progress: its end is an event
	if d := Decide(w); d.RequeueAfter != 0 {
		t.Errorf("again after %s", d.RequeueAfter)
	}
}

// The Run of what a pull request changes has in its spec what that needs to be applied. A plan, a
// destroy and the Runs of the base need nothing.
func TestRunOfAHoldHasTheRequirements(t *testing.T) {
	hold := heldBy("a", 0, "").StackHold
	held := func(w *Snapshot) {
		w.Hold, w.Requirements = &hold, []v1alpha1.Requirement{v1alpha1.RequirementApproved}
	}
	for name, tt := range map[string]struct {
		snapshot Snapshot
		want     bool
	}{
		"a change":            {newSnapshot(held), true},
		"a request of a user": {newSnapshot(held, isApplied, withRequest("Apply")), true},
		"a plan":              {newSnapshot(held, isApplied, withRequest("Plan")), false},
		"spec.apply is Never": {newSnapshot(held, never), false},
		"nothing is required": {newSnapshot(held, func(w *Snapshot) { w.Requirements = nil }), false},
		"no pull request":     {newSnapshot(held, func(w *Snapshot) { w.Hold = nil }), false},
	} {
		d := Decide(tt.snapshot)
		if d.Start == nil {
			t.Errorf("%s: no Run: %+v", name, d)
			continue
		}
		got := d.Start.Requirements
		if (got != nil) != tt.want {
			t.Errorf("%s: %+v", name, got)
		}
		if got != nil && (len(got.Types) != 1 || got.PullRequest != v1alpha1.CarriedFrom{Namespace: "web",
			Name: "infra-a", Number: 12}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
