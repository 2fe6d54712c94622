package runnerhandler

import (
	"net/http"
	"strconv"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/state/decision"
)

// appendJournal keeps what an apply has done. It takes one write to the bucket and none to the API server, for the
// apply continues meanwhile, and what is not here when it is killed is lost.
func (s *API) appendJournal(w http.ResponseWriter, r *http.Request, c Caller) error {
	batch, err := strconv.Atoi(r.URL.Query().Get("batch"))
	if err != nil {
		return httpapi.Errorf(http.StatusBadRequest, "?batch= has to be the number of the batch")
	}
	data, free, err := s.body(w, r, c.Pod.Namespace, runnerapi.LargestBatch)
	if err != nil {
		return err
	}
	defer free()
	if err := s.State.AppendJournal(r.Context(), c.Key(), c.Run, c.Holder(), batch, data); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// journal serves what applies have done of which it is not known that the state has it. What the state has now is noted
// first: it is what the plan is based on, and what follows may take it out.
func (s *API) journal(w http.ResponseWriter, r *http.Request, c Caller) error {
	if runinfo.PlansNewStack(c.Run) {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err := s.State.RecordHeld(r.Context(), c.Key()); err != nil {
		return err
	}
	journal, err := s.State.Journal(r.Context(), c.Key())
	if err != nil {
		return err
	}
	if len(journal.Entries) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return httpapi.WriteJSON(w, http.StatusOK, journal)
}

// endsJournal returns true if the journal is not needed after a report: an apply got to its end, and all is in the
// state; or a plan found nothing in it that is not. It takes effect before the report does, on which a deletion may
// follow that checks what is in no state.
func (s *API) endsJournal(r *http.Request, c Caller, done *runnerapi.Done) (bool, error) {
	attempt, refused := decision.NamedAttempt(c.Run, c.Holder())
	if refused != nil {
		return false, refused
	}
	switch {
	case attempt.Phase == v1alpha1.AttemptApply && done.Saved:
		return true, s.State.EndJournal(r.Context(), c.Key(), c.Run, c.Holder())
	case c.Run.Spec.PullRequest != nil: // its code is not that of the Stack
		return false, nil
	case attempt.Phase == v1alpha1.AttemptPlan && done.Settled != "":
		return true, s.State.SettleJournal(r.Context(), c.Key(), done.Settled)
	}
	return false, nil
}
