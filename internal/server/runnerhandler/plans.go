package runnerhandler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/engine/plan/fingerprint"
	"cairn.dev/cairn/internal/engine/plan/planfile"
	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/state/decision"
)

const largestPlan = 256 << 20

// putPlan keeps a saved plan under its digest.
func (s *API) putPlan(w http.ResponseWriter, r *http.Request, c Caller) error {
	if r.ContentLength > largestPlan {
		return httpapi.Errorf(http.StatusRequestEntityTooLarge, "a plan of %d bytes, at most %d are taken",
			r.ContentLength, largestPlan)
	}
	digest, err := s.Bucket.PutHashed(r.Context(), artifact.PlanFolder(c.Run),
		http.MaxBytesReader(w, r.Body, largestPlan), largestPlan)
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
	if p := c.Run.Status.Plan; p == nil || p.Digest != digest {
		return "", httpapi.Errorf(http.StatusForbidden, "%.80q is not the plan of Run %s", digest, c.RunName)
	}
	return digest, nil
}

// putPlanDocument stores what users read of a plan, and what policies evaluate. Both are created from the plan file and
// from what an engine printed of it in a pod in which code of users runs, as far as the two agree. The first document
// stays.
func (s *API) putPlanDocument(w http.ResponseWriter, r *http.Request, c Caller) error {
	digest, err := s.planned(r, c)
	if err != nil {
		return err
	}
	// One acquisition for all: who waits for more of a budget while holding a part of it may wait for ever.
	body, free, err := httpapi.ReadBody(w, r, s.memory.Semaphore, c.Pod.Namespace, runnerapi.LargestPlanDocument,
		planJSONWeight,
		artifact.PlanFileMemory)
	if err != nil {
		return err
	}
	defer free()
	var document runnerapi.PlanDocument
	if err := json.Unmarshal(body, &document); err != nil || len(document.Plan) == 0 {
		return httpapi.Errorf(http.StatusBadRequest, "the body is not the document of a plan")
	}
	key := artifact.PlanFolder(c.Run) + "/" + digest
	input := artifact.PolicyInput{PlanDocument: document}
	f, err := artifact.ReadPlanFile(r.Context(), s.Bucket, key, planfile.Read)
	switch {
	case errors.Is(err, planfile.ErrUnreadable): // users read what the pod reports, and that it is not verified
		input.Unverified = err.Error()
	case err != nil:
		return err
	default:
		if err := verifyMode(c.Run, f); err != nil {
			return err
		}
		if input.Plan, err = documentOf(f, digest, document.Plan); err != nil {
			return err
		}
		if err := s.keepFingerprint(r.Context(), key, input.Plan, document.Secrets); err != nil {
			return err
		}
	}
	if err := s.keepPolicyInput(r.Context(), c, key, input); err != nil {
		return err
	}
	secrets := redact.New()
	secrets.Add(document.Secrets...)
	shown, err := plan.Mask(input.Plan, secrets.String, nil)
	if err != nil {
		return httpapi.Errorf(http.StatusUnprocessableEntity, "the JSON of plan %s: %v", digest, err)
	}
	if err := s.putOnce(r.Context(), artifact.PlanJSONKey(key), shown); err != nil {
		return err
	}
	if input.Unverified == "" {
		if err := s.keepDifferences(r.Context(), c.Run, key, shown); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// verifyMode rejects a plan with -refresh-only that no user requested, and one without that was requested with it.
func verifyMode(run *v1alpha1.Run, f *planfile.File) error {
	requested := run.Spec.PlanOptions.IsRefreshOnly()
	if f.IsRefreshOnly() == requested {
		return nil
	}
	return httpapi.Errorf(http.StatusConflict, "the plan is with -refresh-only: %t, and was requested with it: %t",
		!requested, requested)
}

// documentOf returns the JSON of a plan as it was compared with its plan file.
func documentOf(f *planfile.File, digest string, shown []byte) ([]byte, error) {
	document, err := f.Document(shown)
	if differs := (*planfile.Mismatch)(nil); errors.As(err, &differs) {
		return nil, httpapi.Errorf(http.StatusUnprocessableEntity, "the JSON does not describe plan %s: %v",
			digest, differs)
	}
	if errors.Is(err, planfile.ErrTooManyValues) {
		return nil, httpapi.Errorf(http.StatusRequestEntityTooLarge, "%v", err)
	}
	return document, err
}

// maxParts is the maximum number of parts of a plan whose fingerprints are stored.
const maxParts = 5000

// keepFingerprint stores the fingerprint of a plan, if it has one, and those of its parts, for users who want to know
// in which ones two plans differ.
func (s *API) keepFingerprint(ctx context.Context, key string, document []byte, secrets []string) error {
	what, err := fingerprint.Read(document)
	if errors.Is(err, fingerprint.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := what.Text()
	if err != nil {
		return err
	}
	if err := s.putOnce(ctx, artifact.FingerprintKey(key), []byte(s.Fingerprint(text))); err != nil {
		return err
	}
	if err := s.keepShape(ctx, key, what); err != nil {
		return err
	}
	parts, err := what.Parts()
	if err != nil || len(parts) > maxParts {
		return err
	}
	data, err := json.Marshal(s.fingerprintsOf(parts, secrets))
	if err != nil || len(data) > artifact.MaxPlanParts {
		return err
	}
	return s.putOnce(ctx, artifact.PlanPartsKey(key), data)
}

// keepShape stores the hash of the shape of a plan, if it has one.
func (s *API) keepShape(ctx context.Context, key string, what *fingerprint.Effects) error {
	text, ok, err := what.Shape()
	if err != nil || !ok {
		return err
	}
	return s.putOnce(ctx, artifact.ShapeKey(key), []byte(s.Fingerprint(append([]byte("shape\n"), text...))))
}

// fingerprintsOf returns the fingerprints of parts by their names, without secrets. Names that are the same then have
// one for all.
func (s *API) fingerprintsOf(parts []fingerprint.Part, hide []string) map[string]string {
	secrets := redact.New()
	secrets.Add(hide...)
	texts := map[string][]byte{}
	for _, p := range parts {
		name := shorten.Line(plan.HideKeys(p.Name, secrets.String), maxAddress)
		texts[name] = fmt.Appendf(texts[name], "%q %q\n", p.Name, p.Text)
	}
	all := make(map[string]string, len(texts))
	for name, text := range texts {
		all[name] = s.Fingerprint(text)
	}
	return all
}

// hashOf returns the fingerprint or the shape of a plan that is stored under a key; empty for none.
func (s *API) hashOf(ctx context.Context, key string) (string, error) {
	const longest = 64
	stored, err := s.Bucket.Get(ctx, key, longest)
	if bucket.IsLost(err) {
		return "", nil
	}
	return string(stored), err
}

// keepPolicyInput stores what policies evaluate, if there are any.
func (s *API) keepPolicyInput(ctx context.Context, c Caller, key string, input artifact.PolicyInput) error {
	asked, err := s.Policies.Asked(ctx, c.Run)
	if err != nil || !asked {
		return err
	}
	data, err := json.Marshal(input)
	if err != nil {
		return err
	}
	return s.putOnce(ctx, artifact.PolicyInputKey(key), data)
}

// putOnce stores what is not stored yet; if something else is, it is a conflict.
func (s *API) putOnce(ctx context.Context, key string, data []byte) error {
	if err := s.Bucket.PutOnce(ctx, key, data); err != nil {
		return err
	}
	stored, err := s.Bucket.Get(ctx, key, int64(len(data)))
	if err != nil && !errors.Is(err, bucket.ErrTooLarge) {
		return err
	}
	if !bytes.Equal(stored, data) {
		return httpapi.Errorf(http.StatusConflict, "another document of this plan is stored")
	}
	return nil
}

// describePlan replaces what the pod reports that a plan does by the content of its plan file.
func (s *API) describePlan(ctx context.Context, c Caller, p *runnerapi.Plan) error {
	free, err := s.memory.Acquire(ctx, c.Pod.Namespace, artifact.PlanFileMemory)
	if err != nil {
		return err
	}
	defer free()
	key := artifact.PlanFolder(c.Run) + "/" + p.Digest
	f, err := artifact.ReadPlanFile(ctx, s.Bucket, key, planfile.ReadChanges)
	if errors.Is(err, planfile.ErrUnreadable) {
		p.Unverified = shorten.Line(err.Error(), maxReason)
		return nil
	}
	if err != nil {
		return err
	}
	if err := verifyMode(c.Run, f); err != nil {
		return err
	}
	if !p.Script && len(p.Untracked) == 0 { // both do more than the plan
		if p.Fingerprint, err = s.hashOf(ctx, artifact.FingerprintKey(key)); err != nil {
			return err
		}
		if p.Shape, err = s.hashOf(ctx, artifact.ShapeKey(key)); err != nil {
			return err
		}
		if f.Partial() == "" {
			if p.Differences, err = s.differences(ctx, key); err != nil {
				return err
			}
		}
	}
	changes := f.Changes()
	n := changes.Counts()
	p.Add, p.Change, p.Destroy, p.Replace, p.Import, p.Forget = n.Add, n.Change, n.Destroy, n.Replace,
		n.Import, n.Forget
	p.Invoke, p.Refresh, p.Partial = n.Invoke, n.Refresh, shorten.Line(f.Partial(), maxReason)
	p.Outputs, p.MoreOutputs = listOutputs(f.Outputs())
	secrets := redact.New()
	secrets.Add(p.Secrets...)
	p.Resources, p.Secrets = nil, nil
	for _, r := range changes[:min(len(changes), maxResources)] {
		address := plan.HideKeys(r.Address, secrets.String)
		p.Resources = append(p.Resources, runnerapi.ResourceChange{Address: shorten.Line(address, maxAddress),
			Action: string(r.Action)})
	}
	return nil
}

// listOutputs returns the changes of outputs that a status has, and the number of others.
func listOutputs(all []planfile.OutputChange) (listed []runnerapi.OutputChange, more int32) {
	for _, o := range all {
		if len(listed) == v1alpha1.MaxPlanOutputs || len(o.Name) > maxKey {
			more++
			continue
		}
		listed = append(listed, runnerapi.OutputChange{
			Name: o.Name, Action: string(o.Action), Known: o.Known, Sensitive: o.Sensitive,
		})
	}
	return listed, more
}

// planJSONWeight is how much larger than its text the document of a plan may be while it is checked: it is decoded one
// resource at a time.
const planJSONWeight = 8

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

// checkPolicy asks the policies about a plan whose document is kept.
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
		return httpapi.Errorf(http.StatusConflict, "the document of plan %s is not kept: PUT it first", digest)
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
