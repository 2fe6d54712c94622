package server

import (
	"net/http"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state"
)

// source gives out the code that the Run's inputs name, and no other.
func (s *runnerAPI) source(w http.ResponseWriter, r *http.Request, c Caller) error {
	doc, err := s.Inputs(r.Context(), c.Run.Spec.InputsDigest)
	if err != nil {
		return err
	}
	digest, want := r.PathValue("digest"), doc.Source
	if a, _ := state.CurrentAttempt(c.Run, c.Holder()); a != nil && a.Phase == v1alpha1.AttemptBuild && doc.Build != nil {
		want = doc.Build.Source
	}
	if digest != want || !isDigest(digest) {
		return refusef(http.StatusForbidden, "%.80q is not the source of Run %s", digest, c.RunName)
	}
	return s.download(w, r, "sources/"+digest)
}
