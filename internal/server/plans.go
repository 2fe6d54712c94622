package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"

	"cairn.dev/cairn/internal/bucket"
	"cairn.dev/cairn/internal/store"
)

const largestPlan = 256 << 20

// planFolder holds the plans of a Run. The operator removes it with the Run.
func planFolder(c Caller) string {
	return fmt.Sprintf("plans/%s/%s", c.Pod.Namespace, c.Run.UID)
}

// putPlan keeps a saved plan under its digest.
func (s *Server) putPlan(w http.ResponseWriter, r *http.Request, c Caller) error {
	if r.ContentLength > largestPlan {
		return refusef(http.StatusRequestEntityTooLarge, "a plan of %d bytes, at most %d are taken", r.ContentLength, largestPlan)
	}
	digest, err := s.Bucket.PutHashed(r.Context(), planFolder(c), http.MaxBytesReader(w, r.Body, largestPlan), largestPlan)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, store.PlanKept{Digest: digest})
}

// getPlan gives out the plan that the Run is to apply, and no other.
func (s *Server) getPlan(w http.ResponseWriter, r *http.Request, c Caller) error {
	digest := r.PathValue("digest")
	if plan := c.Run.Status.Plan; plan == nil || plan.Digest != digest {
		return refusef(http.StatusForbidden, "%.80q is not the plan of Run %s", digest, c.RunName)
	}
	return s.download(w, r, planFolder(c)+"/"+digest)
}

// download gives out what the bucket keeps.
func (s *Server) download(w http.ResponseWriter, r *http.Request, key string) error {
	data, err := s.Bucket.Read(r.Context(), key)
	if errors.Is(err, bucket.ErrNotFound) || errors.Is(err, bucket.ErrWrongKey) {
		// Not for the runner to wait for. The key is no secret: it is made of what the runner asked for.
		return refusef(http.StatusNotFound, "%v", err)
	}
	if err != nil {
		return err
	}
	defer data.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	_, err = io.Copy(w, data)
	return err
}

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func isDigest(s string) bool { return digestPattern.MatchString(s) }
