package runnerhandler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/bucket"
	"cairn.dev/cairn/internal/plan/planfile"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/state/decision"
)

const largestPlan = 256 << 20

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

// putPlanJSON stores the engine's JSON of a plan, which policies evaluate and users read. Code of users runs in the pod
// that sends it: so it has to describe the plan file, and the first one stays.
func (s *API) putPlanJSON(w http.ResponseWriter, r *http.Request, c Caller) error {
	digest, err := s.planned(r, c)
	if err != nil {
		return err
	}
	shown, free, err := httpapi.ReadBody(w, r, s.memory.Semaphore, c.Pod.Namespace, runnerapi.LargestPlanJSON, planJSONWeight)
	if err != nil {
		return err
	}
	defer free()
	if !json.Valid(shown) {
		return httpapi.Errorf(http.StatusBadRequest, "the body is not JSON")
	}
	if err := s.verifyPlanJSON(r.Context(), c, digest, shown); err != nil {
		return err
	}
	key := artifact.PlanJSONKey(artifact.PlanFolder(c.Run) + "/" + digest)
	if err := s.Bucket.PutOnce(r.Context(), key, shown); err != nil {
		return err
	}
	stored, err := s.Bucket.Get(r.Context(), key, runnerapi.LargestPlanJSON)
	if err != nil {
		return err
	}
	if !bytes.Equal(stored, shown) {
		return httpapi.Errorf(http.StatusConflict, "another JSON of plan %s is stored", digest)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// verifyPlanJSON rejects JSON that does not describe the plan file. That of a plan file that cannot be read is not checked:
// the status of the Run shows this, and policies deny the plan.
func (s *API) verifyPlanJSON(ctx context.Context, c Caller, digest string, shown []byte) error {
	f, free, err := s.planFile(ctx, c, digest)
	if errors.Is(err, planfile.ErrUnreadable) {
		return nil
	}
	if err != nil {
		return err
	}
	defer free()
	err = f.Verify(shown)
	if differs := (*planfile.Mismatch)(nil); errors.As(err, &differs) {
		return httpapi.Errorf(http.StatusUnprocessableEntity, "the JSON does not describe plan %s: %v", digest, differs)
	}
	if errors.Is(err, planfile.ErrTooManyValues) {
		return httpapi.Errorf(http.StatusRequestEntityTooLarge, "%v", err)
	}
	return err
}

// describePlan replaces what the pod reports that a plan does by the content of its plan file.
func (s *API) describePlan(ctx context.Context, c Caller, p *runnerapi.Plan) error {
	f, free, err := s.planFile(ctx, c, p.Digest)
	if errors.Is(err, planfile.ErrUnreadable) {
		p.Unverified = httpapi.OneLine(err.Error(), maxReason)
		return nil
	}
	if err != nil {
		return err
	}
	defer free()
	changes := f.Changes()
	n := changes.Counts()
	p.Add, p.Change, p.Destroy, p.Replace, p.Import, p.Forget = n.Add, n.Change, n.Destroy, n.Replace, n.Import, n.Forget
	p.Resources = nil
	for _, r := range changes[:min(len(changes), maxResources)] {
		p.Resources = append(p.Resources, runnerapi.ResourceChange{Address: httpapi.OneLine(r.Address, maxAddress), Action: string(r.Action)})
	}
	return nil
}

// planJSONWeight is how much larger than its text the JSON of a plan may be while it is checked: it is decoded one
// resource at a time.
const planJSONWeight = 8

// planFile reads a plan file that the pod has uploaded. The returned function releases its memory; it is nil with an error.
func (s *API) planFile(ctx context.Context, c Caller, digest string) (*planfile.File, func(), error) {
	free, err := s.memory.Acquire(ctx, c.Pod.Namespace, artifact.PlanFileMemory)
	if err != nil {
		return nil, nil, err
	}
	f, err := artifact.ReadPlanFile(ctx, s.Bucket, artifact.PlanFolder(c.Run)+"/"+digest)
	if err != nil {
		free()
		return nil, nil, err
	}
	return f, free, nil
}

// getPlanJSON serves the JSON of the plan that the Run is to apply, and of no other.
func (s *API) getPlanJSON(w http.ResponseWriter, r *http.Request, c Caller) error {
	digest, err := planOf(c, r)
	if err != nil {
		return err
	}
	return s.download(w, r, artifact.PlanJSONKey(artifact.PlanFolder(c.Run)+"/"+digest))
}

// download serves what the bucket stores.
func (s *API) download(w http.ResponseWriter, r *http.Request, key string) error {
	data, err := s.Bucket.Read(r.Context(), key)
	if bucket.IsLost(err) {
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
