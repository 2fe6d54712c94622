package decision

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestEquivalent checks that the decision about equivalent versions of a Stack is the same, for all pairs of versions,
// and that those which differ in the steps of a Run are equivalent.
func TestEquivalent(t *testing.T) {
	planning := func(s *v1alpha1.Stack) {
		running(s)
		s.Status.Conditions[0].Reason = "Planning"
		s.ResourceVersion = "7"
	}
	versions := map[string]func(*v1alpha1.Stack){
		"applied": isApplied, "failed": isFailed, "new": isNewStack, "deleting": isDeleting, "suspended": isSuspended,
		"never applies": neverApplies,
		"outdated":      isOutdated, "running": running, "gone": isGone, "foreign": foreign,
		"ready for the spec before": readyForBefore,
		"not read":                  isNotRead, "awaiting": waits(v1alpha1.ReasonAwaitingApproval), "canceled": waits(
			v1alpha1.ReasonRunCanceled),
		"rejected": waits(v1alpha1.ReasonRunRejected), "no window": waits(v1alpha1.ReasonWindowClosed), "drifted": func(
			s *v1alpha1.Stack) {
			isApplied(s)
			waits(v1alpha1.ReasonDrifted)(s)
		},
		"planning": planning, "applying": func(s *v1alpha1.Stack) {
			planning(s)
			s.Status.Conditions[0].Reason, s.ResourceVersion = "Applying", "8"
		},
		"new and planning": func(s *v1alpha1.Stack) { planning(s); isNewStack(s) },
	}
	order := spec(func(s *v1alpha1.StackSetSpec) {
		s.Rollout = &v1alpha1.StackSetRollout{MaxConcurrent: new(int32(1)), PauseAfterFailures: new(int32(1)),
			Order: []metav1.LabelSelector{{MatchLabels: map[string]string{"env": "dev"}}}}
	})
	around := func(change func(*v1alpha1.Stack)) (v1alpha1.Stack, string) {
		w := newSnapshot(nil, order, renders("a", "env", "dev"), exists("a", change), renders("z"),
			exists("z", isApplied, isOutdated))
		d := Decide(w)
		text := fmt.Sprintf("%s %s %+v", d.Reason, d.Message, d.Status.Groups)
		for _, one := range d.Writes {
			text += fmt.Sprintf("; %s %s", one.Action, one.Name)
		}
		return w.Stacks[0], text
	}
	equivalent := 0
	for a, first := range versions {
		for b, second := range versions {
			one, decided := around(first)
			two, next := around(second)
			if !Equivalent(&one, &two) {
				continue
			}
			if a != b {
				equivalent++
			}
			if diff := cmp.Diff(decided, next); diff != "" {
				t.Errorf("%s and %s are equivalent, and the decisions differ: %s", a, b, diff)
			}
		}
	}
	if equivalent == 0 {
		t.Error("no two versions are equivalent")
	}
	one, _ := around(versions["planning"])
	two, _ := around(versions["applying"])
	if !Equivalent(&one, &two) {
		t.Error("the steps of a Run are not equivalent")
	}
	if two.UID = "another"; Equivalent(&one, &two) {
		t.Error("two Stacks of a name are equivalent")
	}
}
