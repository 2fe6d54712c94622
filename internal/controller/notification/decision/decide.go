package decision

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

const (
	// mostReported is how many events a status has.
	mostReported = 2000
	// MostDescribed is how many events of a message have a description.
	MostDescribed = 20
	// mostDeliveries is how many messages a status lists.
	mostDeliveries = 10
	// givesUp is how long a message is sent before Cairn gives up.
	givesUp = 24 * time.Hour
	// overlap is how long after its end an apply may be observed first.
	overlap = 10 * time.Minute
)

// Snapshot is what Decide decides on.
type Snapshot struct {
	Now          time.Time
	Notification *v1alpha1.Notification
	// Stacks are those that the Notification selects.
	Stacks []Stack
	// Observed is when the first event of a group was observed that is not reported. It is what Decide returned before.
	Observed Observed
}

// Observed is a time for each group of events.
type Observed map[group]time.Time

// Decision is what to write, and then to send.
type Decision struct {
	Status v1alpha1.NotificationStatus
	// Send reports whether the pending message of the status is to be sent.
	Send bool
	// Retry reports that a user requests to send the pending message at once, also if the destination failed just now.
	Retry bool
	// GaveUp is the message that is not sent any longer; nil for none.
	GaveUp   *v1alpha1.Delivery
	Observed Observed
	// Again is the time until the next message is due; 0 if none waits for a time.
	Again time.Duration
}

// A group has the events that are in the same message.
type group string

const (
	groupApproval  group = "approval"
	groupMassDrift group = "massDrift"
	groupContended group = "contended"
	groupFailed    group = "failed"
	groupRecovered group = "recovered"
	groupDrift     group = "drift"
	groupFinished  group = "finished"
)

// groups are those that wait, in the order in which they are sent.
var groups = []group{
	groupApproval, groupFailed, groupMassDrift, groupContended, groupRecovered, groupDrift, groupFinished,
}

func groupOf(kind v1alpha1.NotificationEvent) group {
	switch kind {
	case v1alpha1.NotifyApprovalNeeded:
		return groupApproval
	case v1alpha1.NotifyFailed:
		return groupFailed
	case v1alpha1.NotifyRecovered:
		return groupRecovered
	case v1alpha1.NotifyDriftFound, v1alpha1.NotifyDriftGone:
		return groupDrift
	case v1alpha1.NotifyMassDrift:
		return groupMassDrift
	case v1alpha1.NotifyContended:
		return groupContended
	}
	return groupFinished
}

// Decide returns the message to send. It changes no message that is being sent: the destination may have it already.
func Decide(w Snapshot) Decision {
	d := Decision{Status: *w.Notification.Status.DeepCopy(), Observed: Observed{}}
	s := &d.Status
	s.ObservedGeneration = w.Notification.Generation
	if s.ReportedUntil == nil { // what was applied before is not news
		s.ReportedUntil = &metav1.Time{Time: w.Notification.CreationTimestamp.Time}
	}
	if w.Notification.Spec.Suspend {
		return d
	}
	if s.Pending != nil {
		if left := s.Pending.Since.Add(givesUp).Sub(w.Now); left > 0 {
			d.Send, d.Again, d.Observed = true, left, w.Observed
			if d.Retry = w.testRequested(); d.Retry { // it tests the destination as well as a message of its own
				s.LastHandledRequest = w.handled()
			}
			return d
		}
		*s = end(*s, w.Now, "the destination did not accept it for 24 hours")
		d.GaveUp = &s.Deliveries[0]
	}
	if w.testRequested() {
		s.Pending = &v1alpha1.PendingMessage{Event: v1alpha1.NotifyTest, Since: metav1.Time{Time: w.Now}}
		s.LastHandledRequest = w.handled()
		s.Pending.ID, d.Send, d.Observed = w.id(*s), true, w.Observed
		return d
	}
	kept, due := w.compare(s.Reported, s.ReportedUntil.Time)
	for _, g := range groups {
		events := within(due[g], kept)
		if len(events) == 0 {
			continue
		}
		d.Observed[g] = w.Now
		if at, ok := w.Observed[g]; ok {
			d.Observed[g] = at
		}
		if at := w.due(g, d.Observed[g]); d.Send || at.After(w.Now) {
			d.Again = sooner(d.Again, max(at.Sub(w.Now), time.Millisecond))
			continue
		}
		delete(d.Observed, g)
		kept = w.begin(s, g, kept, events)
		d.Send = true
	}
	s.Reported = kept
	if d.Send {
		s.Pending.ID = w.id(*s)
	}
	return d
}

// within returns the events that replace reported ones, and as many others as the status has room for.
func within(events, reported []v1alpha1.ReportedEvent) (fit []v1alpha1.ReportedEvent) {
	known := map[subject]bool{}
	for _, r := range reported {
		known[subjectOf(r)] = true
	}
	room := mostReported - len(reported)
	for _, e := range events {
		if known[subjectOf(e)] {
			fit = append(fit, e)
		} else if room > 0 {
			fit, room = append(fit, e), room-1
		}
	}
	return fit
}

// testRequested reports whether a user requests a test that was not handled.
func (w Snapshot) testRequested() bool {
	at, last := w.Notification.Annotations[v1alpha1.RequestedAtAnnotation], w.Notification.Status.LastHandledRequest
	return at != "" && (last == nil || last.Value != at)
}

// handled is the request of a user that is handled now.
func (w Snapshot) handled() *v1alpha1.HandledRequest {
	return &v1alpha1.HandledRequest{
		Value: w.Notification.Annotations[v1alpha1.RequestedAtAnnotation], Time: metav1.Time{Time: w.Now},
	}
}

// due is when a message about a group is sent whose first event was observed at a time.
func (w Snapshot) due(g group, observed time.Time) time.Time {
	spec, due := w.Notification.Spec, observed
	if spec.GroupWait != nil {
		due = due.Add(spec.GroupWait.Duration)
	}
	if last := w.Notification.Status.DriftReportedAt; g == groupDrift && last != nil && spec.DriftInterval != nil {
		if next := last.Add(spec.DriftInterval.Duration); next.After(due) {
			return next
		}
	}
	return due
}

// compare returns the reported events that stay, and those that are to be reported, by group. An event that is to be
// reported in place of a reported one is not in the first.
func (w Snapshot) compare(
	reported []v1alpha1.ReportedEvent, until time.Time,
) (kept []v1alpha1.ReportedEvent, due map[group][]v1alpha1.ReportedEvent) {
	stacks := make(map[string]*Stack, len(w.Stacks))
	for i := range w.Stacks {
		stacks[w.name(w.Stacks[i])] = &w.Stacks[i]
	}
	due = map[group][]v1alpha1.ReportedEvent{}
	known := map[subject]bool{}
	for _, r := range reported {
		stack := stacks[r.Stack]
		if stack == nil || stack.UID != r.UID { // it is deleted, or not selected any longer
			continue
		}
		next := w.next(r, *stack, until)
		switch {
		case next == nil:
			continue
		case *next == r:
			kept = append(kept, r)
		default:
			due[groupOf(next.Event)] = append(due[groupOf(next.Event)], *next)
			// until it is sent, the destination has the one before
			kept = append(kept, r)
		}
		known[subjectOf(r)] = true
	}
	for _, stack := range w.Stacks {
		for _, e := range stack.Events {
			if slices.Contains(w.Notification.Spec.Events, e.Kind) && (e.At.IsZero() || e.At.After(until)) {
				if r := w.reported(stack, e); !known[subjectOf(r)] {
					due[groupOf(e.Kind)] = append(due[groupOf(e.Kind)], r)
				}
			}
		}
	}
	for _, events := range due {
		slices.SortStableFunc(events, func(a, b v1alpha1.ReportedEvent) int {
			return strings.Compare(a.Stack, b.Stack)
		})
	}
	return kept, due
}

// next is what the destination should have in place of a reported event: the same if nothing changed, and nil if it
// needs to know nothing more.
func (w Snapshot) next(r v1alpha1.ReportedEvent, stack Stack, until time.Time) *v1alpha1.ReportedEvent {
	now, is := stack.event(r.Event, r.Key)
	ended := v1alpha1.NotifyRecovered
	switch {
	case r.At != nil:
		if r.At.After(until) {
			return &r
		}
		return nil
	case is && now.Key == r.Key:
		return &r
	case is:
		if !slices.Contains(w.Notification.Spec.Events, r.Event) {
			return nil
		}
		changed := w.reported(stack, now)
		return &changed
	case r.Event == v1alpha1.NotifyFailed:
		if !stack.Ready {
			return &r
		}
	case r.Event == v1alpha1.NotifyDriftFound:
		ended = v1alpha1.NotifyDriftGone
	default:
		return nil
	}
	if !slices.Contains(w.Notification.Spec.Events, ended) {
		return nil
	}
	return &v1alpha1.ReportedEvent{Stack: r.Stack, UID: r.UID, Event: ended, Key: r.Key}
}

// begin makes the events of a group the pending message. It returns the reported events with them, in place of those
// that they are about too.
func (w Snapshot) begin(
	s *v1alpha1.NotificationStatus, g group, kept, events []v1alpha1.ReportedEvent,
) []v1alpha1.ReportedEvent {
	replaced := map[subject]bool{}
	for i := range events {
		events[i].Pending = true
		if i >= MostDescribed {
			events[i].Message = ""
		}
		replaced[subjectOf(events[i])] = true
	}
	s.Pending = &v1alpha1.PendingMessage{Event: events[0].Event, Since: metav1.Time{Time: w.Now}}
	switch g {
	case groupDrift:
		s.DriftReportedAt = &s.Pending.Since
	case groupFinished:
		// else some may be left
		if at := w.Now.Add(-overlap); at.After(s.ReportedUntil.Time) && len(kept)+len(events) < mostReported {
			s.ReportedUntil = &metav1.Time{Time: at}
		}
	}
	kept = slices.DeleteFunc(kept, func(r v1alpha1.ReportedEvent) bool { return replaced[subjectOf(r)] })
	return append(kept, events...)
}

// Delivered is the status after the destination accepted the pending message.
func Delivered(s v1alpha1.NotificationStatus, now time.Time) v1alpha1.NotificationStatus {
	return end(s, now, "")
}

// end removes the pending message, which was accepted, or not for a reason.
func end(s v1alpha1.NotificationStatus, now time.Time, failure string) v1alpha1.NotificationStatus {
	s = *s.DeepCopy()
	delivery := v1alpha1.Delivery{ID: s.Pending.ID, Event: s.Pending.Event, Time: metav1.Time{Time: now},
		Failure: failure}
	s.Pending = nil
	reported := s.Reported[:0]
	for _, r := range s.Reported {
		if r.Pending {
			delivery.Stacks++
			if r.Event == v1alpha1.NotifyRecovered || r.Event == v1alpha1.NotifyDriftGone {
				continue
			}
			r.Pending, r.Reason, r.Run, r.Message = false, "", "", ""
		}
		reported = append(reported, r)
	}
	s.Reported = reported
	s.Deliveries = append([]v1alpha1.Delivery{delivery}, s.Deliveries...)
	s.Deliveries = s.Deliveries[:min(len(s.Deliveries), mostDeliveries)]
	return s
}

// id identifies the pending message of a status by what it is about.
func (w Snapshot) id(s v1alpha1.NotificationStatus) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %d", w.Notification.UID, s.Pending.Event, w.Now.UnixNano())
	for _, r := range s.Reported {
		if r.Pending {
			fmt.Fprintf(h, "\n%s %s %s %s", r.Stack, r.UID, r.Event, r.Key)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// reported is an event as it is in the status.
func (w Snapshot) reported(stack Stack, e Event) v1alpha1.ReportedEvent {
	r := v1alpha1.ReportedEvent{
		Stack: w.name(stack), UID: stack.UID, Event: e.Kind, Key: e.Key, Reason: e.Reason, Run: e.Run,
		Message: e.Message,
	}
	if !e.At.IsZero() {
		r.At = &metav1.Time{Time: e.At}
	}
	return r
}

func (w Snapshot) name(s Stack) string {
	if s.Namespace == w.Notification.Namespace {
		return s.Name
	}
	return s.Namespace + "/" + s.Name
}

// subject is what of a Stack there is one reported event of.
type subject struct {
	stack string
	uid   types.UID
	about string
}

func subjectOf(r v1alpha1.ReportedEvent) subject {
	about := string(groupOf(r.Event))
	switch {
	case r.At != nil:
		about += r.Key
	case r.Event == v1alpha1.NotifyRecovered:
		about = string(groupFailed)
	}
	return subject{r.Stack, r.UID, about}
}

// sooner returns the shorter of two durations of which 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
