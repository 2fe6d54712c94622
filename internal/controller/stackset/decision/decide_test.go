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
	w := Snapshot{Set: &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "platform", Generation: 3}}}
	for _, name := range names {
		renders(name, "env", "dev")(&w)
		exists(name, applied)(&w)
	}
	for _, change := range changes {
		change(&w)
	}
	return w
}

func renders(name string, labels ...string) func(*Snapshot) {
	return func(w *Snapshot) {
		s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		for i := 0; i+1 < len(labels); i += 2 {
			s.Labels[labels[i]] = labels[i+1]
		}
		w.Rendered = append(w.Rendered, Rendered{Stack: s, Directory: "envs/" + name, Digest: "sha256:now", Same: true})
	}
}

func exists(name string, changes ...func(*v1alpha1.Stack)) func(*Snapshot) {
	return func(w *Snapshot) {
		s := v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name), Generation: 2,
			Labels:      map[string]string{v1alpha1.StackSetLabel: "platform"},
			Annotations: map[string]string{v1alpha1.RenderedAnnotation: "sha256:now"},
		}}
		for _, change := range changes {
			change(&s)
		}
		w.Stacks = append(w.Stacks, s)
	}
}

func ready(s *v1alpha1.Stack, status metav1.ConditionStatus, generation int64) {
	s.Status.ObservedGeneration = generation
	s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, ObservedGeneration: generation}}
}

func applied(s *v1alpha1.Stack) {
	ready(s, metav1.ConditionTrue, 2)
	s.Status.InputsDigest, s.Status.AppliedInputsDigest = "sha256:a", "sha256:a"
}

func failed(s *v1alpha1.Stack) {
	ready(s, metav1.ConditionFalse, 2)
	s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue})
}

func outdated(s *v1alpha1.Stack) { s.Annotations[v1alpha1.RenderedAnnotation] = "sha256:before" }
func running(s *v1alpha1.Stack)  { ready(s, metav1.ConditionUnknown, 2) }
func suspended(s *v1alpha1.Stack) {
	s.Annotations[v1alpha1.ItemGoneAnnotation] = "gone"
}
func foreign(s *v1alpha1.Stack) { s.Labels = nil }

// readyForBefore is Ready, and has applied all, for the spec before the last change.
func readyForBefore(s *v1alpha1.Stack) {
	applied(s)
	s.Generation = 3
}

// isNotRead has a problem that leaves the condition as it was, as while a dependency is read.
func isNotRead(s *v1alpha1.Stack) {
	applied(s)
	s.Generation, s.Status.ObservedGeneration = 3, 3
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
		w.Set.Annotations = map[string]string{v1alpha1.ConfirmDeletionsAnnotation: digestOf(list)}
	}
}

func twenty() (names []string) {
	for i := range 20 {
		names = append(names, fmt.Sprintf("net-%02d", i))
	}
	return names
}

func TestDecide(t *testing.T) {
	three := []string{"a", "b", "c"}
	rollout := func(most, failures int32, order ...string) func(*Snapshot) {
		return spec(func(s *v1alpha1.StackSetSpec) {
			s.Rollout = &v1alpha1.StackSetRollout{MaxConcurrent: &most, PauseAfterFailures: &failures}
			for _, env := range order {
				s.Rollout.Order = append(s.Rollout.Order, metav1.LabelSelector{MatchLabels: map[string]string{"env": env}})
			}
		})
	}
	most := func(text string) func(*Snapshot) {
		return spec(func(s *v1alpha1.StackSetSpec) { v := intstr.Parse(text); s.MaxDeletions = &v })
	}
	for name, tt := range map[string]struct {
		snapshot Snapshot
		writes   string
		ready    string
		message  string
	}{
		"nothing to do":                                   {newSnapshot(three), "", "True Complete", "3 Stacks"},
		"a new directory gets a Stack":                    {newSnapshot(three, renders("d")), "Create d", "Unknown RollingOut", "3 of 4"},
		"a changed template changes Stacks":               {newSnapshot(nil, renders("a"), exists("a", applied, outdated)), "Change a", "Unknown RollingOut", "1 wait"},
		"a field that somebody changed is restored":       {newSnapshot(nil, renders("a"), exists("a", applied), func(w *Snapshot) { w.Rendered[0].Same = false }), "Change a", "Unknown RollingOut", ""},
		"a directory that comes back continues its Stack": {newSnapshot(nil, renders("a"), exists("a", applied, suspended)), "Change a", "Unknown RollingOut", ""},

		"a directory that is gone suspends its Stack": {newSnapshot(three, exists("old", applied)), "Suspend old", "Unknown RollingOut", ""},
		"and that is all with prune Keep":             {newSnapshot(three, exists("old", applied, suspended)), "", "True Complete", ""},
		"with prune Delete it waits for a user":       {newSnapshot(three, spec(deletes), exists("old", applied, suspended)), "", "False AwaitingDeletionConfirmation", "Stack old is not generated any more"},
		"who confirms the exact list":                 {newSnapshot(three, spec(deletes), exists("old", applied, suspended), confirmed("old")), "Delete old", "Unknown RollingOut", ""},
		"a list that grew since is not deleted":       {newSnapshot(twenty(), spec(deletes), exists("old", applied, suspended), confirmed("old"), exists("older", applied, suspended)), "", "False AwaitingDeletionConfirmation", "Stacks old, older are"},
		"nor is another Stack of the name": {newSnapshot(three, spec(deletes), exists("old", applied, suspended), confirmed("old"), func(w *Snapshot) {
			w.Stacks[3].UID = "another"
		}), "", "False AwaitingDeletionConfirmation", ""},

		"a failed fetch writes nothing (argo-cd 18212)": {newSnapshot(nil, exists("a", applied), exists("b", applied), func(w *Snapshot) {
			w.Problem = &Problem{"FetchFailed", "the remote is away"}
		}), "", "False FetchFailed", "no Stack is created, changed, suspended or deleted"},
		"an empty result writes nothing (argo-cd 14318)":           {newSnapshot(nil, exists("a", applied), exists("b", applied)), "", "False NothingGenerated", "2 Stacks of the set exist"},
		"an empty result of a new set":                             {newSnapshot(nil), "", "False NothingGenerated", "check include"},
		"half a tree writes nothing (argo-cd 18480)":               {newSnapshot(twenty()[:10], func(w *Snapshot) { w.Rendered = w.Rendered[:5] }, renders("new")), "", "False TooManyGone", "5 of 10 Stacks"},
		"one may always go":                                        {newSnapshot(three, func(w *Snapshot) { w.Rendered = w.Rendered[:2] }), "Suspend c", "Unknown RollingOut", ""},
		"those that went before do not count":                      {newSnapshot(twenty()[:10], exists("x", applied, suspended), exists("y", applied, suspended), exists("z", applied)), "Suspend z", "Unknown RollingOut", ""},
		"maxDeletions 0 suspends none":                             {newSnapshot(three, most("0"), exists("old", applied)), "", "False TooManyGone", "allows 0"},
		"maxDeletions 100% suspends all but the last":              {newSnapshot(three, most("100%"), func(w *Snapshot) { w.Rendered = w.Rendered[:1] }), "Suspend b, Suspend c", "Unknown RollingOut", ""},
		"two directories with one name write nothing":              {newSnapshot(three, renders("a")), "", "False NamesCollide", "envs/a and envs/a have the same name a"},
		"a Stack of a user is not adopted, and nothing is written": {newSnapshot(three, renders("d"), exists("d", applied, foreign), renders("e")), "", "False StackNotOwned", "kubectl label stack NAME cairn.dev/stackset=platform"},
		"a Stack of another set is not changed":                    {newSnapshot(three, exists("d", applied, func(s *v1alpha1.Stack) { s.Labels[v1alpha1.StackSetLabel] = "other" })), "", "True Complete", ""},
		"a moved directory continues its Stack": {newSnapshot(nil, exists("old", applied, outdated), renders("new"), spec(func(s *v1alpha1.StackSetSpec) {
			s.Moved = []v1alpha1.StackSetMove{{From: "old", To: "new"}}
		})), "Change old", "Unknown RollingOut", ""},
		"a preview writes nothing": {newSnapshot(three, spec(previews), renders("d"), exists("old", applied), exists("x", applied, outdated), renders("x")), "", "True Previewed", "would create 1 Stacks, change 1, and suspend 1"},

		"at most so many Stacks change at once":          {newSnapshot(nil, rollout(2, 3), renders("a"), exists("a", outdated), renders("b"), exists("b", running), renders("c"), exists("c", outdated)), "Change a", "Unknown RollingOut", "0 of 3 Stacks have applied the template, 1 are changing, 2 wait"},
		"a group starts when the one before has applied": {newSnapshot(nil, rollout(5, 3, "dev", "prod"), renders("a", "env", "dev"), exists("a", running), renders("z", "env", "prod"), exists("z", applied, outdated)), "", "Unknown RollingOut", ""},
		"then it does": {newSnapshot(nil, rollout(5, 3, "dev", "prod"), renders("a", "env", "dev"), exists("a", applied), renders("z", "env", "prod"), exists("z", applied, outdated)), "Change z", "Unknown RollingOut", ""},
		"Ready for the spec before is not applied (argo-cd 29410)":     {newSnapshot(nil, rollout(5, 3, "dev", "prod"), renders("a", "env", "dev"), exists("a", readyForBefore), renders("z", "env", "prod"), exists("z", applied, outdated)), "", "Unknown RollingOut", ""},
		"nor is a Stack whose inputs are not read yet (argo-cd 29347)": {newSnapshot(nil, rollout(5, 3, "dev", "prod"), renders("a", "env", "dev"), exists("a", isNotRead), renders("z", "env", "prod"), exists("z", applied, outdated)), "", "Unknown RollingOut", ""},
		"it pauses after failures":                                     {newSnapshot(nil, rollout(9, 2), renders("a"), exists("a", failed), renders("b"), exists("b", failed), renders("c"), exists("c", outdated)), "", "False RolloutPaused", "2 Stacks failed"},
		"new Stacks are created meanwhile":                             {newSnapshot(nil, rollout(9, 1), renders("a"), exists("a", failed), renders("b"), renders("c"), exists("c", outdated)), "Create b", "False RolloutPaused", ""},
		"Stacks of no group are last":                                  {newSnapshot(nil, rollout(5, 3, "dev"), renders("a"), exists("a", outdated), renders("z", "env", "dev"), exists("z", outdated)), "Change z", "Unknown RollingOut", ""},
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
