package server

import "net/http"

// source gives out the code that the Run's inputs name, and no other.
func (s *Server) source(w http.ResponseWriter, r *http.Request, c Caller) error {
	doc, err := s.Inputs(r.Context(), c.Run.Spec.Inputs)
	if err != nil {
		return err
	}
	digest := r.PathValue("digest")
	if digest != doc.Source || !isDigest(digest) {
		return refusef(http.StatusForbidden, "%.80q is not the source of Run %s", digest, c.RunName)
	}
	return s.download(w, r, "sources/"+digest)
}
