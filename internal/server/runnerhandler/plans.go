package runnerhandler

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/bucket"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/state/decision"
)

const largestPlan = 256 << 20

// largestForms is how large each form of a plan may be. There are no others.
var largestForms = map[string]int64{runnerapi.PlanJSON: runnerapi.LargestPlanJSON, runnerapi.PlanText: runnerapi.LargestPlanText}

// putPlan keeps a saved plan under its digest.
func (s *API) putPlan(w http.ResponseWriter, r *http.Request, c Caller) error {
	if r.ContentLength > largestPlan {
		return httpapi.Errorf(http.StatusRequestEntityTooLarge, "a plan of %d bytes, at most %d are taken", r.ContentLength, largestPlan)
	}
	digest, err := s.Bucket.PutHashed(r.Context(), artifact.PlanFolder(c.Run), http.MaxBytesReader(w, r.Body, largestPlan), largestPlan)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, runnerapi.PlanKept{Digest: digest})
}

// getPlan serves the plan that the Run is to apply, and no other.
func (s *API) getPlan(w http.ResponseWriter, r *http.Request, c Caller) error {
	digest, err := planOf(c, r)
	if err != nil {
		return err
	}
	return s.download(w, r, artifact.PlanFolder(c.Run)+"/"+digest)
}

// planOf is the digest in a request, if it is that of the plan which the Run is to apply.
func planOf(c Caller, r *http.Request) (string, error) {
	digest := r.PathValue("digest")
	if plan := c.Run.Status.Plan; plan == nil || plan.Digest != digest {
		return "", httpapi.Errorf(http.StatusForbidden, "%.80q is not the plan of Run %s", digest, c.RunName)
	}
	return digest, nil
}

// putPlanForm stores a form of a plan for users. The first one stays: what policies and users have read does not
// change any more.
func (s *API) putPlanForm(w http.ResponseWriter, r *http.Request, c Caller) error {
	form := r.PathValue("form")
	limit, err := formLimit(form)
	if err != nil {
		return err
	}
	digest, err := s.planned(r, c)
	if err != nil {
		return err
	}
	data, free, err := s.body(w, r, c.Pod.Namespace, limit)
	if err != nil {
		return err
	}
	defer free()
	if form == runnerapi.PlanJSON && !json.Valid(data) {
		return httpapi.Errorf(http.StatusBadRequest, "the body is not JSON")
	}
	if err := s.Bucket.PutOnce(r.Context(), artifact.PlanFormKey(artifact.PlanFolder(c.Run)+"/"+digest, form), data); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// getPlanForm serves a form of the plan that the Run is to apply, and of no other.
func (s *API) getPlanForm(w http.ResponseWriter, r *http.Request, c Caller) error {
	form := r.PathValue("form")
	if _, err := formLimit(form); err != nil {
		return err
	}
	digest, err := planOf(c, r)
	if err != nil {
		return err
	}
	return s.download(w, r, artifact.PlanFormKey(artifact.PlanFolder(c.Run)+"/"+digest, form))
}

func formLimit(form string) (int64, error) {
	limit, ok := largestForms[form]
	if !ok {
		return 0, httpapi.Errorf(http.StatusNotFound, "a plan has no form %.40q", form)
	}
	return limit, nil
}

// download serves what the bucket stores.
func (s *API) download(w http.ResponseWriter, r *http.Request, key string) error {
	data, err := s.Bucket.Read(r.Context(), key)
	if errors.Is(err, bucket.ErrNotFound) || errors.Is(err, bucket.ErrWrongKey) {
		// Not for the runner to wait for. The key is no secret: it consists of what the runner asked for.
		return httpapi.Errorf(http.StatusNotFound, "%v", err)
	}
	if err != nil {
		return err
	}
	defer data.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	_, err = io.Copy(w, data)
	return err
}

// checkPolicy asks the policies about a plan whose JSON is kept.
func (s *API) checkPolicy(w http.ResponseWriter, r *http.Request, c Caller) error {
	digest, err := s.planned(r, c)
	if err != nil {
		return err
	}
	verdict, asked, err := s.Policies.Result(r.Context(), c.Run, digest)
	switch {
	case err != nil:
		return err
	case !asked:
		verdict = &runnerapi.PolicyResult{}
	case verdict == nil:
		return httpapi.Errorf(http.StatusConflict, "the JSON of plan %s is not kept: PUT it first", digest)
	}
	return httpapi.WriteJSON(w, http.StatusOK, verdict)
}

// planned is the digest in a request that is about a plan which the caller's attempt has uploaded.
func (s *API) planned(r *http.Request, c Caller) (string, error) {
	digest := r.PathValue("digest")
	attempt, refused := decision.CurrentAttempt(c.Run, c.Holder())
	switch {
	case refused != nil:
		return "", refused
	case attempt.Phase != v1alpha1.AttemptPlan:
		return "", httpapi.Errorf(http.StatusConflict, "attempt %d of Run %s plans nothing", c.Attempt, c.RunName)
	case !httpapi.IsDigest(digest):
		return "", httpapi.Errorf(http.StatusBadRequest, "%.80q is not the digest of a plan", digest)
	}
	kept, err := s.Bucket.Exists(r.Context(), artifact.PlanFolder(c.Run)+"/"+digest)
	if err == nil && !kept {
		return "", httpapi.Errorf(http.StatusConflict, "the plan %s is not kept: PUT it first", digest)
	}
	return digest, err
}
