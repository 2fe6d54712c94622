package decision

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestIgnoredDifferences(t *testing.T) {
	update := func(address string, attributes ...string) v1alpha1.Difference {
		return v1alpha1.Difference{Address: address, Action: "update", Attributes: attributes}
	}
	entry := func(address string, attributes ...string) []v1alpha1.IgnoredDrift {
		return []v1alpha1.IgnoredDrift{{Addresses: []string{"other.a", address}, Attributes: attributes,
			Reason: "known"}}
	}
	for name, tt := range map[string]struct {
		difference v1alpha1.Difference
		entries    []v1alpha1.IgnoredDrift
		ignored    bool
	}{
		"without entries it counts":                  {update("a.b", "size"), nil, false},
		"an entry for the resource ignores it":       {update("a.b", "size"), entry("a.b"), true},
		"an entry for another resource does not":     {update("a.b", "size"), entry("a.c"), false},
		"a prefix of an address is another resource": {update("a.bc", "size"), entry("a.b"), false},
		"an entry without attributes ignores a deletion": {v1alpha1.Difference{Address: "a.b", Action: "delete"},
			entry("a.b"), true},
		"an entry with attributes ignores no deletion": {v1alpha1.Difference{Address: "a.b", Action: "delete"},
			entry("a.b", "*"), false},
		"an entry with attributes ignores no replacement": {v1alpha1.Difference{Address: "a.b", Action: "replace"},
			entry("a.b", "size"), false},
		"nor one with attributes": {
			v1alpha1.Difference{Address: "a.b", Action: "replace", Attributes: []string{"size"}}, entry("a.b", "size"),
			false,
		},
		"an update without known attributes counts": {update("a.b"), entry("a.b", "*"), false},
		"one attribute more counts":                 {update("a.b", "size", "name"), entry("a.b", "size"), false},
		"all attributes are listed": {update("a.b", "size", "name"), entry("a.b", "name", "size"),
			true},
		"two entries list all": {update("a.b", "size", "name"),
			append(entry("a.b", "size"), entry("a.*", "name")...), true},
		"an attribute includes what is in it": {update("a.b", `tags["x/y"]`, "tags.z"), entry("a.b", "tags"),
			true},
		"an attribute does not include a longer name": {update("a.b", "tags_all.x"), entry("a.b", "tags"), false},
		"a value in an attribute is not all of it": {update("a.b", "tags.x", "tags.y"), entry("a.b", "tags.x"),
			false},
		"an output": {v1alpha1.Difference{Address: "output.ip", Action: "update"}, entry("output.ip"), true},
		"a * stands for keys and dots": {
			update(`module.web["eu.1"].aws_instance.a[0]`, "size"), entry(`module.web[*].aws_instance.*`, "size"), true,
		},
	} {
		if got := ignoredFor(tt.difference, tt.entries); (got == "known") != tt.ignored {
			t.Errorf("%s: ignored for %q", name, got)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		matches       bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a", "ba", false}, {"*", "", true}, {"*", "a.b", true},
		{"a*", "a", true},
		{"a*", "ba", false}, {"*a", "ba", true}, {"*a", "ab", false}, {"a*a", "a", false}, {"a*a", "aa", true},
		{"a*b*c", "a.b.b.c", true}, {"a*b*c", "a.c.b", false}, {"a*bc*c", "abc", false}, {"a[0]", "a[0]", true},
		{"a[*]", "a0", false},
	} {
		if matches(tt.pattern, tt.text) != tt.matches {
			t.Errorf("%q and %q", tt.pattern, tt.text)
		}
	}
}

// scaled is drift of two resources: the size of a group, which scaling ignores, and a lost bucket.
var scaled = []v1alpha1.Difference{
	{Address: "group.web", Action: "update", Attributes: []string{"size"}},
	{Address: "bucket.logs", Action: "create"},
}

func finds(differences ...v1alpha1.Difference) func(*v1alpha1.Run) {
	return func(r *v1alpha1.Run) {
		driftCheck(r)
		r.Status.Plan = &v1alpha1.Plan{Changes: true, Differences: differences}
		for _, d := range differences {
			if d.Action == "update" {
				r.Status.Plan.Change++
			} else {
				r.Status.Plan.Add++
			}
		}
	}
}

func ignoring(until *metav1.Time, addresses ...string) func(*Snapshot) {
	return func(w *Snapshot) {
		w.Stack.Spec.Drift.Ignore = append(w.Stack.Spec.Drift.Ignore, v1alpha1.IgnoredDrift{
			Addresses: addresses, Reason: "set by the autoscaler", Until: until,
		})
	}
}

func TestIgnoredDrift(t *testing.T) {
	rest := 57*time.Minute + (slotOffset(string(uidAt(57*time.Minute)), time.Hour) % time.Minute).Truncate(time.Second)
	soon, past := &metav1.Time{Time: now.Add(time.Minute)}, &metav1.Time{Time: now}
	found := withRun("net-2", "Succeeded", "sha256:now", finds(scaled[0]))
	both := withRun("net-2", "Succeeded", "sha256:now", finds(scaled...))
	decide(t, map[string]decision{
		"a Stack is Ready if all drift is ignored": {
			snapshot: newSnapshot(checks("Report"), ignoring(nil, "group.*"), isApplied, found), ready: "True",
			reason:  "Applied",
			message: "1 difference is ignored (spec.drift.ignore)", requeue: rest,
		},
		"ignored drift is not corrected": {
			snapshot: newSnapshot(checks("Apply"), ignoring(nil, "group.*"), isApplied, found), ready: "True",
			reason: "Applied", requeue: rest,
		},
		"other drift counts": {
			snapshot: newSnapshot(checks("Report"), ignoring(nil, "group.*"), isApplied, both), ready: "False",
			reason:  "Drifted",
			message: "1 to add since 2026-11-20T12:00:00Z, found by Run net-2; 1 difference is ignored", stalled: true,
			requeue: rest,
		},
		"the Stack is reconciled when an entry ends": {
			snapshot: newSnapshot(checks("Report"), ignoring(soon, "group.*"), isApplied, found), ready: "True",
			reason: "Applied", requeue: time.Minute,
		},
		"an entry that ended counts": {
			snapshot: newSnapshot(checks("Report"), ignoring(past, "group.*"), isApplied, found), ready: "False",
			reason: "Drifted", stalled: true, requeue: rest,
		},
		"an entry that ended is corrected": {
			snapshot: newSnapshot(checks("Apply"), ignoring(past, "group.*"), isApplied, found), start: "Apply net-3",
			ready: "Unknown", reason: "Running",
		},
		"differences that are not known are not ignored": {
			snapshot: newSnapshot(checks("Report"), ignoring(nil, "*"), isApplied,
				withRun("net-2", "Succeeded", "sha256:now", driftCheck)),
			ready: "False", reason: "Drifted", stalled: true, requeue: rest,
		},
	})
}

// TestIgnoredDriftStatus checks that what is ignored is shown, and counts again without another check once its entry
// ends or is removed, also when only the status knows it.
func TestIgnoredDriftStatus(t *testing.T) {
	end := &metav1.Time{Time: now.Add(time.Minute)}
	w := newSnapshot(checks("Report"), ignoring(end, "group.*"), isApplied,
		withRun("net-2", "Succeeded", "sha256:now", finds(scaled[0])))
	s := Status(w, Decide(w))
	want := &v1alpha1.DriftStatus{
		CheckedAt: metav1.Time{Time: now}, CheckedBy: "net-2", Run: "net-2", Ignored: 1,
		Differences: []v1alpha1.DriftDifference{{Difference: scaled[0], Ignored: "set by the autoscaler"}},
	}
	if diff := cmp.Diff(want, s.Drift); diff != "" ||
		apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionDrifted) != nil {
		t.Error(diff, s.Conditions)
	}
	w.Stack.Status, w.Runs = s, RunsInHistory(&v1alpha1.Stack{Status: s})
	if again := Status(w, Decide(w)); cmp.Diff(s, again) != "" {
		t.Error("the status is written again:", cmp.Diff(s, again))
	}

	// A check that failed is the newest Run from here on, so that only the status has the differences.
	withRun("net-3", "Failed", "sha256:now", driftCheck)(&w)
	w.Now = end.Time
	if s = Status(w, Decide(w)); s.Drift.Since == nil || s.Drift.Change != 1 || s.Drift.Ignored != 0 ||
		s.Drift.Differences[0].Ignored != "" {
		t.Errorf("after the end: %+v", s.Drift)
	}
	if ready := ReadyOf(s); ready.Reason != v1alpha1.ReasonDrifted || !strings.Contains(ready.Message, "1 to change") {
		t.Errorf("Ready is %+v", ready)
	}
	since := s.Drift.Since
	w.Stack.Status = s
	ignoring(nil, "*")(&w)
	if s = Status(w, Decide(w)); s.Drift.Since != nil || s.Drift.Change != 0 || s.Drift.Ignored != 1 {
		t.Errorf("with a new entry: %+v", s.Drift)
	}
	w.Stack.Status, w.Stack.Spec.Drift.Ignore = s, nil
	if s = Status(w, Decide(w)); !s.Drift.Since.Equal(since) || s.Drift.Change != 1 || s.Drift.Ignored != 0 {
		t.Errorf("without entries: %+v", s.Drift)
	}
}

func applyingFor(kinds ...v1alpha1.ChangeKind) func(*Snapshot) {
	return func(w *Snapshot) { w.Stack.Spec.Drift.ApplyFor = kinds }
}

func TestCorrectionByKind(t *testing.T) {
	does := func(actions ...string) func(*Snapshot) {
		var all []v1alpha1.Difference
		for _, action := range actions {
			all = append(all, v1alpha1.Difference{Address: "a." + action, Action: action})
		}
		return withRun("net-2", "Succeeded", "sha256:now", finds(all...))
	}
	for name, tt := range map[string]struct {
		kinds    []v1alpha1.ChangeKind
		found    func(*Snapshot)
		ignore   []string
		corrects bool
		message  string
	}{
		"without a list all is corrected": {found: does("delete", "replace"), corrects: true},
		"an update is listed": {kinds: []v1alpha1.ChangeKind{"Update"}, found: does("update"),
			corrects: true},
		"a deletion is not listed": {kinds: []v1alpha1.ChangeKind{"Update"}, found: does("delete"),
			message: "does not list Delete"},
		"nothing of a mix is corrected": {kinds: []v1alpha1.ChangeKind{"Update"},
			found: does("update", "replace"), message: "does not list Replace"},
		"a replacement counts as Replace alone": {kinds: []v1alpha1.ChangeKind{"Replace"}, found: does("replace"),
			corrects: true},
		"Create and Delete are no replacement": {kinds: []v1alpha1.ChangeKind{"Create", "Delete"},
			found: does("replace"), message: "does not list Replace"},
		"what leaves the state is a deletion": {kinds: []v1alpha1.ChangeKind{"Update"}, found: does("forget"),
			message: "does not list Delete"},
		"an action that is invoked": {kinds: []v1alpha1.ChangeKind{"Update"}, found: does("invoke"),
			message: "does not list Action"},
		"a deletion that is ignored counts": {kinds: []v1alpha1.ChangeKind{"Update"},
			found: does("update", "delete"), ignore: []string{"a.delete"}, message: "does not list Delete"},
		"differences that are not known are others": {kinds: []v1alpha1.ChangeKind{"Create"},
			found: withRun("net-2", "Succeeded", "sha256:now", driftCheck), message: "not all differences are known"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSnapshot(checks("Apply"), applyingFor(tt.kinds...), isApplied, tt.found)
			if tt.ignore != nil {
				ignoring(nil, tt.ignore...)(&w)
			}
			d := Decide(w)
			if (d.Start != nil) != tt.corrects || d.Stalled == tt.corrects || !strings.Contains(d.Message, tt.message) {
				t.Errorf("start %v, stalled %v: %s", d.Start, d.Stalled, d.Message)
			}
		})
	}
}
