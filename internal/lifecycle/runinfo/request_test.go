package runinfo

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/internal/controller/run/runtest"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
)

// scene is a Stack and the time at which it is looked at.
type scene struct {
	Now   time.Time
	Stack *v1alpha1.Stack
}

var now = runtest.Now

func snapshot(options ...func(*scene)) scene {
	w := scene{Now: now, Stack: runtest.Stack()}
	for _, o := range options {
		o(&w)
	}
	return w
}

// requested by alice a moment ago, and not taken up.
func asked(operation v1alpha1.Operation) func(*scene) {
	return func(w *scene) {
		w.Stack.Status.ObservedGeneration = 1
		w.Stack.Annotations = map[string]string{
			v1alpha1.RequestedAtAnnotation: "now", v1alpha1.RequestedOperationAnnotation: string(operation),
			v1alpha1.RequestedByAnnotation: "alice",
		}
	}
}

func taken(w *scene)     { w.Stack.Status.LastHandledRequest = &v1alpha1.HandledRequest{Value: "now"} }
func suspended(w *scene) { w.Stack.Spec.Suspend = true }
func protected(w *scene) { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionProtect }
func orphaned(w *scene)  { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }
func deleting(w *scene)  { w.Stack.DeletionTimestamp = &metav1.Time{Time: now} }

// at sets the time of the request and that of the last handled one.
func at(this, last string) func(*scene) {
	return atAfter(this, Handled(nil, last, false, now))
}

// afterRejected sets the time of the request, and that the last one was rejected at eleven.
func afterRejected(this, last string) func(*scene) {
	return atAfter(this, &v1alpha1.HandledRequest{Value: last, Time: metav1.Time{Time: now.Add(-time.Hour)},
		Rejected: true})
}

func atAfter(this string, last *v1alpha1.HandledRequest) func(*scene) {
	return func(w *scene) {
		w.Stack.Annotations[v1alpha1.RequestedAtAnnotation], w.Stack.Status.LastHandledRequest = this, last
	}
}

func TestRequested(t *testing.T) {
	none := func(w *scene) {
		w.Stack.Annotations = map[string]string{v1alpha1.RequestedOperationAnnotation: "Destroy"}
		w.Stack.Status.ObservedGeneration = 1
	}
	tests := map[string]struct {
		snapshot scene
		want     Request
	}{
		"nothing":               {snapshot: snapshot(none)},
		"one that was taken up": {snapshot: snapshot(asked("Apply"), taken)},
		"one from before the Stack": {snapshot: snapshot(asked("Apply"), func(w *scene) {
			w.Stack.Status.ObservedGeneration = 0
		})},
		"one of a Stack not seen yet": {snapshot: snapshot(asked("Apply"), func(w *scene) {
			w.Stack.Status.ObservedGeneration = -1
		})},
		"an apply": {snapshot: snapshot(asked("Apply")),
			want: Request{At: "now", Operation: "Apply", By: "alice"}},
		"nothing more said": {snapshot: snapshot(asked("")), want: Request{At: "now", Operation: "Apply",
			By: "alice"}},
		"a plan": {snapshot: snapshot(asked("Plan")),
			want: Request{At: "now", Operation: "Plan", By: "alice"}},
		"a destroy": {snapshot: snapshot(asked("Destroy")),
			want: Request{At: "now", Operation: "Destroy", By: "alice"}},
		"a destroy of what would stay": {snapshot: snapshot(asked("Destroy"), orphaned),
			want: Request{At: "now", Operation: "Destroy", By: "alice"}},
		"a destroy of what is protected": {
			snapshot: snapshot(asked("Destroy"), protected),
			want: Request{At: "now", Operation: "Destroy", By: "alice",
				Rejected: "nothing is destroyed while spec.deletionPolicy is Protect"},
		},
		"a destroy of what is never applied": {
			snapshot: snapshot(asked("Destroy"), func(w *scene) { w.Stack.Spec.Apply = v1alpha1.ApplyNever }),
			want: Request{At: "now", Operation: "Destroy", By: "alice",
				Rejected: "nothing is destroyed while spec.apply is Never"},
		},
		"a destroy of what is suspended": {
			snapshot: snapshot(asked("Destroy"), suspended),
			want: Request{At: "now", Operation: "Destroy", By: "alice",
				Rejected: "nothing is destroyed while spec.suspend is true"},
		},
		"an apply of what is suspended waits": {snapshot: snapshot(asked("Apply"), suspended),
			want: Request{At: "now", Operation: "Apply", By: "alice"}},
		"a later one": {
			snapshot: snapshot(asked("Destroy"), at("2026-11-20T12:00:01+01:00", "2026-11-20T11:00:00.5Z")),
			want:     Request{At: "2026-11-20T12:00:01+01:00", Operation: "Destroy", By: "alice"}},
		"one from before the last": {
			snapshot: snapshot(asked("Destroy"), at("2026-11-20T12:00:00+01:00", "2026-11-20T11:00:00.5Z"))},
		"one of the same time": {
			snapshot: snapshot(asked("Destroy"), at("2026-11-20T12:00:00+01:00", "2026-11-20T11:00:00Z"))},
		"one after what is no time": {snapshot: snapshot(asked("Plan"), at("2026-11-20T12:00:00Z", "now")),
			want: Request{At: "2026-11-20T12:00:00Z", Operation: "Plan", By: "alice"}},
		"one that is no time itself": {snapshot: snapshot(asked("Plan"), at("2", "2026-11-20T12:00:00Z")),
			want: Request{At: "2", Operation: "Plan", By: "alice"}},
		"one of a clock that is a little ahead": {snapshot: snapshot(asked("Plan"), at("2026-11-20T12:05:00Z", "")),
			want: Request{At: "2026-11-20T12:05:00Z", Operation: "Plan", By: "alice"}},
		"one that is far ahead of its time": {
			snapshot: snapshot(asked("Destroy"), at("2126-11-20T13:00:01+01:00", "2026-11-20T11:00:00Z")),
			want: Request{
				At: "2126-11-20T13:00:01+01:00", Operation: "Destroy", By: "alice",
				Rejected: "cairn.dev/requested-at is 2126-11-20T12:00:01Z, and it is 2026-11-20T12:00:00Z: check the " +
					"clock of the client, and ask again",
			},
		},
		"one that was rejected for that": {
			snapshot: snapshot(asked("Plan"), afterRejected("2126-11-20T12:00:00Z", "2126-11-20T12:00:00Z"))},
		"one that was rejected when it was ahead": {
			snapshot: snapshot(asked("Plan"), afterRejected("2026-11-20T11:30:00Z", "2026-11-20T11:30:00Z"))},
		"one after one that was ahead of its time": {
			snapshot: snapshot(asked("Plan"), afterRejected("2026-11-20T11:30:00Z", "2126-11-20T12:00:00Z")),
			want:     Request{At: "2026-11-20T11:30:00Z", Operation: "Plan", By: "alice"}},
		"one after one that was rejected for else": {
			snapshot: snapshot(asked("Plan"), afterRejected("2026-11-20T10:30:00Z", "2026-11-20T10:00:00Z")),
			want:     Request{At: "2026-11-20T10:30:00Z", Operation: "Plan", By: "alice"}},
		"one from before such a one": {
			snapshot: snapshot(asked("Plan"), afterRejected("2026-11-20T10:30:00Z", "2126-11-20T12:00:00Z"))},
		"a word that the last one ended with": {snapshot: snapshot(asked("Plan"), at("now", "please now")),
			want: Request{At: "now", Operation: "Plan", By: "alice"}},
		"a destroy of what is deleted is the deletion's matter": {
			snapshot: snapshot(asked("Destroy"), protected, deleting), want: Request{At: "now", Operation: "Destroy",
				By: "alice"},
		},
		"an unknown operation": {
			snapshot: snapshot(asked("destroy")),
			want: Request{At: "now", Operation: "destroy", By: "alice",
				Rejected: `cairn.dev/requested-operation is "destroy": it can be Plan, Apply, Destroy or Shell`},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := Requested(tt.snapshot.Stack, tt.snapshot.Now)
			if diff := cmp.Diff(tt.want, got); diff != "" || ok != (tt.want.At != "") {
				t.Errorf("%v, -want +got:\n%s", ok, diff)
			}
		})
	}
}

// A handled request stays handled, and does not hide a later one, whatever its result.
func TestRejectionOfARequest(t *testing.T) {
	for _, tt := range []struct {
		at             string
		refused, wants bool
	}{
		{"now", false, false},
		{"now", true, true},
		{"2026-11-20T12:04:59Z", false, false},
		{"2026-11-20T12:05:01Z", false, true},
	} {
		last := Handled(nil, tt.at, tt.refused, now)
		want := &v1alpha1.HandledRequest{Value: tt.at, Time: metav1.Time{Time: now}, Rejected: tt.wants}
		if diff := cmp.Diff(want, last); diff != "" || !Settled(last, tt.at) || Settled(last, "2026-11-20T12:00:00Z") {
			t.Errorf("of %s, -want +got:\n%s", tt.at, diff)
		}
		if again := Handled(last, tt.at, !tt.wants, now.Add(time.Hour)); again != last {
			t.Errorf("%s is handled a second time: %+v", tt.at, again)
		}
		later := now.Add(MaxClockSkew).Format(time.RFC3339)
		w := snapshot(asked(v1alpha1.OperationPlan), atAfter(later, last))
		if q, ok := Requested(w.Stack, now.Add(MaxClockSkew)); !ok || q.Rejected != "" {
			t.Errorf("%s hides one of %s: %+v", tt.at, later, q)
		}
	}
	if none := Handled(nil, "", false, now); none != nil {
		t.Errorf("without a request: %+v", none)
	}
}

func TestShellIsNotRequestedForADeletedStack(t *testing.T) {
	q, ok := Requested(snapshot(asked("Shell")).Stack, now)
	if !ok || q.Rejected != "" {
		t.Errorf("%+v", q)
	}
	if q, ok := Requested(snapshot(asked("Shell"), deleting).Stack, now); !ok ||
		q.Rejected != "the Stack is being deleted" {
		t.Errorf("%+v", q)
	}
}
