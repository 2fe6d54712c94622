package server

import (
	"context"
	"net/http"
)

// interrupt is held while the caller's attempt is to go on, and answered at once when it is to stop.
func (s *runnerAPI) interrupt(w http.ResponseWriter, r *http.Request, c Caller) error {
	if !s.polls.begin(c.Pod.UID) {
		return refusef(http.StatusTooManyRequests, "pod %s waits for an interrupt already", c.Pod.Name)
	}
	defer s.polls.end(c.Pod.UID)
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	defer context.AfterFunc(s.Stopping, cancel)()
	said, err := s.Orders.Interrupt(ctx, c.Pod.Namespace, c.Pod.UID, c.Attempt)
	if err != nil && (ctx.Err() == nil || r.Context().Err() != nil) {
		return err
	}
	if err != nil || said.Reason == "" {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return writeJSON(w, http.StatusOK, said)
}
