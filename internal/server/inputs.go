package server

import (
	"encoding/json"
	"net/http"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/store"
)

// largestInputs as JSON, where bytes are a third longer.
const largestInputs = 16 << 20

// keepInputs keeps the variable files that an apply is about to use, so that its destroy needs none of the objects they
// came from. A plan hands them in that found nothing to apply: then they count at once.
func (s *runnerAPI) keepInputs(w http.ResponseWriter, r *http.Request, c Caller) error {
	attempt, refused := state.CurrentAttempt(c.Run, c.Holder())
	if refused != nil {
		return refused
	}
	if c.Run.Spec.Operation != v1alpha1.OperationApply {
		return refusef(http.StatusConflict, "Run %s applies nothing: what it reads is not what was applied", c.RunName)
	}
	data, free, err := readBody(w, r, s.memory, c.Pod.Namespace, largestInputs, jsonWeight)
	if err != nil {
		return err
	}
	defer free()
	if err := json.Unmarshal(data, &store.InputsKept{}); err != nil {
		return refusef(http.StatusBadRequest, "the body is not what was expected: %v", err)
	}
	if err := s.State.KeepInputs(r.Context(), c.Key(), c.Run.Spec.InputsDigest, data); err != nil {
		return err
	}
	if attempt.Phase == v1alpha1.AttemptPlan {
		if err := s.State.AdoptInputs(r.Context(), c.Key(), c.Run.Spec.InputsDigest); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// keptInputs gives out the variable files that were kept for the inputs of a destroy.
func (s *runnerAPI) keptInputs(w http.ResponseWriter, r *http.Request, c Caller) error {
	if c.Run.Spec.Operation != v1alpha1.OperationDestroy {
		return refusef(http.StatusForbidden, "Run %s is no destroy", c.RunName)
	}
	free, err := s.memory.hold(r.Context(), c.Pod.Namespace, largestInputs)
	if err != nil {
		return err
	}
	defer free()
	data, err := s.State.KeptInputs(r.Context(), c.Key(), c.Run.Spec.InputsDigest)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(data) //nolint:gosec // JSON for a runner; no browser asks this server
	return err
}
