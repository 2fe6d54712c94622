package decision

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// world has Stacks, a Notification about them, and what its destination accepted.
type world struct {
	now      time.Time
	n        *v1alpha1.Notification
	stacks   map[string]*Stack
	observed Observed
	// accepted are the messages, as texts.
	accepted []string
	// down is whether the destination accepts nothing.
	down bool
	// writes counts changes of the status.
	writes int
	again  time.Duration
}

func newWorld(spec func(*v1alpha1.NotificationSpec)) *world {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	w := &world{now: now, stacks: map[string]*Stack{}, n: &v1alpha1.Notification{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "chat", UID: "chat",
			CreationTimestamp: metav1.Time{Time: now}},
		Spec: v1alpha1.NotificationSpec{
			Events: []v1alpha1.NotificationEvent{
				v1alpha1.NotifyApprovalNeeded, v1alpha1.NotifyFailed, v1alpha1.NotifyRecovered,
				v1alpha1.NotifyDriftFound,
				v1alpha1.NotifyDriftGone, v1alpha1.NotifyApplied,
			},
			GroupWait:     &metav1.Duration{Duration: 30 * time.Second},
			DriftInterval: &metav1.Duration{Duration: time.Hour},
		},
	}}
	if spec != nil {
		spec(&w.n.Spec)
	}
	return w
}

func (w *world) stack(name string) *Stack {
	if w.stacks[name] == nil {
		w.stacks[name] = &Stack{Namespace: "shop", Name: name, UID: types.UID(name)}
	}
	return w.stacks[name]
}

func (w *world) ready(name string)     { s := w.stack(name); s.Ready, s.Events = true, applies(s) }
func (w *world) running(name string)   { s := w.stack(name); s.Ready, s.Events = false, applies(s) }
func (w *world) fails(name, in string) { w.is(name, v1alpha1.NotifyFailed, "RunFailed/"+in) }
func (w *world) waits(name, run string) {
	w.is(name, v1alpha1.NotifyApprovalNeeded, run)
}
func (w *world) drifts(name, since string) { w.is(name, v1alpha1.NotifyDriftFound, since) }
func (w *world) applies(name, run string) {
	w.ready(name)
	s := w.stack(name)
	s.Events = append(s.Events, Event{Kind: v1alpha1.NotifyApplied, Key: run, Run: run, At: w.now})
}

func (w *world) is(name string, kind v1alpha1.NotificationEvent, key string) {
	s := w.stack(name)
	s.Ready, s.Events = false, append(applies(s), Event{Kind: kind, Key: key, Message: "text of " + name})
}

func applies(s *Stack) []Event {
	return slices.DeleteFunc(s.Events, func(e Event) bool { return e.At.IsZero() })
}

func (w *world) snapshot() Snapshot {
	v := Snapshot{Now: w.now, Notification: w.n, Observed: w.observed}
	for _, s := range w.stacks {
		v.Stacks = append(v.Stacks, *s)
	}
	slices.SortFunc(v.Stacks, func(a, b Stack) int { return strings.Compare(a.Name, b.Name) })
	return v
}

// reconcile decides and sends until nothing is due.
func (w *world) reconcile() {
	for range 10 {
		d := Decide(w.snapshot())
		w.observed, w.again = d.Observed, d.Again
		w.write(d.Status)
		if !d.Send || w.down {
			return
		}
		w.accepted = append(w.accepted, textOf(w.n.Status))
		w.write(Delivered(w.n.Status, w.now))
	}
}

func (w *world) write(s v1alpha1.NotificationStatus) {
	if fmt.Sprintf("%+v", s) != fmt.Sprintf("%+v", w.n.Status) {
		w.writes++
	}
	w.n.Status = s
}

// textOf is the pending message: its event, and the Stacks with their own events.
func textOf(s v1alpha1.NotificationStatus) string {
	text := string(s.Pending.Event) + ":"
	for _, r := range s.Reported {
		if r.Pending {
			text += " " + r.Stack
			if r.Event != s.Pending.Event {
				text += "(" + string(r.Event) + ")"
			}
		}
	}
	return text
}

// after lets time pass, reconciles, and returns the messages since.
func (w *world) after(d time.Duration) []string {
	w.reconcile() // observes what changed
	w.now = w.now.Add(d)
	w.reconcile()
	messages := w.accepted
	w.accepted = nil
	return messages
}

func (w *world) expect(t *testing.T, wait time.Duration, want ...string) {
	t.Helper()
	if got := w.after(wait); !slices.Equal(got, want) {
		t.Errorf("after %s: messages %q, expected %q", wait, got, want)
	}
}

const minute = time.Minute

func TestEventsOfAStackAreSentOnce(t *testing.T) {
	w := newWorld(nil)
	w.running("net")
	w.expect(t, minute)
	w.waits("net", "net-1")
	w.expect(t, minute, "ApprovalNeeded: net")
	w.expect(t, minute)
	w.waits("net", "net-2") // another plan
	w.expect(t, minute, "ApprovalNeeded: net")
	w.running("net")
	w.expect(t, minute)
	w.fails("net", "a")
	w.expect(t, minute, "Failed: net")
	w.running("net") // is retried
	w.expect(t, minute)
	w.fails("net", "a")
	w.expect(t, minute)
	w.fails("net", "b") // other inputs
	w.expect(t, minute, "Failed: net")
	w.applies("net", "net-4")
	w.expect(t, minute, "Recovered: net", "Applied: net")
	w.expect(t, 24*time.Hour)
	if len(w.n.Status.Reported) != 1 { // of the apply, until the next message about applies
		t.Errorf("reported: %+v", w.n.Status.Reported)
	}
}

func TestNothingIsWrittenWhileNothingHappens(t *testing.T) {
	w := newWorld(nil)
	for i := range 10_000 {
		w.ready(fmt.Sprintf("s%d", i))
		if i < 100 {
			w.applies(fmt.Sprintf("s%d", i), "r")
		}
	}
	w.fails("net", "a")
	w.after(minute)
	writes := w.writes
	for range 10 {
		w.after(minute)
	}
	if w.writes != writes {
		t.Errorf("%d writes while nothing happens", w.writes-writes)
	}
}

func TestEventsWithinTheGroupWaitAreOneMessage(t *testing.T) {
	w := newWorld(nil)
	w.fails("a", "1")
	w.expect(t, 20*time.Second)
	w.fails("b", "1")
	w.waits("c", "c-1")
	w.expect(t, 11*time.Second, "Failed: a b")
	w.expect(t, 20*time.Second, "ApprovalNeeded: c")
}

func TestAnEventThatEndsWithinTheGroupWaitIsNotSent(t *testing.T) {
	w := newWorld(nil)
	w.fails("net", "1")
	w.expect(t, 20*time.Second)
	w.ready("net")
	w.expect(t, minute)
	if w.again != 0 {
		t.Errorf("reconciled again after %s", w.again)
	}
}

func TestDriftIsSentOncePerInterval(t *testing.T) {
	w := newWorld(nil)
	w.drifts("a", "1")
	w.expect(t, minute, "DriftFound: a")
	w.drifts("b", "2")
	w.ready("a")
	w.expect(t, 30*minute)
	if w.again <= 0 || w.again > 30*minute {
		t.Errorf("reconciled again after %s", w.again)
	}
	w.drifts("c", "3")
	w.expect(t, 30*minute, "DriftGone: a b(DriftFound) c(DriftFound)")
	w.fails("d", "1") // at once
	w.expect(t, minute, "Failed: d")
}

func TestADestinationThatIsDownGetsEverythingLater(t *testing.T) {
	w := newWorld(nil)
	w.down = true
	w.fails("net", "1")
	w.expect(t, minute)
	first := w.n.Status.Pending
	w.applies("net", "net-2")
	w.expect(t, minute)
	w.applies("dns", "dns-1")
	w.expect(t, time.Hour)
	if w.n.Status.Pending.ID != first.ID {
		t.Error("the message that is being sent has another ID")
	}
	w.down = false
	w.expect(t, minute, "Failed: net", "Recovered: net", "Applied: dns net")
}

func TestCairnGivesUpAfterADay(t *testing.T) {
	w := newWorld(nil)
	w.down = true
	w.fails("net", "1")
	w.after(minute)
	w.now = w.now.Add(24 * time.Hour)
	d := Decide(w.snapshot())
	if d.GaveUp == nil || d.GaveUp.Failure == "" || d.GaveUp.Stacks != 1 || d.Send || d.Status.Pending != nil {
		t.Errorf("after a day: %+v", d)
	}
	if first := d.Status.Deliveries[0]; first.Failure == "" {
		t.Errorf("deliveries: %+v", d.Status.Deliveries)
	}
}

func TestAppliesBeforeTheNotificationAreNotSent(t *testing.T) {
	w := newWorld(nil)
	w.applies("net", "net-1")
	w.now = w.now.Add(minute)
	w.applies("net", "net-2")
	w.applies("net", "net-3")
	w.expect(t, minute, "Applied: net net")
	w.now = w.now.Add(time.Hour)
	w.applies("net", "net-4")
	w.expect(t, minute, "Applied: net")
	for _, r := range w.n.Status.Reported {
		if r.Key != "net-4" {
			t.Errorf("apply %s is still reported", r.Key)
		}
	}
}

func TestADeletedStackIsForgotten(t *testing.T) {
	w := newWorld(nil)
	w.fails("net", "1")
	w.expect(t, minute, "Failed: net")
	w.stacks["net"].UID = "another" // of the same name
	w.expect(t, minute, "Failed: net")
	if got := w.n.Status.Reported; len(got) != 1 || got[0].UID != "another" {
		t.Errorf("reported: %+v", got)
	}
	delete(w.stacks, "net")
	w.expect(t, minute)
	if len(w.n.Status.Reported) != 0 {
		t.Errorf("reported: %+v", w.n.Status.Reported)
	}
}

func TestOnlyTheEventsOfTheSpecAreSent(t *testing.T) {
	w := newWorld(func(s *v1alpha1.NotificationSpec) { s.Events = []v1alpha1.NotificationEvent{v1alpha1.NotifyFailed} })
	w.waits("a", "1")
	w.drifts("b", "1")
	w.applies("c", "1")
	w.fails("d", "1")
	w.expect(t, minute, "Failed: d")
	w.ready("d")
	w.expect(t, minute)
	w.fails("d", "1") // again, after it was Ready
	w.expect(t, minute, "Failed: d")
}

func TestASuspendedNotificationSendsNothing(t *testing.T) {
	w := newWorld(func(s *v1alpha1.NotificationSpec) { s.Suspend = true })
	w.fails("net", "1")
	w.expect(t, minute)
	w.n.Spec.Suspend = false
	w.expect(t, minute, "Failed: net")
}

func TestATestIsSentOncePerRequest(t *testing.T) {
	w := newWorld(nil)
	w.n.Annotations = map[string]string{v1alpha1.RequestedAtAnnotation: "2026-11-30T12:00:00Z"}
	w.expect(t, 0, "Test:")
	w.expect(t, minute)
	w.n.Annotations[v1alpha1.RequestedAtAnnotation] = "2026-11-30T12:01:00Z"
	w.fails("net", "1")
	w.expect(t, minute, "Test:", "Failed: net")
}

// TestATestRetriesTheMessageThatWaits checks that a requested test sends the pending message once more, and no other.
func TestATestRetriesTheMessageThatWaits(t *testing.T) {
	w := newWorld(nil)
	w.down = true
	w.fails("net", "1")
	w.expect(t, minute)
	w.n.Annotations = map[string]string{v1alpha1.RequestedAtAnnotation: "2026-11-30T12:00:00Z"}
	for i, want := range []bool{true, false} {
		d := Decide(Snapshot{Now: w.now, Notification: w.n})
		if d.Retry != want || !d.Send || d.Status.Pending.Event != v1alpha1.NotifyFailed {
			t.Errorf("decision %d: retry %t, send %t, pending %+v", i, d.Retry, d.Send, d.Status.Pending)
		}
		w.n.Status = d.Status
	}
	w.down = false
	w.expect(t, minute, "Failed: net")
}

func TestAStatusHasABoundedNumberOfEvents(t *testing.T) {
	w := newWorld(func(s *v1alpha1.NotificationSpec) { s.GroupWait.Duration = 0 })
	for i := range mostReported + 10 {
		w.fails(fmt.Sprintf("s%04d", i), "1")
	}
	w.reconcile()
	if len(w.accepted) != 1 || len(w.n.Status.Reported) != mostReported {
		t.Fatalf("%d messages, %d events", len(w.accepted), len(w.n.Status.Reported))
	}
	described := 0
	w.accepted = nil
	for i := range 20 { // recover
		w.ready(fmt.Sprintf("s%04d", i))
	}
	w.down = true
	w.after(minute)
	for _, r := range w.n.Status.Reported {
		if r.Message != "" {
			described++
		}
	}
	w.down = false
	if messages := w.after(minute); len(messages) != 2 || !strings.HasPrefix(messages[0], "Recovered: s0000 s0001") ||
		messages[1] != "Failed: s2000 s2001 s2002 s2003 s2004 s2005 s2006 s2007 s2008 s2009" {
		t.Errorf("%d messages after recoveries: %.200q", len(messages), messages)
	}
	if described > MostDescribed {
		t.Errorf("%d events are described", described)
	}
}

func TestNamesOfStacksInOtherNamespaces(t *testing.T) {
	w := newWorld(nil)
	w.fails("net", "1")
	w.stack("net").Namespace = "prod"
	w.expect(t, minute, "Failed: prod/net")
}
