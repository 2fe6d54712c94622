package stack

import (
	"slices"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// Lean reduces the memory that a Stack takes in a cache, which may have ten thousand of them. Everything that Cairn
// reads stays, since a status is written as a whole: its history has no spare capacity, and equal texts are shared. The
// copy of the spec that kubectl apply keeps in an annotation is dropped.
func Lean(stack *v1alpha1.Stack) {
	delete(stack.Annotations, corev1.LastAppliedConfigAnnotation)
	if len(stack.Annotations) == 0 {
		stack.Annotations = nil // an empty map takes as much memory as one with eight entries
	}
	status := &stack.Status
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.Type, c.Status, c.Reason, c.Message = intern(c.Type), intern(c.Status), intern(c.Reason), intern(c.Message)
	}
	status.History = packNames(status.History)
	status.AppliedInputsDigest = share(status.AppliedInputsDigest, status.InputsDigest)
	if u := status.Unapplied; u != nil {
		u.InputsDigest = share(u.InputsDigest, status.AppliedInputsDigest)
	}
	if named := status.ReservedRun; named != nil {
		named.Name, named.Operation, named.Cause = share(named.Name, status.LastRun), intern(named.Operation), intern(
			named.Cause)
	}
	if again := status.Retry; again != nil {
		again.Run, again.Operation = share(again.Run, status.LastRun), intern(again.Operation)
	}
	for i := range status.History {
		past := &status.History[i]
		past.Operation, past.Cause.Type = intern(past.Operation), intern(past.Cause.Type)
		status.LastRun = share(status.LastRun, past.Name)
		if known := past.Details; known != nil {
			known.InputsDigest, known.Revision = share(known.InputsDigest, status.InputsDigest), share(known.Revision,
				status.Revision)
		}
	}
}

// packNames has the names and UIDs of a history in one text: of ten Runs they are twenty, and each by itself takes up
// to a third more.
func packNames(history []v1alpha1.PastRun) []v1alpha1.PastRun {
	history = slices.Clone(history)
	var texts []string
	for _, past := range history {
		texts = append(texts, past.Name, string(past.UID))
	}
	all := strings.Join(texts, "")
	next := func(long int) (text string) {
		text, all = all[:long], all[long:]
		return text
	}
	for i := range history {
		past := &history[i]
		past.Name, past.UID = next(len(past.Name)), types.UID(next(len(past.UID)))
	}
	return history
}

// intern is a text that many Stacks have, once.
func intern[T ~string](text T) T { return unique.Make(text).Value() }

// share returns the other text if both are equal, so that memory has it once.
func share(text, other string) string {
	if text == other {
		return other
	}
	return text
}
