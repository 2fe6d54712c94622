package sim

import (
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
)

// entries returns what the journal has and no known state, and its position.
func (r *runner) entries() ([]runnerapi.JournalEntry, string, error) {
	if err := r.server.states.RecordHeld(ctx, r.key()); err != nil {
		return nil, "", err
	}
	journal, err := r.server.states.Journal(ctx, r.key())
	return journal.Entries, journal.UpTo, err
}

func (r *runner) appendJournal(found *v1alpha1.Run, data []byte) error {
	return r.server.states.AppendJournal(ctx, r.key(), found, r.holder(), r.batch, data)
}

// endJournal closes the journal as the server does before it accepts a last report, and reports whether it can be
// collected.
func (r *runner) endJournal(found *v1alpha1.Run, attempt *v1alpha1.Attempt, done *runnerapi.Done) error {
	switch {
	case attempt.Phase == v1alpha1.AttemptApply && done.Saved:
		r.sim.dirty = true
		return r.server.states.EndJournal(ctx, r.key(), found, r.holder())
	case attempt.Phase == v1alpha1.AttemptPlan && done.Settled != "":
		r.sim.dirty = true
		return r.server.states.SettleJournal(ctx, r.key(), done.Settled)
	}
	return nil
}

// journaled returns the resources in the journal, as the real server reads it.
func (sim *simulation) journaled(name string) map[string]bool {
	was := sim.quiet
	sim.quiet = true // no faults for reads of the checker
	journal, err := sim.states0.Journal(ctx, types.NamespacedName{Namespace: namespace, Name: name})
	sim.quiet = was
	if err != nil {
		panic(err)
	}
	recorded := map[string]bool{}
	for _, d := range engine.Living(journal.Entries) {
		recorded[d.ID] = true
	}
	return recorded
}
