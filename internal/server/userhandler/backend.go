package userhandler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/server/httpbackend"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
)

// A user's engine, outside of the cluster, works with the state of a Stack by the protocol of the engines' http
// backend. It is answered as that user, and by the same rules of internal/state as an engine in a pod.

var (
	mayPull   = auth.Right{Verb: "pull", Resource: "states"}
	mayPush   = auth.Right{Verb: "push", Resource: "states"}
	mayUnlock = auth.Right{Verb: "unlock", Resource: "states"}
)

// addUserBackend adds the backend of each state.
func (s *API) addUserBackend(mux router, path string) {
	add := func(method string, within time.Duration, need auth.Right, h handler) {
		mux.Handle(method+" "+path,
			s.answerEngine(within, func(w http.ResponseWriter, r *http.Request, p auth.User) error {
				a, err := s.ask(r, p, need)
				return s.auditedUnless(err, need, h)(w, r, a)
			}))
	}
	add("GET", httpapi.LongTimeout, mayPull, s.readUserState)
	add("POST", httpapi.LongTimeout, mayPush, s.writeUserState)
	add("LOCK", httpapi.ShortTimeout, mayPush, s.lockUserState)
	add("DELETE", httpapi.ShortTimeout, mayPush, s.deleteUserState)
	unlock := func(w http.ResponseWriter, r *http.Request, p auth.User) error {
		need, a, err := s.askToUnlock(r, p)
		unlock := s.forceUnlock
		if need == mayPush {
			unlock = s.giveLockBack
		}
		return s.auditedUnless(err, need, unlock)(w, r, a)
	}
	mux.Handle("UNLOCK "+path, s.answerEngine(httpapi.ShortTimeout, unlock))
}

// askToUnlock is ask with the right that it takes: push for a lock of one's own, and unlock for any other. What is
// done is decided by the right, since the lock may be another one by then.
func (s *API) askToUnlock(r *http.Request, p auth.User) (auth.Right, ask, error) {
	a, err := s.ask(r, p, mayPush)
	if err == nil {
		lock, err := s.lockOf(r.Context(), a.NamespacedName)
		if err != nil || lock == nil || lock.By == a.GetName() {
			return mayPush, a, err
		}
	}
	a, err = s.ask(r, p, mayUnlock)
	return mayUnlock, a, err
}

// lockOf is the lock of a state; nil when it is not held.
func (s *API) lockOf(ctx context.Context, key types.NamespacedName) (*v1alpha1.Lock, error) {
	st, err := s.readState(ctx, key)
	return st.Status.Lock, err
}

// readState reads a State; an empty one for that of a Stack without a state.
func (s *API) readState(ctx context.Context, key types.NamespacedName) (*v1alpha1.State, error) {
	st := &v1alpha1.State{}
	if err := s.Live.Get(ctx, key, st); client.IgnoreNotFound(err) != nil {
		return st, fmt.Errorf("read State %s: %w", key, err)
	}
	return st, nil
}

func (a ask) holder() decision.Holder { return decision.Holder{User: a.GetName()} }

// readUserState serves the current version. 404 is for a Stack without a state: an engine would take any other 404 for
// that too, and create everything.
func (s *API) readUserState(w http.ResponseWriter, r *http.Request, a ask) error {
	free, err := s.memory.AcquireState(r.Context(), a.NamespacedName)
	if err != nil {
		return err
	}
	defer free()
	data, err := s.State.ReadForUser(r.Context(), a.NamespacedName)
	var no *decision.Rejection
	switch {
	case errors.Is(err, state.ErrNone):
		return noVersion(a, 0)
	case errors.As(err, &no) && no.Reason == decision.Missing:
		return httpapi.Errorf(http.StatusConflict, "%s", no.Message)
	case err != nil:
		return err
	}
	w.Header().Set("Content-MD5", httpbackend.ContentMD5(data))
	return httpbackend.WriteState(w, data)
}

// writeUserState takes the next version from the holder of the lock.
func (s *API) writeUserState(w http.ResponseWriter, r *http.Request, a ask) error {
	id := r.URL.Query().Get("ID")
	a.noted("lock", lockText(id))
	data, free, err := httpapi.ReadBody(w, r, s.memory.Semaphore, a.Namespace, state.MaxSize, 1, 0)
	if err != nil {
		return err
	}
	defer free()
	if err := httpbackend.CheckMD5(r, data); err != nil {
		return err
	}
	now, err := s.State.WriteVersion(r.Context(), a.NamespacedName, a.holder(), id, data)
	if err != nil {
		return err
	}
	a.noted("version", now.Version, "serial", now.Serial)
	if now.Unchanged { // sent again
		a.noted("unchanged", true)
	} else {
		s.recordEvent(r.Context(), a, v1alpha1.EventStatePushed, "Push",
			"wrote version %d (serial %d) with an engine, under the lock %s", now.Version, now.Serial, lockText(id))
	}
	return httpapi.WriteJSON(w, http.StatusOK, versionOf(now.StateStatus))
}

// lockUserState takes the lock, or responds with the reason in the form that an engine shows to its user.
func (s *API) lockUserState(w http.ResponseWriter, r *http.Request, a ask) error {
	data, err := httpapi.ReadAll(w, r, httpbackend.MaxLockInfo)
	if err != nil {
		return err
	}
	info, err := httpbackend.ParseLockInfo(data)
	if err != nil {
		return err
	}
	id := lockText(info.ID)
	a.noted("lock", id, "operation", lockText(info.Operation))
	want := decision.LockRequest{ID: info.ID, Who: lockText(info.Who)}
	err = s.State.LockForUser(r.Context(), a.NamespacedName, a.holder(), want)
	var refused *decision.Rejection
	if errors.As(err, &refused) {
		conflict := httpbackend.LockConflict(refused, a.NamespacedName.String())
		return errors.Join(err, httpapi.WriteJSON(w, http.StatusLocked, conflict))
	}
	if err != nil {
		return err
	}
	s.recordEvent(r.Context(), a, v1alpha1.EventStateLocked, "Lock", "locked the state with an engine, lock ID %s", id)
	return httpapi.WriteJSON(w, http.StatusOK, info)
}

// lockText is a text of an engine as it is shown to users.
func lockText(text string) string { return shorten.Line(text, httpbackend.MaxLockText) }

// giveLockBack ends the lock of the user who asks.
func (s *API) giveLockBack(w http.ResponseWriter, r *http.Request, a ask) error {
	return s.unlocked(w, r, a, "released the lock %s", func(id string) error {
		return s.State.Unlock(r.Context(), a.NamespacedName, a.holder(), id)
	})
}

// forceUnlock ends the lock of another holder.
func (s *API) forceUnlock(w http.ResponseWriter, r *http.Request, a ask) error {
	return s.unlocked(w, r, a, "ended the lock %s by force", func(id string) error {
		return s.State.Release(r.Context(), a.NamespacedName, id)
	})
}

// unlocked ends the lock that an engine names. Older engines do not send the ID that force-unlock is given: they mean
// the lock that is there.
func (s *API) unlocked(w http.ResponseWriter, r *http.Request, a ask, done string, unlock func(id string) error) error {
	data, err := httpapi.ReadAll(w, r, httpbackend.MaxLockInfo)
	if err != nil {
		return err
	}
	var info httpbackend.LockInfo
	if len(data) > 0 {
		info, err = httpbackend.ParseLockInfo(data)
	} else if lock, gone := s.lockOf(r.Context(), a.NamespacedName); lock != nil {
		info.ID = lock.ID
	} else {
		err = gone
	}
	if err != nil {
		return err
	}
	id := lockText(info.ID)
	a.noted("lock", id)
	if err := unlock(info.ID); err != nil {
		return err
	}
	s.recordEvent(r.Context(), a, v1alpha1.EventStateUnlocked, "Unlock", done, id)
	w.WriteHeader(http.StatusOK)
	return nil
}

// deleteUserState never does.
func (s *API) deleteUserState(w http.ResponseWriter, _ *http.Request, a ask) error {
	w.Header().Set("Allow", "GET, POST, LOCK, UNLOCK")
	return httpapi.Errorf(http.StatusMethodNotAllowed, "no engine deletes a state of Cairn's: delete Stack %s", a.Name)
}

// answerEngine finds out whose engine asks.
func (s *API) answerEngine(
	within time.Duration, h func(http.ResponseWriter, *http.Request, auth.User) error,
) http.Handler {
	return s.answerKnown(within, s.Users.AuthenticateEngine, h)
}
