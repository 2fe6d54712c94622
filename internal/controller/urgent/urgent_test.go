package urgent

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
)

func stack(name string, change ...func(*v1alpha1.Stack)) *v1alpha1.Stack {
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1, Annotations: map[string]string{}}}
	for _, c := range change {
		c(s)
	}
	return s
}

func ofSet(s *v1alpha1.Stack)    { s.Annotations[v1alpha1.ChangedByAnnotation] = "stackset:platform" }
func changed(s *v1alpha1.Stack)  { s.Generation = 2 }
func asked(s *v1alpha1.Stack)    { s.Annotations[v1alpha1.RequestedAtAnnotation] = "now" }
func deleting(s *v1alpha1.Stack) { s.DeletionTimestamp = new(metav1.Now()) }

func run(cause v1alpha1.CauseType, by string) *v1alpha1.Run {
	return &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: "net-1"},
		Spec: v1alpha1.RunSpec{Cause: v1alpha1.Cause{Type: cause, By: by}}}
}

func TestUsersComeFirst(t *testing.T) {
	created := func(o client.Object) any { return event.CreateEvent{Object: o} }
	updated := func(before, after client.Object) any { return event.UpdateEvent{ObjectOld: before, ObjectNew: after} }
	for name, tt := range map[string]struct {
		event any
		first bool
	}{
		"a Stack is created": {created(stack("net")), true},
		"a Stack is there when the process starts": {event.CreateEvent{Object: stack("net"), IsInInitialList: true},
			false},
		"a StackSet creates a Stack":             {created(stack("net", ofSet)), false},
		"a Stack is changed":                     {updated(stack("net"), stack("net", changed)), true},
		"a StackSet changes a Stack":             {updated(stack("net"), stack("net", changed, ofSet)), false},
		"the status is written":                  {updated(stack("net"), stack("net")), false},
		"a Run of a Stack of a set is requested": {updated(stack("net", ofSet), stack("net", ofSet, asked)), true},
		"a Stack of a set is deleted":            {updated(stack("net", ofSet), stack("net", ofSet, deleting)), true},
		"the Run of a change":                    {created(run(v1alpha1.CauseSpec, "alice")), true},
		"the Run of a commit":                    {created(run(v1alpha1.CauseCommit, "")), true},
		"the first Run of a Stack of a set":      {created(run(v1alpha1.CauseSpec, "stackset:platform")), false},
		"a drift check":                          {created(run(v1alpha1.CauseDrift, "")), false},
	} {
		t.Run(name, func(t *testing.T) {
			q := priorityqueue.New[reconcile.Request]("test")
			defer q.ShutDown()
			other := reconcile.Request{NamespacedName: client.ObjectKey{Name: "before"}}
			q.Add(other)
			switch e := tt.event.(type) {
			case event.CreateEvent:
				Users().Create(t.Context(), e, q)
			case event.UpdateEvent:
				Users().Update(t.Context(), e, q)
			}
			var got []reconcile.Request
			for range q.Len() {
				r, _ := q.Get()
				got = append(got, r)
			}
			if first := slices.Index(got, other) != 0; first != tt.first {
				t.Errorf("the queue has %v", got)
			}
		})
	}
}
