package run

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
)

// asked for by alice a moment ago, and not taken up.
func asked(operation v1alpha1.Operation) func(*World) {
	return func(w *World) {
		w.Stack.Status.ObservedGeneration = 1
		w.Stack.Annotations = map[string]string{
			v1alpha1.RequestedAtAnnotation: "now", v1alpha1.RequestedOperationAnnotation: string(operation), v1alpha1.RequestedByAnnotation: "alice",
		}
	}
}

func taken(w *World) { w.Stack.Status.LastHandledRequest = &v1alpha1.HandledRequest{Value: "now"} }
func byHand(w *World) {
	w.Run.Spec.Cause = v1alpha1.Cause{Type: v1alpha1.CauseManual, Message: "asked for by carol", By: "carol"}
}
func destroyIsNext(w *World) {
	w.Stack.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: v1alpha1.ReasonDestroyPending}}
}

// at says when something is asked for, and when the last time was.
func at(this, last string) func(*World) {
	return atAfter(this, runinfo.Handled(nil, last, false, now))
}

// afterRejected says when something is asked for, and that the last request was rejected at eleven.
func afterRejected(this, last string) func(*World) {
	return atAfter(this, &v1alpha1.HandledRequest{Value: last, Time: metav1.Time{Time: now.Add(-time.Hour)}, Rejected: true})
}

func atAfter(this string, last *v1alpha1.HandledRequest) func(*World) {
	return func(w *World) {
		w.Stack.Annotations[v1alpha1.RequestedAtAnnotation], w.Stack.Status.LastHandledRequest = this, last
	}
}
func protected(w *World) { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionProtect }
func orphaned(w *World)  { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }

func TestARequestReplacesWhatWaits(t *testing.T) {
	const underWay = time.Hour + overdue
	settle(t, map[string]settled{
		"a queued Run makes way": {
			world: world(asked("Apply")), phase: "Superseded", reason: "Superseded", message: "another Run was asked for by alice",
		},
		"a Run that waits for approval makes way": {
			world: world(waiting, asked("Apply")), phase: "Superseded", reason: "Superseded",
		},
		"so does one that was approved and waits for a window": {
			world: world(waiting, approvedFor("sha256:plan"), closed("Apply"), asked("Apply")), phase: "Superseded", reason: "Superseded",
		},
		"so does one between two tries": {
			world: world(planning, between, asked("Apply")), phase: "Superseded", reason: "Superseded",
		},
		"one whose apply failed does not seem to have done nothing": {
			world: world(applying, between, asked("Apply")), phase: "Failed", reason: "Transient", message: "not tried again since another Run was asked for by alice",
		},
		"one whose pod has not started makes way": {
			world: world(planning, pod(PodPending), asked("Apply")), phase: "Superseded", reason: "Superseded", delete: true,
		},
		"a plan at work is waited for": {
			world: world(planning, asked("Apply")), phase: "Planning", reason: "Planning", requeue: underWay,
		},
		"an apply at work is waited for": {
			world: world(applying, asked("Apply")), phase: "Applying", reason: "Applying", requeue: underWay,
		},
		"a drift check is ended in the middle": {
			world: world(planning, drift, asked("Apply")), phase: "Superseded", reason: "Superseded", delete: true,
		},
		"a look that somebody asked for is not": {
			world: world(planning, planOnly, byHand, asked("Apply")), phase: "Planning", reason: "Planning", requeue: underWay,
		},
		"what has been seen stays seen": {
			world: world(planned, planOnly, byHand, asked("Apply")), phase: "Succeeded", reason: "Planned",
		},
		"a plan without changes is no less true": {
			world: world(planned, noChanges, asked("Apply")), phase: "Succeeded", reason: "NoChanges",
		},
		"an apply that is done is done": {
			world: world(applyEnded, asked("Apply")), phase: "Succeeded", reason: "Applied",
		},
		"the Run that was made for the request goes on": {
			world: world(waiting, byHand, asked("Apply"), taken), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"a view of the Stack from before the Run tells nothing": {
			world: world(waiting, asked("Apply"), func(w *World) { w.Stack.Status.LastRun = "net-6" }), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"a request that was there before the Stack is none": {
			world: world(waiting, asked("Apply"), func(w *World) { w.Stack.Status.ObservedGeneration = 0 }), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"nor is one of a Stack that no operator has seen": {
			world: world(waiting, asked("Apply"), func(w *World) { w.Stack.Status.ObservedGeneration = -1 }), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"nothing makes way while nothing may start": {
			world: world(waiting, asked("Apply"), suspended), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},

		"for one who only looks a Run makes way that comes back by itself": {
			world: world(waiting, asked("Plan")), phase: "Superseded", reason: "Superseded",
		},
		"one that was approved does not": {
			world: world(waiting, approvedFor("sha256:plan"), closed("Apply"), asked("Plan")), phase: "AwaitingApproval", reason: "WindowClosed", requeue: time.Hour,
		},
		"one that somebody asked for does not": {
			world: world(waiting, byHand, asked("Plan")), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"one that has begun to apply does not": {
			world: world(applying, between, asked("Plan")), phase: "Applying", reason: "Retrying", requeue: time.Minute,
		},
		"another look does": {
			world: world(planOnly, byHand, asked("Plan")), phase: "Superseded", reason: "Superseded",
		},

		"a Run makes way for a destroy when the Stack says that it is next": {
			world: world(waiting, asked("Destroy"), destroyIsNext), phase: "Superseded", reason: "Superseded", message: "another Run was asked for by alice",
		},
		"not before, since the destroy may wait for others, or be of nothing": {
			world: world(waiting, asked("Destroy")), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"a look makes way at once": {
			world: world(planOnly, byHand, asked("Destroy")), phase: "Superseded", reason: "Superseded",
		},
		"while the Stack is suspended a destroy is refused, and nothing makes way": {
			world: world(waiting, asked("Destroy"), destroyIsNext, suspended), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"but not where nothing is to be destroyed": {
			world: world(waiting, protected, asked("Destroy")), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"nor for what nobody knows": {
			world: world(waiting, asked("Explode")), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"a destroy makes way for an apply": {
			world: world(waiting, destroy, byHand, asked("Apply")), phase: "Superseded", reason: "Superseded",
		},
		"that of a deleted Stack makes way for the next one": {
			world: world(waiting, destroy, deleting, asked("Destroy")), phase: "Superseded", reason: "Superseded",
		},
		"whatever it is that is asked for": {
			world: world(waiting, destroy, byHand, deleting, asked("Plan")), phase: "Superseded", reason: "Superseded",
		},
		"a destroy that was asked for ends when the Stack is protected": {
			world: world(waiting, destroy, byHand, protected), phase: "Superseded", reason: "Superseded", message: "spec.deletionPolicy is Protect now",
		},
		"but not because a deletion would leave everything": {
			world: world(waiting, destroy, byHand, orphaned), phase: "AwaitingApproval", reason: "AwaitingApproval",
		},
		"before there is such a deletion": {
			world: world(waiting, destroy, byHand, orphaned, deleting), phase: "Superseded", reason: "Superseded", message: "spec.deletionPolicy is Orphan now",
		},
	})
}

func TestRequested(t *testing.T) {
	none := func(w *World) {
		w.Stack.Annotations = map[string]string{v1alpha1.RequestedOperationAnnotation: "Destroy"}
		w.Stack.Status.ObservedGeneration = 1
	}
	tests := map[string]struct {
		world World
		want  runinfo.Request
	}{
		"nothing":                      {world: world(none)},
		"one that was taken up":        {world: world(asked("Apply"), taken)},
		"one from before the Stack":    {world: world(asked("Apply"), func(w *World) { w.Stack.Status.ObservedGeneration = 0 })},
		"one of a Stack not seen yet":  {world: world(asked("Apply"), func(w *World) { w.Stack.Status.ObservedGeneration = -1 })},
		"an apply":                     {world: world(asked("Apply")), want: runinfo.Request{At: "now", Operation: "Apply", By: "alice"}},
		"nothing more said":            {world: world(asked("")), want: runinfo.Request{At: "now", Operation: "Apply", By: "alice"}},
		"a look":                       {world: world(asked("Plan")), want: runinfo.Request{At: "now", Operation: "Plan", By: "alice"}},
		"a destroy":                    {world: world(asked("Destroy")), want: runinfo.Request{At: "now", Operation: "Destroy", By: "alice"}},
		"a destroy of what would stay": {world: world(asked("Destroy"), orphaned), want: runinfo.Request{At: "now", Operation: "Destroy", By: "alice"}},
		"a destroy of what is protected": {
			world: world(asked("Destroy"), protected),
			want:  runinfo.Request{At: "now", Operation: "Destroy", By: "alice", Refused: "nothing is destroyed while spec.deletionPolicy is Protect"},
		},
		"a destroy of what is never applied": {
			world: world(asked("Destroy"), func(w *World) { w.Stack.Spec.Apply = v1alpha1.ApplyNever }),
			want:  runinfo.Request{At: "now", Operation: "Destroy", By: "alice", Refused: "nothing is destroyed while spec.apply is Never"},
		},
		"a destroy of what is suspended": {
			world: world(asked("Destroy"), suspended),
			want:  runinfo.Request{At: "now", Operation: "Destroy", By: "alice", Refused: "nothing is destroyed while spec.suspend is true"},
		},
		"an apply of what is suspended waits":   {world: world(asked("Apply"), suspended), want: runinfo.Request{At: "now", Operation: "Apply", By: "alice"}},
		"a later one":                           {world: world(asked("Destroy"), at("2026-11-20T12:00:01+01:00", "2026-11-20T11:00:00.5Z")), want: runinfo.Request{At: "2026-11-20T12:00:01+01:00", Operation: "Destroy", By: "alice"}},
		"one from before the last":              {world: world(asked("Destroy"), at("2026-11-20T12:00:00+01:00", "2026-11-20T11:00:00.5Z"))},
		"one of the same time":                  {world: world(asked("Destroy"), at("2026-11-20T12:00:00+01:00", "2026-11-20T11:00:00Z"))},
		"one after what is no time":             {world: world(asked("Plan"), at("2026-11-20T12:00:00Z", "now")), want: runinfo.Request{At: "2026-11-20T12:00:00Z", Operation: "Plan", By: "alice"}},
		"one that is no time itself":            {world: world(asked("Plan"), at("2", "2026-11-20T12:00:00Z")), want: runinfo.Request{At: "2", Operation: "Plan", By: "alice"}},
		"one of a clock that is a little ahead": {world: world(asked("Plan"), at("2026-11-20T12:05:00Z", "")), want: runinfo.Request{At: "2026-11-20T12:05:00Z", Operation: "Plan", By: "alice"}},
		"one that is far ahead of its time": {
			world: world(asked("Destroy"), at("2126-11-20T13:00:01+01:00", "2026-11-20T11:00:00Z")),
			want: runinfo.Request{
				At: "2126-11-20T13:00:01+01:00", Operation: "Destroy", By: "alice",
				Refused: "cairn.dev/requested-at is 2126-11-20T12:00:01Z, and it is 2026-11-20T12:00:00Z: look at the clock of who asks, and ask again",
			},
		},
		"one that was refused for that":            {world: world(asked("Plan"), afterRejected("2126-11-20T12:00:00Z", "2126-11-20T12:00:00Z"))},
		"one that was refused when it was ahead":   {world: world(asked("Plan"), afterRejected("2026-11-20T11:30:00Z", "2026-11-20T11:30:00Z"))},
		"one after one that was ahead of its time": {world: world(asked("Plan"), afterRejected("2026-11-20T11:30:00Z", "2126-11-20T12:00:00Z")), want: runinfo.Request{At: "2026-11-20T11:30:00Z", Operation: "Plan", By: "alice"}},
		"one after one that was rejected for else": {world: world(asked("Plan"), afterRejected("2026-11-20T10:30:00Z", "2026-11-20T10:00:00Z")), want: runinfo.Request{At: "2026-11-20T10:30:00Z", Operation: "Plan", By: "alice"}},
		"one from before such a one":               {world: world(asked("Plan"), afterRejected("2026-11-20T10:30:00Z", "2126-11-20T12:00:00Z"))},
		"a word that the last one ended with":      {world: world(asked("Plan"), at("now", "please now")), want: runinfo.Request{At: "now", Operation: "Plan", By: "alice"}},
		"a destroy of what is deleted is the deletion's matter": {
			world: world(asked("Destroy"), protected, deleting), want: runinfo.Request{At: "now", Operation: "Destroy", By: "alice"},
		},
		"what nobody knows": {
			world: world(asked("destroy")),
			want:  runinfo.Request{At: "now", Operation: "destroy", By: "alice", Refused: `cairn.dev/requested-operation is "destroy": it can be Plan, Apply, Destroy or Shell`},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := runinfo.Requested(tt.world.Stack, tt.world.Now)
			if diff := cmp.Diff(tt.want, got); diff != "" || ok != (tt.want.At != "") {
				t.Errorf("%v, -want +got:\n%s", ok, diff)
			}
		})
	}
}

// What is done with is so for good, and hides no later request, whatever it said.
func TestWhatTheStatusSaysOfARequest(t *testing.T) {
	for _, tt := range []struct {
		at             string
		refused, wants bool
	}{
		{"now", false, false},
		{"now", true, true},
		{"2026-11-20T12:04:59Z", false, false},
		{"2026-11-20T12:05:01Z", false, true},
	} {
		last := runinfo.Handled(nil, tt.at, tt.refused, now)
		want := &v1alpha1.HandledRequest{Value: tt.at, Time: metav1.Time{Time: now}, Rejected: tt.wants}
		if diff := cmp.Diff(want, last); diff != "" || !runinfo.Settled(last, tt.at) || runinfo.Settled(last, "2026-11-20T12:00:00Z") {
			t.Errorf("of %s, -want +got:\n%s", tt.at, diff)
		}
		if again := runinfo.Handled(last, tt.at, !tt.wants, now.Add(time.Hour)); again != last {
			t.Errorf("%s is handled a second time: %+v", tt.at, again)
		}
		later := now.Add(5 * time.Minute).Format(time.RFC3339)
		w := world(asked(v1alpha1.OperationPlan), atAfter(later, last))
		if q, ok := runinfo.Requested(w.Stack, now.Add(5*time.Minute)); !ok || q.Refused != "" {
			t.Errorf("%s hides one of %s: %+v", tt.at, later, q)
		}
	}
	if none := runinfo.Handled(nil, "", false, now); none != nil {
		t.Errorf("without a request: %+v", none)
	}
}
