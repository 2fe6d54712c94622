package runnerhandler

import (
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/server/httpbackend"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
)

// readState serves the current version, in the engines' http protocol: 404 before the first.
func (s *API) readState(w http.ResponseWriter, r *http.Request, c Caller) error {
	if runinfo.PlansNewStack(c.Run) { // whatever State has its name
		w.WriteHeader(http.StatusNotFound)
		return nil
	}
	free, err := s.memory.AcquireState(r.Context(), c.Key())
	if err != nil {
		return err
	}
	defer free()
	data, err := s.State.ReadPlanned(r.Context(), c.Key(), c.Holder())
	if errors.Is(err, state.ErrNone) {
		w.WriteHeader(http.StatusNotFound)
		return nil
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-MD5", httpbackend.ContentMD5(data))
	return httpbackend.WriteState(w, data)
}

// writeState takes the next version from the holder of the lock.
func (s *API) writeState(w http.ResponseWriter, r *http.Request, c Caller) error {
	data, free, err := s.body(w, r, c.Pod.Namespace, state.MaxSize)
	if err != nil {
		return err
	}
	defer free()
	if err := httpbackend.CheckMD5(r, data); err != nil {
		return err
	}
	if err := s.State.Write(r.Context(), c.Key(), c.Holder(), r.URL.Query().Get("ID"), data); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// lockState takes the lock, or responds with its holder, in the form that an engine shows to users.
func (s *API) lockState(w http.ResponseWriter, r *http.Request, c Caller) error {
	info, err := s.lockInfo(w, r, c)
	if err != nil {
		return err
	}
	in, err := s.backendOf(r.Context(), c)
	if err != nil {
		return err
	}
	base, err := s.State.Lock(r.Context(), c.Key(), c.Holder(),
		decision.LockRequest{ID: info.ID, Who: shorten.Line(info.Who, httpbackend.MaxLockText), Backend: in.Name()})
	var refused *decision.Rejection
	if errors.As(err, &refused) && refused.Lock != nil {
		s.Log.Info("lock refused", "namespace", c.Pod.Namespace, "stack", c.Stack, "run", c.RunName, "attempt",
			c.Attempt, "reason", refused.Message)
		return httpapi.WriteJSON(w, http.StatusLocked, httpbackend.LockConflict(refused, c.Stack))
	}
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, runnerapi.Locked{Base: base})
}

// unlockState releases the lock.
func (s *API) unlockState(w http.ResponseWriter, r *http.Request, c Caller) error {
	info, err := s.lockInfo(w, r, c)
	if err != nil {
		return err
	}
	if err := s.State.Unlock(r.Context(), c.Key(), c.Holder(), info.ID); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

func (s *API) lockInfo(w http.ResponseWriter, r *http.Request, c Caller) (httpbackend.LockInfo, error) {
	data, free, err := s.body(w, r, c.Pod.Namespace, httpbackend.MaxLockInfo)
	if err != nil {
		return httpbackend.LockInfo{}, err
	}
	defer free()
	return httpbackend.ParseLockInfo(data)
}

// deleteState never does.
func (s *API) deleteState(w http.ResponseWriter, _ *http.Request, c Caller) error {
	w.Header().Set("Allow", "GET, POST, LOCK, UNLOCK")
	return httpapi.Errorf(http.StatusMethodNotAllowed, "a runner deletes no state: delete Stack %s", c.Stack)
}

// rescueState takes a state that could not be written when it was produced.
func (s *API) rescueState(w http.ResponseWriter, r *http.Request, c Caller) error {
	data, free, err := s.body(w, r, c.Pod.Namespace, state.MaxSize)
	if err != nil {
		return err
	}
	defer free()
	base := r.URL.Query().Get("base")
	if base != "" && !httpapi.IsDigest(base) {
		return httpapi.Errorf(http.StatusBadRequest, "?base=%.80q is not the SHA256 of a state", base)
	}
	err = s.State.Rescue(r.Context(), c.Key(), c.Holder(), base, data)
	var refused *decision.Rejection
	forked := errors.As(err, &refused) && refused.Reason == decision.Diverged
	if err == nil || forked {
		s.recordLateRescue(r, c)
	}
	if forked {
		return httpapi.WriteJSON(w, http.StatusOK, runnerapi.Rescued{Forked: refused.Message})
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// recordLateRescue records in the log, and as an event of the State, that a state was rescued after the end of its
// attempt. It is accepted all the same: the runner of an attempt that was given up may still work, and to lose its
// state would be worse.
func (s *API) recordLateRescue(r *http.Request, c Caller) {
	run := &v1alpha1.Run{}
	if err := s.Live.Get(r.Context(), c.run(), run); err == nil {
		if a, no := decision.NamedAttempt(run, c.Holder()); no == nil && a.FinishedAt == nil {
			return
		}
	}
	s.Log.Warn("audit: state rescued after the end of its attempt", "namespace", c.Pod.Namespace, "stack", c.Stack,
		"run", c.RunName,
		"pod", c.Pod.Name, "attempt", c.Attempt, "from", r.RemoteAddr)
	st := &v1alpha1.State{}
	if s.Events == nil || s.Live.Get(r.Context(), c.Key(), st) != nil {
		return
	}
	s.Events.Eventf(st, nil, corev1.EventTypeWarning, v1alpha1.EventStateRescuedLate, "Rescue",
		"attempt %d of Run %s had ended when pod %s sent a state that it could not write before; check its versions: "+
			"cairn state history %s",
		c.Attempt, c.RunName, c.Pod.Name, c.Stack)
}
