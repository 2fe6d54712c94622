package userhandler

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/engine/plan"
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
		return httpapi.Errorf(http.StatusNotFound, "the plan of Run %s has no changes", run.Name)
	default:
		return httpapi.WriteJSON(w, http.StatusOK, plan.View{EngineVersion: planned.EngineVersion})
	}
	key := artifact.PlanJSONKey(artifact.PlanFolder(run) + "/" + planned.Digest)
	if form == userapi.FormJSON {
		return s.planJSON(w, r, run, key)
	}
	write, mime := func(v plan.View) ([]byte, error) { return json.Marshal(v) }, "application/json"
	if form == userapi.FormText {
		write, mime = planText, "text/plain; charset=utf-8"
	}
	view, err := s.planView(r, run, key, write)
	if err != nil {
		return err
	}
	free, err := s.memory.Acquire(r.Context(), run.Namespace, int64(len(view))) // it may be read slowly
	if err != nil {
		return err
	}
	defer free()
	w.Header().Set("Content-Type", mime)
	_, err = w.Write(view)
	return err
}

func planText(v plan.View) ([]byte, error) {
	var text bytes.Buffer
	err := plan.Text(&text, v)
	return text.Bytes(), err
}

func (s *API) planJSON(w http.ResponseWriter, r *http.Request, run *v1alpha1.Run, key string) error {
	const limit = runnerapi.LargestPlanJSON
	form, err := s.Bucket.Read(r.Context(), key)
	if err != nil {
		return notShown(err, run)
	}
	defer form.Close()
	w.Header().Set("Content-Type", "application/json")
	n, err := io.Copy(w, io.LimitReader(form, limit+1))
	if err == nil && n > limit {
		err = bucket.ErrTooLarge
	}
	return err
}

// planView returns a View as write does.
func (s *API) planView(r *http.Request, run *v1alpha1.Run, key string, write func(plan.View) ([]byte, error)) ([]byte,
	error) {
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
		return nil, httpapi.Errorf(http.StatusUnprocessableEntity, "the plan of Run %s cannot be read: %v",
			run.Name, err)
	}
	return write(view)
}

// notShown explains that a form of a plan is not stored: the plan is older than Cairn's forms, or too large for them.
func notShown(err error, run *v1alpha1.Run) error {
	if errors.Is(err, bucket.ErrNotFound) || errors.Is(err, bucket.ErrWrongKey) {
		return httpapi.Errorf(http.StatusNotFound, "this form of the plan of Run %s is not stored: it was "+
			"too large, or could not be created; see the log of the Run", run.Name)
	}
	return err
}
