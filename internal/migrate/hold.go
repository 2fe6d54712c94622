package migrate

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// Hold makes the result safe for the day of moving, and says so in its notes: a plan that has changes waits for a person, and deleting a Stack
// leaves all that it made. Stacks that were Cairn's already stay as they are.
func (r *Result) Hold() {
	for i := range r.Stacks {
		stack := &r.Stacks[i]
		from, made := r.made[types.NamespacedName{Namespace: stack.Namespace, Name: stack.Name}]
		if !made {
			continue
		}
		if stack.Spec.Apply == v1alpha1.ApplyAutomatic {
			stack.Spec.Apply = v1alpha1.ApplyManual
			r.note(from, "spec.apply", "Manual for now, and not Automatic: the first plan has to be empty; --keep-apply gives it as it was")
		}
		if stack.Spec.DeletionPolicy == "" || stack.Spec.DeletionPolicy == v1alpha1.DeletionDestroy {
			stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
			r.note(from, "spec.deletionPolicy", "Orphan for now, and not Destroy: deleting the Stack to go back must destroy nothing; --keep-apply gives it as it was")
		}
	}
}

// note adds a note behind the others of its object.
func (r *Result) note(of Ref, field, text string) {
	at := len(r.Notes)
	for i, n := range r.Notes {
		if n.Object == of {
			at = i + 1
		}
	}
	r.Notes = slices.Insert(r.Notes, at, Note{Object: of, Field: field, Verdict: Became, Text: text})
}
