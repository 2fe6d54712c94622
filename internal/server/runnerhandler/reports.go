package runnerhandler

import (
	"net/http"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/state/decision"
)

// largestReport is more than any report that is not cut has.
const largestReport = 4 << 20

// report takes what an attempt has done so far. One on the way is answered at once; the last one when it is durable.
func (s *API) report(w http.ResponseWriter, r *http.Request, c Caller) error {
	var raw runnerapi.Report
	if err := s.jsonBody(w, r, c.Pod.Namespace, largestReport, &raw); err != nil {
		return err
	}
	report := Clamp(raw)
	if report.Done == nil {
		if err := currentOrBuild(c); err != nil {
			return err
		}
		s.progress.add(c, report)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err := s.mayFinish(r, c, report.Done); err != nil {
		return err
	}
	ended, err := s.endsJournal(r, c, report.Done)
	if err != nil {
		return err
	}
	if err := s.progress.finish(r.Context(), c, report); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	if ended {
		_ = http.NewResponseController(w).Flush() // what follows is not for the runner to wait for
		s.State.CollectJournal(r.Context(), c.Key())
	}
	return nil
}

// mayFinish rejects the last report of an attempt that was given up, and a plan that could not be applied; what a plan
// does is taken from its plan file. An attempt is finished otherwise has reported before: the answer to that was lost.
func (s *API) mayFinish(r *http.Request, c Caller, done *runnerapi.Done) error {
	attempt, refused := decision.NamedAttempt(c.Run, c.Holder())
	if refused != nil {
		return refused
	}
	if f := attempt.Failure; attempt.FinishedAt != nil && f != nil && f.Class == v1alpha1.FailurePodLost {
		return httpapi.Errorf(http.StatusForbidden, "attempt %d of Run %s was given up: %s", c.Attempt, c.RunName, f.Message)
	}
	if done.Plan == nil {
		return nil
	}
	if !httpapi.IsDigest(done.Plan.Digest) {
		return httpapi.Errorf(http.StatusBadRequest, "%.80q is not the digest of a plan", done.Plan.Digest)
	}
	kept, err := s.Bucket.Exists(r.Context(), artifact.PlanFolder(c.Run)+"/"+done.Plan.Digest)
	switch {
	case err != nil:
		return err
	case !kept:
		return httpapi.Errorf(http.StatusConflict, "the plan %s is not kept: PUT it first", done.Plan.Digest)
	case !done.Plan.Changes: // it is never applied
		return nil
	}
	return s.describePlan(r.Context(), c, done.Plan)
}
