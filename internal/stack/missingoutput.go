package stack

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
)

// namedOutputs is how many outputs a message names.
const namedOutputs = 5

// outputProblem says why an output cannot be had that the State of its Stack has no fingerprint of. The first two reasons
// pass by themselves.
func outputProblem(w *World, ref *v1alpha1.OutputRef, st v1alpha1.StateStatus) *Problem {
	for _, d := range w.Dependencies {
		if d.Name == ref.Name && d.Waits != "" {
			return outputWaits(ref.Name, d.Waits)
		}
	}
	const instead = "have that Stack write its outputs to a Secret with spec.outputs, and take the variable from there"
	switch {
	case st.Resources < 0:
		return outputMissing("the state of Stack %s is encrypted by its engine, so Cairn cannot read output %s: %s", ref.Name, ref.Output, instead)
	case st.Outputs == nil && st.OutputsVersion != st.Version:
		return outputsUnread(ref.Name)
	case len(st.Outputs) >= v1alpha1.MostOutputs:
		return outputMissing("output %s of Stack %s is not among its first %d by name, which are all that others can use: %s",
			ref.Output, ref.Name, v1alpha1.MostOutputs, instead)
	}
	return outputMissing("Stack %s has no output %s, %s: add it to its code, or correct the variable that uses it",
		ref.Name, ref.Output, onlyThese(st.Outputs))
}

func outputsUnread(stack string) *Problem { return outputWaits(stack, "its outputs are not read yet") }

func outputWaits(stack, why string) *Problem {
	return &Problem{Passing: true, Reason: v1alpha1.ReasonDependencyNotReady, Message: fmt.Sprintf("waits for Stack %s: %s", stack, why)}
}

func outputMissing(format string, args ...any) *Problem {
	return &Problem{Reason: v1alpha1.ReasonOutputNotFound, Message: fmt.Sprintf(format, args...)}
}

// onlyThese names some of the outputs that there are.
func onlyThese(outputs map[string]string) string {
	names := slices.Sorted(maps.Keys(outputs))
	switch more := len(names) - namedOutputs; {
	case len(names) == 0:
		return "nor any other"
	case more > 0:
		return fmt.Sprintf("only %s and %d more", strings.Join(names[:namedOutputs], ", "), more)
	}
	return "only " + strings.Join(names, ", ")
}
