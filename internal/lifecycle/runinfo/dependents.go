package runinfo

import (
	"fmt"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
)

// Dependents summarizes which Stacks are planned after the merge of a pull request, because of outputs: "1 Stack is
// deferred until an output exists, 2 other Stacks read outputs that change". Empty for none.
func Dependents(stacks []v1alpha1.PullRequestStack, dependents []v1alpha1.PullRequestDependent, more int32) string {
	var deferred, planned, possible int
	for _, s := range stacks {
		if s.Deferred {
			deferred++
		}
	}
	for _, d := range dependents {
		if d.Possible {
			possible++
		} else {
			planned++
		}
	}
	possible += int(more)
	var all []string
	for _, kind := range []struct {
		n         int
		one, many string
	}{
		{deferred, "Stack is deferred until an output exists", "Stacks are deferred until outputs exist"},
		{planned, "other Stack reads outputs that change", "other Stacks read outputs that change"},
		{possible, "other Stack may be planned after the merge", "other Stacks may be planned after the merge"},
	} {
		switch {
		case kind.n == 1:
			all = append(all, "1 "+kind.one)
		case kind.n > 1:
			all = append(all, fmt.Sprintf("%d %s", kind.n, kind.many))
		}
	}
	return strings.Join(all, ", ")
}
