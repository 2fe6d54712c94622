package decision

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"cairn.dev/cairn/api/v1alpha1"
)

// newSnapshot has a set that generates a Stack of each name, and the Stacks that applied them.
func newSnapshot(names []string, changes ...func(*Snapshot)) Snapshot {
	w := Snapshot{Same: func(*Rendered, *v1alpha1.Stack) bool { return true },
		Set: &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "platform", Generation: 3}}}
	for _, name := range names {
		renders(name, "env", "dev")(&w)
		exists(name, isApplied)(&w)
	}
	for _, change := range changes {
		change(&w)
	}
	return w
}

func renders(name string, labels ...string) func(*Snapshot) {
	return func(w *Snapshot) {
		r := Rendered{Name: name, Labels: map[string]string{}, Directory: "envs/" + name, Digest: "sha256:now",
			JSON: []byte(`{}`)}
		for i := 0; i+1 < len(labels); i += 2 {
			r.Labels[labels[i]] = labels[i+1]
		}
		w.Rendered = append(w.Rendered, r)
	}
}

func exists(name string, changes ...func(*v1alpha1.Stack)) func(*Snapshot) {
	return func(w *Snapshot) {
		s := v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name), Generation: 2,
			Labels:      map[string]string{v1alpha1.StackSetLabel: "platform"},
			Annotations: map[string]string{v1alpha1.RenderedAnnotation: "sha256:now"},
		}}
		s.Status.InputsDigest, s.Status.AppliedInputsDigest = "sha256:a", "sha256:before"
		for _, change := range changes {
			change(&s)
		}
		w.Stacks = append(w.Stacks, s)
	}
}

func ready(s *v1alpha1.Stack, status metav1.ConditionStatus, generation int64) {
	s.Status.ObservedGeneration = generation
	s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status,
		ObservedGeneration: generation}}
}

func isApplied(s *v1alpha1.Stack) {
	ready(s, metav1.ConditionTrue, 2)
	s.Status.InputsDigest, s.Status.AppliedInputsDigest = "sha256:a", "sha256:a"
}

func isFailed(s *v1alpha1.Stack) { waits(v1alpha1.ReasonRunFailed)(s) }

// waits has a condition that is not Ready.
func waits(reason string) func(*v1alpha1.Stack) {
	return func(s *v1alpha1.Stack) {
		ready(s, metav1.ConditionFalse, 2)
		s.Status.Conditions[0].Reason = reason
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionStalled,
			Status: metav1.ConditionTrue})
	}
}
func isNewStack(s *v1alpha1.Stack)  { s.Status.AppliedInputsDigest = "" }
func isDeleting(s *v1alpha1.Stack)  { s.DeletionTimestamp = &metav1.Time{} }
func isSuspended(s *v1alpha1.Stack) { s.Spec.Suspend = true; waits(v1alpha1.ReasonSuspended)(s) }
func neverApplies(s *v1alpha1.Stack) {
	s.Spec.Apply = v1alpha1.ApplyNever
	waits(v1alpha1.ReasonChangesPending)(s)
}
func differs(w *Snapshot) { w.Same = func(*Rendered, *v1alpha1.Stack) bool { return false } }

func isOutdated(s *v1alpha1.Stack) { s.Annotations[v1alpha1.RenderedAnnotation] = "sha256:before" }
func running(s *v1alpha1.Stack)    { ready(s, metav1.ConditionUnknown, 2) }
func isGone(s *v1alpha1.Stack) {
	s.Annotations[v1alpha1.ItemGoneAnnotation] = "gone"
}
func foreign(s *v1alpha1.Stack) { s.Labels = nil }

// readyForBefore is Ready, and has applied all, for the spec before the last change.
func readyForBefore(s *v1alpha1.Stack) {
	isApplied(s)
	s.Generation = 3
}

// isNotRead has a problem that leaves the condition as it was, as while a dependency is read.
func isNotRead(s *v1alpha1.Stack) {
	isApplied(s)
	s.Generation, s.Status.ObservedGeneration = 3, 3
}

func moves(from, to string) func(*v1alpha1.StackSetSpec) {
	return func(s *v1alpha1.StackSetSpec) { s.Moved = []v1alpha1.StackSetMove{{From: from, To: to}} }
}

func spec(change func(*v1alpha1.StackSetSpec)) func(*Snapshot) {
	return func(w *Snapshot) { change(&w.Set.Spec) }
}

func deletes(s *v1alpha1.StackSetSpec)  { s.Prune = v1alpha1.PruneDelete }
func previews(s *v1alpha1.StackSetSpec) { s.Mode = v1alpha1.StackSetPreview }

func confirmed(names ...string) func(*Snapshot) {
	return func(w *Snapshot) {
		var list []*v1alpha1.Stack
		for i := range w.Stacks {
			if slices.Contains(names, w.Stacks[i].Name) {
				list = append(list, &w.Stacks[i])
			}
		}
		w.Set.Annotations = map[string]string{v1alpha1.ConfirmDeletionsAnnotation: Digest(w.Set, list)}
	}
}

func twenty() (names []string) {
	for i := range 20 {
		names = append(names, fmt.Sprintf("net-%02d", i))
	}
	return names
}

func rollout(most, failures int32, order ...string) func(*Snapshot) {
	return spec(func(s *v1alpha1.StackSetSpec) {
		s.Rollout = &v1alpha1.StackSetRollout{MaxConcurrent: &most, PauseAfterFailures: &failures}
		for _, env := range order {
			s.Rollout.Order = append(s.Rollout.Order, metav1.LabelSelector{MatchLabels: map[string]string{"env": env}})
		}
	})
}

// The rollouts of Argo CD's ApplicationSets that went on too early have a test each, by the number of the issue.

// TestArgoCD29410 checks that a group does not start while a Stack of the one before is Ready for an earlier spec.
func TestArgoCD29410(t *testing.T) { waitsForGroup(t, readyForBefore) }

// TestArgoCD29347 checks that it does not start before the inputs of the new spec are read.
func TestArgoCD29347(t *testing.T) { waitsForGroup(t, isNotRead) }

func waitsForGroup(t *testing.T, isNot func(*v1alpha1.Stack)) {
	t.Helper()
	for name, tt := range map[string]struct {
		is     func(*v1alpha1.Stack)
		writes int
	}{"not applied": {isNot, 0}, "applied": {isApplied, 1}} {
		w := newSnapshot(nil, rollout(5, 3, "dev", "prod"), renders("a", "env", "dev"), exists("a", tt.is),
			renders("z", "env", "prod"), exists("z", isApplied, isOutdated))
		if d := Decide(w); len(d.Writes) != tt.writes || d.Reason != v1alpha1.ReasonRollingOut {
			t.Errorf("%s: %+v, %s", name, d.Writes, d.Message)
		}
	}
}

func TestDecide(t *testing.T) {
	three := []string{"a", "b", "c"}
	most := func(text string) func(*Snapshot) {
		return spec(func(s *v1alpha1.StackSetSpec) { v := intstr.Parse(text); s.MaxDeletions = &v })
	}
	for name, tt := range map[string]struct {
		snapshot Snapshot
		writes   string
		ready    string
		message  string
	}{
		"nothing to do": {newSnapshot(three), "", "True Complete", "3 Stacks"},
		"a new directory gets a Stack": {newSnapshot(three, renders("d")), "Create d",
			"Unknown RollingOut", "3 of 4 Stacks have applied the template, 0 are changing, 0 are outdated; 1 are " +
				"not created yet: d"},
		"a changed template changes Stacks": {
			newSnapshot(nil, renders("a"), exists("a", isApplied, isOutdated)), "Change a", "Unknown RollingOut",
			"1 are outdated"},
		"a field that a user changed is restored": {newSnapshot(nil, renders("a"), exists("a", isApplied),
			differs), "Change a", "Unknown RollingOut", ""},
		"a directory that comes back continues its Stack": {
			newSnapshot(nil, renders("a"), exists("a", isApplied, isGone)), "Change a", "Unknown RollingOut", ""},

		"a directory that is gone suspends its Stack": {newSnapshot(three, exists("old", isApplied)), "Suspend old",
			"Unknown RollingOut", ""},
		"and that is all with prune Keep": {newSnapshot(three, exists("old", isApplied, isGone)), "",
			"True Complete", "3 Stacks; Stack old is not generated any more"},
		"one that is being deleted is named as such": {
			newSnapshot(three, spec(deletes), exists("old", isApplied, isDeleting)), "", "True Complete",
			"3 Stacks; Stack old is being deleted"},
		"with prune Delete it waits for a user": {newSnapshot(three, spec(deletes), exists("old", isApplied, isGone)),
			"", "False AwaitingDeletionConfirmation", "Stack old is not generated any more"},
		"who confirms the exact list": {newSnapshot(three, spec(deletes), exists("old", isApplied, isGone),
			confirmed("old")), "Delete old", "Unknown RollingOut", ""},
		"which is suspended first": {newSnapshot(three, spec(deletes), exists("old", isApplied),
			confirmed("old")), "Suspend old", "Unknown RollingOut", ""},
		"a list that grew since is not deleted": {newSnapshot(twenty(), spec(deletes), exists("old", isApplied, isGone),
			confirmed("old"), exists("older", isApplied, isGone)), "", "False AwaitingDeletionConfirmation",
			"Stacks old, older are"},
		"nor is another Stack of the name": {newSnapshot(three, spec(deletes), exists("old", isApplied, isGone),
			confirmed("old"), func(w *Snapshot) {
				w.Stacks[3].UID = "another"
			}), "", "False AwaitingDeletionConfirmation", ""},

		"a failed fetch writes nothing": {newSnapshot(nil, exists("a", isApplied), exists("b", isApplied),
			func(w *Snapshot) {
				w.Problem = &Problem{Reason: "FetchFailed", Message: "the remote is away"}
			}), "", "False FetchFailed", "no Stack is created, changed, suspended or deleted"},
		"a list that fails writes nothing": {newSnapshot(nil, exists("a", isApplied), func(w *Snapshot) {
			w.Problem = &Problem{Reason: "RepositoryNotReady", Message: "the list fails", Transient: true}
			renders("b")(w)
		}), "", "False RepositoryNotReady", "no Stack is created, changed, suspended or deleted"},
		"an empty result writes nothing": {
			newSnapshot(nil, exists("a", isApplied), exists("b", isApplied)), "", "False NothingGenerated",
			"2 Stacks of the set exist"},
		"an empty result of a new set": {newSnapshot(nil), "", "False NothingGenerated",
			"check include"},
		"half a tree writes nothing": {newSnapshot(twenty()[:10], func(w *Snapshot) {
			w.Rendered = w.Rendered[:5]
		}, renders("new")), "", "False TooManyGone", "5 of 10 Stacks"},
		"one may always go": {newSnapshot(three, func(w *Snapshot) {
			w.Rendered = w.Rendered[:2]
		}), "Suspend c", "Unknown RollingOut", ""},
		"those that went before do not count": {
			newSnapshot(twenty()[:10], exists("x", isApplied, isGone), exists("y", isApplied, isGone),
				exists("z", isApplied)), "Suspend z", "Unknown RollingOut", ""},
		"maxDeletions 0 suspends none": {
			newSnapshot(three, most("0"), exists("old", isApplied)), "", "False TooManyGone", "allows 0"},
		"maxDeletions 100% suspends all but the last": {newSnapshot(three, most("100%"), func(w *Snapshot) {
			w.Rendered = w.Rendered[:1]
		}), "Suspend b, Suspend c", "Unknown RollingOut", ""},
		"two directories with one name write nothing": {newSnapshot(three, renders("a")), "",
			"False NamesCollide", "envs/a and envs/a have the same name a"},
		"a Stack of a user is not adopted, and nothing is written": {
			newSnapshot(three, renders("d"), exists("d", isApplied, foreign), renders("e")), "", "False StackNotOwned",
			"kubectl label --overwrite stack NAME cairn.dev/stackset=platform has it"},
		"nor is one of another set": {newSnapshot(three, renders("d"), exists("d", isApplied, func(s *v1alpha1.Stack) {
			s.Labels = map[string]string{v1alpha1.StackSetLabel: "other", v1alpha1.StackSetNamespaceLabel: "shop"}
		})), "", "False StackNotOwned", "kubectl label --overwrite stack NAME cairn.dev/stackset=platform " +
			"cairn.dev/stackset-namespace- has it take a Stack over; nothing is written; some are of StackSet " +
			"shop/other, which then"},
		"a Stack of another set is not changed": {newSnapshot(three, exists("d", isApplied, func(s *v1alpha1.Stack) {
			s.Labels[v1alpha1.StackSetLabel] = "other"
		})), "", "True Complete", ""},
		"a moved directory continues its Stack": {newSnapshot(nil, exists("old", isApplied, isOutdated), renders("new"),
			spec(func(s *v1alpha1.StackSetSpec) {
				s.Moved = []v1alpha1.StackSetMove{{From: "old", To: "new"}}
			})), "Change old", "Unknown RollingOut", ""},
		"a preview writes nothing": {newSnapshot(three, spec(previews), renders("d"), exists("old", isApplied),
			exists("x", isApplied, isOutdated), renders("x")), "", "True Previewed",
			"would create 1 Stacks, change 1, and suspend 1"},

		"at most so many Stacks change at once": {newSnapshot(nil, rollout(2, 3), renders("a"),
			exists("a", isOutdated), renders("b"), exists("b", running), renders("c"), exists("c", isOutdated)),
			"Change a", "Unknown RollingOut",
			"0 of 3 Stacks have applied the template, 1 are changing, 2 are outdated"},
		"a group starts when the one before has applied": {newSnapshot(nil, rollout(5, 3, "dev", "prod"),
			renders("a", "env", "dev"), exists("a", running), renders("z", "env", "prod"),
			exists("z", isApplied, isOutdated)), "", "Unknown RollingOut", ""},
		"then it does": {newSnapshot(nil, rollout(5, 3, "dev", "prod"),
			renders("a", "env", "dev"), exists("a", isApplied), renders("z", "env", "prod"),
			exists("z", isApplied, isOutdated)), "Change z", "Unknown RollingOut", ""},
		"it pauses after failures": {newSnapshot(nil, rollout(9, 2), renders("a"),
			exists("a", isFailed), renders("b"), exists("b", isFailed), renders("c"), exists("c", isOutdated)), "",
			"False RolloutPaused", "with the current template 2 failed (a, b), and 1 wait"},
		"new Stacks are created meanwhile": {newSnapshot(nil, rollout(9, 1), renders("a"),
			exists("a", isFailed), renders("b"), renders("c"), exists("c", isOutdated)), "Create b",
			"False RolloutPaused", ""},
		"Stacks of no group are last": {newSnapshot(nil, rollout(5, 3, "dev"), renders("a"),
			exists("a", isOutdated), renders("z", "env", "dev"), exists("z", isOutdated)), "Change z",
			"Unknown RollingOut", ""},
		"a suspended Stack holds up nothing, and says so": {
			newSnapshot(nil, rollout(1, 1, "dev"), renders("a", "env", "dev"), exists("a", isSuspended), renders("z"),
				exists("z", isApplied, isOutdated)), "Change z", "Unknown RollingOut",
			"1 are suspended or never apply, and are not waited for: a"},
		"nor does one that never applies, once it planned": {
			newSnapshot(nil, rollout(1, 1, "dev"), renders("a", "env", "dev"), exists("a", neverApplies), renders("z"),
				exists("z", isApplied, isOutdated)), "Change z", "Unknown RollingOut", "a"},
		"an approval is waited for by name": {
			newSnapshot(nil, rollout(5, 1, "dev"), renders("a", "env", "dev"),
				exists("a", waits(v1alpha1.ReasonAwaitingApproval)), renders("z"), exists("z", isApplied, isOutdated)),
			"", "Unknown RollingOut", "1 wait for an approval: a"},
		"a Stack whose Run was canceled is named": {
			newSnapshot(nil, rollout(5, 1, "dev"), renders("a", "env", "dev"),
				exists("a", waits(v1alpha1.ReasonRunCanceled)), renders("z"), exists("z", isApplied, isOutdated)), "",
			"Unknown RollingOut", "1 are changing, 1 are outdated; 1 wait for cairn apply, since a user canceled or " +
				"rejected their Runs: a"},
		"a Stack whose Run was rejected is named": {
			newSnapshot(nil, rollout(5, 1, "dev"), renders("a", "env", "dev"),
				exists("a", waits(v1alpha1.ReasonRunRejected)), renders("z"), exists("z", isApplied, isOutdated)), "",
			"Unknown RollingOut", "1 wait for cairn apply, since a user canceled or rejected their Runs: a"},
		"a Stack that waits for a window is named": {
			newSnapshot(nil, rollout(5, 1, "dev"), renders("a", "env", "dev"),
				exists("a", waits(v1alpha1.ReasonWindowClosed)), renders("z"), exists("z", isApplied, isOutdated)), "",
			"Unknown RollingOut", "1 wait for a window: a"},
		"new Stacks hold up no change": {
			newSnapshot(nil, rollout(1, 3, "dev"), renders("a", "env", "dev"),
				exists("a", isNewStack, waits(v1alpha1.ReasonAwaitingApproval)), renders("b"),
				exists("b", isNewStack, waits(v1alpha1.ReasonAwaitingApproval)), renders("z"),
				exists("z", isApplied, isOutdated)), "Change z", "Unknown RollingOut", ""},
		"and get a changed template at once": {newSnapshot(nil, rollout(1, 3), renders("a"),
			exists("a", isNewStack, isOutdated), renders("b"), exists("b", isNewStack, isOutdated)),
			"Change a, Change b", "Unknown RollingOut", ""},
		"drift that was found since does not undo an apply": {
			newSnapshot(nil, renders("a"), exists("a", isApplied, waits(v1alpha1.ReasonDrifted))), "", "True Complete",
			""},
		"a Stack that is being deleted is not changed": {
			newSnapshot(nil, renders("a"), exists("a", isApplied, isOutdated, isDeleting)), "", "Unknown RollingOut",
			"1 are being deleted, and created again then: a"},
		"a Stack that a user deletes is not suspended": {
			newSnapshot(three, exists("old", isApplied, isDeleting)), "", "True Complete", ""},
		"nor does it stay suspended": {
			newSnapshot(three, exists("old", isApplied, isGone, isDeleting)), "Release old", "Unknown RollingOut", ""},
		"nor if its directory returns meanwhile": {
			newSnapshot(nil, renders("a"), exists("a", isApplied, isGone, isDeleting)), "Release a",
			"Unknown RollingOut", ""},
		"one that is being deleted needs no confirmation": {
			newSnapshot(three, spec(deletes), exists("old", isApplied, isGone, isDeleting)), "Release old",
			"Unknown RollingOut", ""},
		"a move of two Stacks that both exist writes nothing": {newSnapshot(nil, exists("old", isApplied),
			renders("new"), exists("new", isApplied), renders("more"), spec(moves("old", "new"))), "",
			"False NamesCollide", "Stacks old and new both exist"},
		"a move to a Stack of a user writes nothing": {newSnapshot(nil, exists("old", isApplied), renders("new"),
			exists("new", foreign), spec(moves("old", "new"))), "", "False NamesCollide", ""},
		"a move of a Stack of a user writes nothing": {newSnapshot(nil, exists("old", foreign), renders("new"),
			spec(moves("old", "new"))), "", "False StackNotOwned", "Stack old"},
		"a move that is over": {newSnapshot(nil, renders("new"), exists("new", isApplied),
			spec(moves("old", "new"))), "", "True Complete", ""},
		"a move to the name of another item writes nothing": {newSnapshot(nil, renders("old"), exists("old", isApplied),
			renders("new"), spec(moves("old", "new"))), "", "False NamesCollide", ""},
		"Stacks that went before are no part of the percentage": {newSnapshot(twenty()[:9], most("10%"),
			func(w *Snapshot) {
				for i := range 20 {
					exists(fmt.Sprintf("gone-%d", i), isGone)(w)
				}
				exists("x", isApplied)(w)
				exists("y", isApplied)(w)
			}), "", "False TooManyGone", "2 of 11 Stacks"},
		"a preview that would write nothing": {newSnapshot(three, spec(previews), func(w *Snapshot) {
			w.Rendered = w.Rendered[:1]
		}), "", "True Previewed", "it would write nothing, because spec.maxDeletions allows 1 at once"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.snapshot)
			var writes []string
			for _, w := range d.Writes {
				writes = append(writes, string(w.Action)+" "+w.Name)
			}
			if diff := cmp.Diff(tt.writes, strings.Join(writes, ", ")); diff != "" {
				t.Errorf("writes %s", diff)
			}
			if got := string(d.Ready) + " " + d.Reason; got != tt.ready || !strings.Contains(d.Message, tt.message) {
				t.Errorf("%s: %s", got, d.Message)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	w := newSnapshot(nil, spec(previews), func(w *Snapshot) {
		for i := range 30 {
			renders(fmt.Sprintf("s-%02d", i))(w)
			w.Rendered[i].JSON = []byte(`{"spec":{}}`)
		}
	})
	d := Decide(w)
	p := d.Status.Preview
	if len(p.Create) != 20 || len(p.Samples) != 3 || string(p.Samples[0].Raw) != `{"spec":{}}` ||
		!strings.Contains(d.Message, "create 30") {
		t.Errorf("preview %+v: %s", p, d.Message)
	}
	d = Decision{Ready: metav1.ConditionUnknown, Reason: v1alpha1.ReasonRollingOut, Message: strings.Repeat("x", 9000)}
	s := Status(w, d, nil)
	if len(s.Conditions) != 1 || len(s.Conditions[0].Message) != 4096 {
		t.Errorf("conditions %+v", s.Conditions)
	}
	down := Failure{Name: "a", Action: Create, Message: "no answer", Advice: "check it"}
	wrong := Failure{Name: "b", Action: Change, Message: "Invalid", Advice: "correct it", Rejected: true}
	const retried = "; it is tried again, at growing intervals of at most 5 minutes"
	paused := Decision{Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonRolloutPaused, Message: "3 failed",
		Stalled: true}
	for _, tt := range []struct {
		d               Decision
		failures        []Failure
		reason, message string
		stalled         bool
	}{
		{d, []Failure{down}, v1alpha1.ReasonStackWriteFailed,
			"Stack a cannot be written (Create): no answer: check it" + retried, false},
		{d, []Failure{down, wrong}, v1alpha1.ReasonStackRejected,
			"the API server rejected Stack b (Change): Invalid: correct it" + retried + "; and 1 more", true},
		{paused, []Failure{down}, v1alpha1.ReasonRolloutPaused,
			"3 failed; Stack a cannot be written (Create): no answer: check it" + retried, true},
	} {
		s = Status(w, tt.d, tt.failures)
		stalled := len(s.Conditions) == 2
		if c := s.Conditions[0]; c.Reason != tt.reason || c.Message != tt.message ||
			c.Status != metav1.ConditionFalse || stalled != tt.stalled {
			t.Errorf("conditions %+v", s.Conditions)
		}
	}
	for reason, stalled := range map[string]bool{v1alpha1.ReasonRepositoryNotReady: false,
		v1alpha1.ReasonRefNotFound: true} {
		w.Problem = &Problem{Reason: reason, Message: "m", Transient: !stalled}
		if d := Decide(w); d.Stalled != stalled {
			t.Errorf("%s: stalled is %t", reason, d.Stalled)
		}
	}
}

// TestGroups checks the progress of each group of a rollout.
func TestGroups(t *testing.T) {
	order := spec(func(s *v1alpha1.StackSetSpec) {
		s.Rollout = &v1alpha1.StackSetRollout{Order: []metav1.LabelSelector{{
			MatchLabels: map[string]string{"env": "dev"}}, {
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "env", Operator: metav1.LabelSelectorOpIn,
				Values: []string{"prod", "live"}}},
		}}}
	})
	w := newSnapshot([]string{"a", "b"}, order, renders("c", "env", "dev"), exists("c", isFailed),
		renders("d", "env", "dev"),
		renders("e", "env", "prod"), exists("e", isApplied, isOutdated), renders("f"), exists("f", isApplied),
		exists("old", isApplied, isGone))
	want := []v1alpha1.StackSetGroup{
		{Name: "env=dev", Generated: 4, Applied: 2, Failed: 1}, {Name: "env in (live,prod)", Generated: 1},
		{Name: "others", Generated: 1, Applied: 1},
	}
	d := Decide(w)
	if diff := cmp.Diff(want, d.Status.Groups); diff != "" {
		t.Error(diff)
	}
	w.Set.Status, w.Set.Spec.Rollout = d.Status, nil
	if got := Decide(w).Status.Groups; got != nil {
		t.Errorf("without an order: %+v", got)
	}
	long := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "env", Operator: metav1.LabelSelectorOpIn, Values: []string{strings.Repeat("x", 9000)}}}}
	w.Set.Spec.Rollout = &v1alpha1.StackSetRollout{Order: []metav1.LabelSelector{long}}
	if got := Decide(w).Status.Groups; len(got) != 2 || len(got[0].Name) > 200 {
		t.Errorf("%+v", got)
	}
}

// A Stack that a move keeps has its old name: what depends on it would wait for the new one for ever.
func TestDependenciesOnAMovedStack(t *testing.T) {
	const before, after = `{"spec":{"b":12345678901234567890,"dependsOn":[{"name":"other"},{"name":"new"}]}}`,
		`{"spec":{"b":12345678901234567890,"dependsOn":[{"name":"other"},{"name":"old"}]}}`
	for name, tt := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"it continues under its old name":       {exists("old", isApplied), after},
		"the move is over, or has nothing kept": {exists("x", isApplied), before},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSnapshot(nil, tt.change, spec(moves("old", "new")), renders("new"), renders("app"))
			w.Rendered[1].JSON = []byte(before)
			for _, write := range Decide(w).Writes {
				if write.Name == "app" && (string(write.Rendered.JSON) != tt.want ||
					(write.Rendered.Digest == "sha256:now") != (tt.want == before)) {
					t.Errorf("%s %s", write.Rendered.JSON, write.Rendered.Digest)
				}
			}
			if string(w.Rendered[1].JSON) != before {
				t.Error("what was rendered changed")
			}
		})
	}
}
