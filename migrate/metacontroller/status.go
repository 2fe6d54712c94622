package metacontroller

import (
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
)

// The states that alustan's users know.
const (
	pending     = "Pending"
	progressing = "Progressing"
	completed   = "Completed"
	failed      = "Failed"
)

// state is how a Stack is, in alustan's words.
type state struct{ name, message string }

// status is the parent's status: the two fields that all of alustan's schemas have.
func (s state) status() Object { return Object{"state": s.name, "message": s.message} }

// awaiting begins the message of what is Pending, in alustan's words.
const awaiting = "Awaiting processing: "

// stateOf summarizes the Stacks of a parent; there is one, or none yet. Before the first Run of a Stack it is
// Pending.
func stateOf(stacks []Object) state {
	if len(stacks) == 0 {
		return state{pending, awaiting + "the Stack is created"}
	}
	stack := stacks[0]
	under, before := progressing, ""
	if text(stack, "status", "lastRun") == "" {
		under, before = pending, awaiting
	}
	ready := condition(stack, v1alpha1.ConditionReady)
	if ready == nil || number(ready, "observedGeneration") < number(stack, "metadata", "generation") {
		return state{under, before + "the Stack is not reconciled yet"}
	}
	reason := text(ready, "reason")
	message := reason + ": " + text(ready, "message")
	switch text(ready, "status") {
	case "True":
		return state{completed, message}
	case "False":
		switch r, _ := v1alpha1.ReasonNamed(reason); r.WaitsFor {
		case v1alpha1.WaitsForApproval, v1alpha1.WaitsForDecision, v1alpha1.WaitsForResume: // nothing is broken
		default:
			return state{failed, message}
		}
	}
	return state{under, before + message}
}

// stateAfter is how the Stacks of a parent are once an answer with these children is applied. The status of a Stack
// that the response changes is about the spec of before.
func stateAfter(observed Observed, wanted []Object) state {
	now := stateOf(observed.of("Stack"))
	if now.name != pending && observed.changes(wanted) {
		return state{progressing, "the Stack is being updated"}
	}
	return now
}

// ending is how Stacks are that are no longer wanted; their status is of the time before.
func ending(stacks []Object) state {
	now := stateOf(stacks)
	if now.name == completed || now.name == pending {
		now.name = progressing
	}
	now.message = "the Stack is being deleted: " + strings.TrimPrefix(now.message, awaiting)
	return now
}

// condition is one of an object's conditions; nil when it has none of that type.
func condition(object Object, kind string) Object {
	conditions, _ := at(object, "status", "conditions").([]any)
	for _, c := range conditions {
		if fields, _ := c.(map[string]any); text(fields, "type") == kind {
			return fields
		}
	}
	return nil
}
