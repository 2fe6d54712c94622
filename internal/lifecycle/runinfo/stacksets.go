package runinfo

import (
	"fmt"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
)

// Effects summarizes what a pull request changes in the lists of StackSets: "1 Stack would go, 2 would appear". Empty
// if it changes none.
func Effects(sets ...v1alpha1.PullRequestStackSet) string {
	var gone, changed, returned, appeared int32
	for _, s := range sets {
		gone, changed, returned, appeared = gone+s.Go, changed+s.Change, returned+s.Return, appeared+s.Appear
	}
	var all []string
	for _, one := range []struct {
		n    int32
		word string
	}{{gone, "go"}, {changed, "change"}, {returned, "return"}, {appeared, "appear"}} {
		noun := ""
		if len(all) == 0 {
			noun = " Stacks"
			if one.n == 1 {
				noun = " Stack"
			}
		}
		if one.n > 0 {
			all = append(all, fmt.Sprintf("%d%s would %s", one.n, noun, one.word))
		}
	}
	return strings.Join(all, ", ")
}

// EffectLine describes what a pull request changes in a Stack of a StackSet, with a sign as in a plan.
func EffectLine(s v1alpha1.PullRequestStackSetStack) string {
	sign, about := "+", s.Directory
	switch s.Effect {
	case v1alpha1.EffectGo:
		sign = "-"
	case v1alpha1.EffectChange:
		sign, about = "!", strings.Join(s.Fields, ", ")
	case v1alpha1.EffectReturn:
		about = strings.TrimSpace(about + " (continues)")
	}
	return strings.TrimSpace(sign + " " + s.Name + "  " + about)
}

// EffectNotes are what happens with the Stacks of a StackSet after the merge.
func EffectNotes(s v1alpha1.PullRequestStackSet) (notes []string) {
	if s.Go > 0 && s.Prune == v1alpha1.PruneDelete {
		notes = append(notes, "A Stack that goes is suspended. It is deleted, as its deletionPolicy has it, once a "+
			"user confirms the list with cairn confirm-deletions "+s.Name+
			": a plan that destroys its resources then waits for an approval.")
	} else if s.Go > 0 {
		notes = append(notes, "A Stack that goes is suspended: its resources and its State stay.")
	}
	if s.Appear > 0 {
		notes = append(notes, "A Stack that appears and has no plan here is planned after the merge.")
	}
	if more := int(s.Go+s.Change+s.Return+s.Appear) - len(s.Stacks); more > 0 {
		notes = append(notes, fmt.Sprintf("The list has the first %d Stacks, and %d more are not shown.", len(s.Stacks),
			more))
	}
	return notes
}
