package userhandler

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/bucket"
	"cairn.dev/cairn/internal/plan"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/userapi"
)

const (
	// viewMemory is the memory that reading a plan may take: some copies of its text, and twice its view.
	viewMemory = 8 * runnerapi.LargestPlanJSON
	// mostView is how much memory a view may take: changes of some 80,000 values, which is more than a user reads.
	mostView = runnerapi.LargestPlanJSON
)

// showPlan shows what a Run would do.
func (s *API) showPlan(w http.ResponseWriter, r *http.Request, a ask) error {
	form := r.URL.Query().Get("format")
	run, err := s.readRun(r.Context(), a)
	if err != nil {
		return err
	}
	planned := run.Status.Plan
	switch {
	case form != "" && form != userapi.FormView && form != userapi.FormText && form != userapi.FormJSON:
		return httpapi.Errorf(http.StatusBadRequest, "format=%.40q: there are %s, %s and %s",
			form, userapi.FormView, userapi.FormText, userapi.FormJSON)
	case planned == nil:
		return httpapi.Errorf(http.StatusNotFound, "Run %s has no plan", run.Name)
	case planned.Changes:
	case form == userapi.FormText || form == userapi.FormJSON:
		return httpapi.Errorf(http.StatusNotFound,
			"the plan of Run %s has no changes, so that only its text is stored", run.Name)
	default:
		return httpapi.WriteJSON(w, http.StatusOK, plan.View{EngineVersion: planned.EngineVersion})
	}
	folder := artifact.PlanFolder(run) + "/" + planned.Digest + "."
	switch form {
	case userapi.FormText:
		return s.planForm(w, r, run, folder+runnerapi.PlanText, "text/plain; charset=utf-8", runnerapi.LargestPlanText)
	case userapi.FormJSON:
		return s.planForm(w, r, run, folder+runnerapi.PlanJSON, "application/json", runnerapi.LargestPlanJSON)
	}
	view, err := s.planView(r, run, folder+runnerapi.PlanJSON)
	if err != nil {
		return err
	}
	free, err := s.memory.Acquire(r.Context(), run.Namespace, int64(len(view))) // it may be read slowly
	if err != nil {
		return err
	}
	defer free()
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(view)
	return err
}

func (s *API) planForm(
	w http.ResponseWriter, r *http.Request, run *v1alpha1.Run, key, mime string, limit int64,
) error {
	form, err := s.Bucket.Read(r.Context(), key)
	if err != nil {
		return notShown(err, run)
	}
	defer form.Close()
	w.Header().Set("Content-Type", mime)
	n, err := io.Copy(w, io.LimitReader(form, limit+1))
	if err == nil && n > limit {
		err = bucket.ErrTooLarge
	}
	return err
}

// planView returns a View in JSON.
func (s *API) planView(r *http.Request, run *v1alpha1.Run, key string) ([]byte, error) {
	free, err := s.memory.Acquire(r.Context(), run.Namespace, viewMemory)
	if err != nil {
		return nil, err
	}
	defer free()
	data, err := s.Bucket.Get(r.Context(), key, runnerapi.LargestPlanJSON)
	if err != nil {
		return nil, notShown(err, run)
	}
	view, err := plan.ParseWithin(data, mostView)
	if err != nil {
		return nil, httpapi.Errorf(http.StatusUnprocessableEntity, "the plan of Run %s cannot be read: %v", run.Name, err)
	}
	return json.Marshal(view)
}

// notShown explains that a form of a plan is not stored: the plan is older than Cairn's forms, or too large for them.
func notShown(err error, run *v1alpha1.Run) error {
	if errors.Is(err, bucket.ErrNotFound) || errors.Is(err, bucket.ErrWrongKey) {
		return httpapi.Errorf(http.StatusNotFound, "this form of the plan of Run %s is not stored: it was too large, or "+
			"could not be created; see the log of the Run", run.Name)
	}
	return err
}
