package decision

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestAThousandDriftingStacks counts the messages and writes of an outage after which 1,000 Stacks drift, one after the
// other, within an hour, and of the day after it.
func TestAThousandDriftingStacks(t *testing.T) {
	w := newWorld(func(s *v1alpha1.NotificationSpec) { s.Events = append(s.Events, v1alpha1.NotifyMassDrift) })
	w.stacks[""] = &Stack{Namespace: "shop", UID: "pause"}
	for i := range 1000 {
		w.drifts(fmt.Sprintf("s%04d", i), "1")
		if i == 5 {
			w.stacks[""].Events = []Event{{Kind: v1alpha1.NotifyMassDrift, Key: "1", Message: "6 of 6 Stacks"}}
		}
		w.reconcile()
		w.now = w.now.Add(3600 * time.Millisecond)
	}
	for range 24 {
		w.now = w.now.Add(time.Hour)
		w.reconcile()
	}
	var mass, drift int
	for _, m := range w.accepted {
		if strings.HasPrefix(m, "MassDrift") {
			mass++
		} else {
			drift++
		}
	}
	if mass != 1 || drift > 2 {
		t.Errorf("%d messages about MassDrift, %d about drift", mass, drift)
	}
	if n := len(w.n.Status.Reported); n != 1001 {
		t.Errorf("the destination knows of %d of 1001 events", n)
	}
	if w.writes > 10 {
		t.Errorf("%d writes", w.writes)
	}
	writes := w.writes
	w.stacks[""].Events = nil // a user resumed
	w.reconcile()
	w.stacks[""].Events = []Event{{Kind: v1alpha1.NotifyMassDrift, Key: "2", Message: "again"}}
	w.reconcile()
	w.now = w.now.Add(time.Minute)
	w.reconcile()
	if got := w.accepted[len(w.accepted)-1]; !strings.HasPrefix(got, "MassDrift") || w.writes == writes {
		t.Errorf("the next pause is not sent: %q", got)
	}
}

func TestFactsAboutDrift(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	s := &v1alpha1.Stack{Status: v1alpha1.StackStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonApplied},
		{Type: v1alpha1.ConditionContended, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonTwoWriters,
			Message: "two", LastTransitionTime: at},
	}}}
	if e, ok := Of(s).event(v1alpha1.NotifyContended, ""); !ok || e.Message != "two" || e.Key == "" {
		t.Errorf("got %+v", e)
	}
	p := &v1alpha1.DriftPause{Status: v1alpha1.DriftPauseStatus{Since: &at, Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonMassDrift,
			Message: "many"},
	}}}
	if e, ok := OfNamespace(p).event(v1alpha1.NotifyMassDrift, ""); !ok || e.Message != "many" || e.Key == "" {
		t.Errorf("got %+v", e)
	}
	p.Status.Since = nil
	if e, ok := OfNamespace(p).event(v1alpha1.NotifyMassDrift, ""); ok {
		t.Errorf("corrections that are resumed: %+v", e)
	}
}
