package pullrequest

import (
	"fmt"
	"slices"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// missingOutput is an output that a Stack reads and that does not exist before the merge.
type missingOutput struct {
	of     Key
	output string
}

// resolveMissing sets what follows for the Stacks that read outputs which do not exist: if other Stacks of the pull
// request add all of them, the Stack is deferred until these are applied; while their plans are in progress, it waits.
// Otherwise the problem stays.
func (w Snapshot) resolveMissing(stacks []v1alpha1.PullRequestStack) {
	left := map[Key]Affected{}
	for _, a := range w.Merge.Affected {
		if len(a.missing) > 0 && a.Restricted == "" {
			left[a.Key] = a
		}
	}
	for progress := true; progress; {
		progress = false
		for i, s := range stacks {
			key := Key{s.Namespace, s.Name}
			a, ok := left[key]
			isOpen := func(m missingOutput) bool { _, open := left[m.of]; return open }
			if !ok || s.Run != "" || slices.ContainsFunc(a.missing, isOpen) {
				continue
			}
			delete(left, key)
			progress = true
			resolve(&stacks[i], a.missing, stacks)
		}
	}
	for i, s := range stacks { // each reads an output of another one of these
		if a, ok := left[Key{s.Namespace, s.Name}]; ok && s.Run == "" {
			stacks[i].Phase = v1alpha1.PhaseFailed
			stacks[i].Message = runinfo.Clip(
				fmt.Sprintf("it reads output %s, which does not exist, of Stack %s, which "+
					"reads outputs of this Stack that do not exist", a.missing[0].output, a.missing[0].of), maxMessage)
		}
	}
}

// resolve sets what follows for a Stack from the plans of the Stacks whose outputs are missing.
func resolve(s *v1alpha1.PullRequestStack, missing []missingOutput, stacks []v1alpha1.PullRequestStack) {
	var after []upstream
	waits, failed := "", ""
	for _, m := range missing {
		i := slices.IndexFunc(stacks, func(other v1alpha1.PullRequestStack) bool {
			return m.of == Key{other.Namespace, other.Name}
		})
		if i < 0 || stacks[i].DeletedDirectory != "" {
			return // the problem stays: no plan of the pull request can add it
		}
		switch of := stacks[i]; {
		case of.Deferred, isUnplanned(of): // what it adds is not known before it is applied
		case !of.Phase.Finished():
			waits = fmt.Sprintf("waits for the plan of Stack %s in this pull request, which may add output %s",
				m.of, m.output)
		case of.Phase != v1alpha1.PhaseSucceeded || of.Plan == nil:
			failed = fmt.Sprintf("Stack %s has no output %s, and its plan in this pull request failed", m.of, m.output)
		case !adds(of.Plan, m.output):
			return
		}
		after = append(after, upstream{of: m.of, outputs: []string{m.output}})
	}
	switch {
	case failed != "":
		s.Phase, s.Message = v1alpha1.PhaseFailed, runinfo.Clip(failed, maxMessage)
	case waits != "":
		s.Phase, s.Message = v1alpha1.PhaseQueued, runinfo.Clip(waits, maxMessage)
	default:
		s.Phase, s.Deferred, s.Message = "", true, messageOfUpstreams(after)
	}
}

// adds reports whether a plan adds an output of a Stack, as Cairn read it in the plan file.
func adds(plan *v1alpha1.Plan, output string) bool {
	return plan.Unverified == "" && slices.ContainsFunc(plan.Outputs, func(o v1alpha1.OutputChange) bool {
		return o.Name == output && o.Action != outputDelete
	})
}
