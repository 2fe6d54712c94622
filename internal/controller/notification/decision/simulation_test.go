package decision

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

// receiver is a destination: it knows each message by its ID.
type receiver struct {
	known map[string]bool
	// trouble is what its messages say about each Stack, by group: the last of failed and recovered, and of drift.
	trouble map[string]v1alpha1.NotificationEvent
	applied map[string]int
}

func (r *receiver) accept(s v1alpha1.NotificationStatus) {
	if r.known[s.Pending.ID] {
		return
	}
	r.known[s.Pending.ID] = true
	for _, e := range s.Reported {
		switch {
		case !e.Pending:
		case e.At != nil:
			r.applied[e.Stack+"/"+e.Key]++
		default:
			r.trouble[e.Stack+" "+string(groupOf(e.Event))] = e.Event
			if e.Event == v1alpha1.NotifyRecovered {
				delete(r.trouble, e.Stack+" recovered")
				r.trouble[e.Stack+" failed"] = e.Event
			}
		}
	}
}

// TestNotificationHistories lets Stacks fail, recover, drift and be applied, while the destination is down, the
// operator is killed between any two steps and sees old Stacks. Whatever happens, the destination knows in the end what
// is true, and has each apply once.
func TestNotificationHistories(t *testing.T) {
	for seed := range uint64(400) {
		if err := history(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func history(seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(nil)
	to := &receiver{map[string]bool{}, map[string]v1alpha1.NotificationEvent{}, map[string]int{}}
	names := []string{"a", "b", "c"}
	for _, name := range names {
		w.ready(name)
	}
	w.now = w.now.Add(time.Minute)
	runs := 0
	old := w.snapshot()
	step := func(kills, down, stale bool) {
		view := w.snapshot()
		if stale {
			view.Stacks = old.Stacks
		}
		d := Decide(view)
		w.observed = d.Observed
		if kills && random.IntN(6) == 0 {
			w.observed = nil // killed before the write
			return
		}
		w.n.Status = d.Status
		if !d.Send || down {
			return
		}
		to.accept(w.n.Status)
		if kills && random.IntN(6) == 0 {
			w.observed = nil // killed before the second write
			return
		}
		w.n.Status = Delivered(w.n.Status, w.now)
	}
	for range 120 {
		old = w.snapshot()
		for i := range old.Stacks {
			old.Stacks[i].Events = slices.Clone(old.Stacks[i].Events)
		}
		name := names[random.IntN(len(names))]
		runs++
		switch random.IntN(7) {
		case 0:
			w.ready(name)
		case 1:
			w.running(name)
		case 2:
			w.fails(name, fmt.Sprint(random.IntN(2)))
		case 3:
			w.waits(name, fmt.Sprint(runs))
		case 4:
			w.drifts(name, fmt.Sprint(runs))
		case 5:
			w.applies(name, fmt.Sprint(runs))
		}
		w.now = w.now.Add(time.Duration(random.IntN(100)) * time.Second)
		for range random.IntN(3) {
			step(true, random.IntN(3) == 0, random.IntN(4) == 0)
		}
	}
	for range 40 { // quiet
		w.now = w.now.Add(10 * time.Minute)
		step(false, false, false)
	}
	return agrees(w, to)
}

// agrees reports what the destination does not know, or has twice.
func agrees(w *world, to *receiver) error {
	if w.n.Status.Pending != nil {
		return fmt.Errorf("message %s is still being sent", w.n.Status.Pending.ID)
	}
	for name, s := range w.stacks {
		failed, drifted := to.trouble[name+" failed"], to.trouble[name+" drift"]
		_, fails := s.event(v1alpha1.NotifyFailed, "")
		_, drifts := s.event(v1alpha1.NotifyDriftFound, "")
		switch {
		case fails && failed != v1alpha1.NotifyFailed:
			return fmt.Errorf("%s failed, and the last message is %q", name, failed)
		case s.Ready && failed == v1alpha1.NotifyFailed:
			return fmt.Errorf("%s is Ready, and the last message is that it failed", name)
		case drifts != (drifted == v1alpha1.NotifyDriftFound):
			return fmt.Errorf("%s has drift: %t, and the last message is %q", name, drifts, drifted)
		}
		for _, e := range s.Events {
			if n := to.applied[name+"/"+e.Key]; !e.At.IsZero() && n != 1 {
				return fmt.Errorf("apply %s of %s is in %d messages", e.Key, name, n)
			}
		}
	}
	for _, r := range w.n.Status.Reported {
		if r.Pending || strings.HasPrefix(string(r.Event), "Recovered") {
			return fmt.Errorf("the status keeps %+v", r)
		}
	}
	return nil
}
