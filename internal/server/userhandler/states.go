package userhandler

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/server/httpbackend"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/userapi"
)

// pullState serves a version of a state.
func (s *API) pullState(w http.ResponseWriter, r *http.Request, a ask) error {
	if r.PathValue("version") == userapi.Rescued {
		return s.pullRescued(w, r, a)
	}
	number := int64(0) // the current one
	if which := r.PathValue("version"); which != userapi.Current {
		var err error
		if number, err = strconv.ParseInt(which, 10, 64); err != nil || number < 1 {
			return httpapi.Errorf(http.StatusBadRequest, "%.40q is not the number of a version, nor %q, nor %q",
				which, userapi.Current, userapi.Rescued)
		}
	}
	a.noted("version", r.PathValue("version"))
	free, err := s.roomFor(r.Context(), a, number, 1)
	if err != nil {
		return err
	}
	defer free()
	var data []byte
	if number == 0 {
		data, err = s.State.Read(r.Context(), a.NamespacedName)
	} else {
		data, err = s.State.ReadVersion(r.Context(), a.NamespacedName, number)
	}
	if errors.Is(err, state.ErrNone) {
		return noVersion(a, number)
	}
	if err != nil {
		return err
	}
	return httpbackend.WriteState(w, data)
}

// pullRescued serves the state that an attempt could not save.
func (s *API) pullRescued(w http.ResponseWriter, r *http.Request, a ask) error {
	a.noted("version", userapi.Rescued)
	free, err := s.memory.Acquire(r.Context(), a.Namespace, userPart) // its size is not known before
	if err != nil {
		return err
	}
	defer free()
	data, err := s.State.ReadRescued(r.Context(), a.NamespacedName)
	if errors.Is(err, state.ErrNone) {
		return httpapi.Errorf(http.StatusNotFound, "no rescued state of Stack %s waits", a.Name)
	}
	if err != nil {
		return err
	}
	return httpbackend.WriteState(w, data)
}

// pushState takes a state from a user.
func (s *API) pushState(w http.ResponseWriter, r *http.Request, a ask) error {
	force, err := flag(r, "force")
	if err != nil {
		return err
	}
	shown, err := shownVersion(r)
	if err != nil {
		return err
	}
	a.noted("force", force)
	data, free, err := httpapi.ReadBody(w, r, s.memory.Semaphore, a.Namespace, state.MaxSize, 1, 0)
	if err != nil {
		return err
	}
	defer free()
	now, err := s.State.Push(r.Context(), a.NamespacedName, a.GetName(), data, force, shown)
	if err != nil {
		return err
	}
	how := ""
	if force {
		how = " by force"
	}
	did := "pushed version %d (serial %d)" + how
	if now.Unchanged {
		did = "pushed" + how + " what is version %d (serial %d) already: nothing was written"
	}
	return s.changed(w, r, a, now, v1alpha1.EventStatePushed, "Push", did)
}

// rollbackState goes back to the content of an older version.
func (s *API) rollbackState(w http.ResponseWriter, r *http.Request, a ask) error {
	var want userapi.Rollback
	if err := smallJSON(w, r, &want); err != nil {
		return err
	}
	if want.Version < 1 {
		return httpapi.Errorf(http.StatusBadRequest, "the body has to name a version: {\"version\": 3}")
	}
	shown, err := shownVersion(r)
	if err != nil {
		return err
	}
	a.noted("to", want.Version)
	free, err := s.roomFor(r.Context(), a, want.Version, 3)
	if err != nil {
		return err
	}
	defer free()
	now, err := s.State.Rollback(r.Context(), a.NamespacedName, a.GetName(), want.Version, shown)
	if err != nil {
		return err
	}
	did := fmt.Sprintf("went back to version %d: it is version %%d now (serial %%d)", want.Version)
	return s.changed(w, r, a, state.Outcome{StateStatus: now}, v1alpha1.EventStateRolledBack, "Rollback", did)
}

// releaseState ends a lock whose holder is over.
func (s *API) releaseState(w http.ResponseWriter, r *http.Request, a ask) error {
	var want userapi.Unlock
	if err := smallJSON(w, r, &want); err != nil {
		return err
	}
	if want.ID == "" || len(want.ID) > httpbackend.MaxLockText {
		return httpapi.Errorf(http.StatusBadRequest, "the body has to name the lock: {\"id\": \"...\"}")
	}
	a.noted("lock", want.ID)
	if err := s.State.Release(r.Context(), a.NamespacedName, want.ID); err != nil {
		return err
	}
	s.recordEvent(r.Context(), a, v1alpha1.EventStateUnlocked, "Unlock", "ended the lock %s", lockText(want.ID))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// recoverState finds a state in the log of a pod that could send it nowhere, and puts it back.
func (s *API) recoverState(w http.ResponseWriter, r *http.Request, a ask) error {
	// All that the namespace has: the size of an unpacked state is not known before.
	free, err := s.memory.Acquire(r.Context(), a.Namespace, userPart)
	if err != nil {
		return err
	}
	defer free()
	sealed, err := userapi.Sealed(http.MaxBytesReader(w, r.Body, userapi.LargestLog))
	if err != nil {
		return unread(err)
	}
	from, data, err := unseal(sealed, s.Identities(), a.NamespacedName)
	if err != nil {
		return err
	}
	now, err := s.State.Recover(r.Context(), a.NamespacedName, a.GetName(), from, data)
	if err != nil {
		return err
	}
	did := "put a state back from the log of a pod: it is version %d (serial %d)"
	if now.Unchanged {
		did = "found in the log of a pod what is version %d (serial %d) already: nothing was written"
	}
	return s.changed(w, r, a, now, v1alpha1.EventStateRescued, "Recover", did)
}

// restoreState takes the backup of a state, or forgets it.
func (s *API) restoreState(w http.ResponseWriter, r *http.Request, a ask) error {
	var want userapi.Restore
	if err := smallJSON(w, r, &want); err != nil {
		return err
	}
	a.noted("forget", want.Forget)
	// The size of an unpacked state is not known before.
	free, err := s.memory.Acquire(r.Context(), a.Namespace, userPart)
	if err != nil {
		return err
	}
	defer free()
	now, err := s.State.Restore(r.Context(), a.NamespacedName, a.GetName(), want.Forget)
	if err != nil {
		return err
	}
	did := "took the backup: it is version %d (serial %d)"
	if want.Forget {
		did = "forgot the backup that this state did not follow: version %d counts (serial %d)"
	}
	return s.changed(w, r, a, state.Outcome{StateStatus: now}, v1alpha1.EventStateRestored, "Restore", did)
}

// roomFor waits until there is memory for some copies of a version; 0 is the current one.
func (s *API) roomFor(ctx context.Context, a ask, number, copies int64) (func(), error) {
	st, err := s.readState(ctx, a.NamespacedName)
	if err != nil {
		return nil, err
	}
	if number == 0 && st.Status.Version > 0 {
		return s.memory.Acquire(ctx, a.Namespace, copies*st.Status.Size)
	}
	for _, v := range st.Status.Versions {
		if v.Version == number {
			return s.memory.Acquire(ctx, a.Namespace, copies*v.Size)
		}
	}
	return nil, noVersion(a, number)
}

func noVersion(a ask, number int64) error {
	if number == 0 {
		return httpapi.Errorf(http.StatusNotFound, "Stack %s has no state yet", a.Name)
	}
	return httpapi.Errorf(http.StatusNotFound, "version %d of the state of Stack %s is not kept", number, a.Name)
}

// unread explains why a body has no state.
func unread(err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return err
	case errors.Is(err, userapi.ErrNotSealed):
		return httpapi.Errorf(http.StatusUnprocessableEntity, "%v", err)
	}
	return fmt.Errorf("read the log: %w", err)
}

// unseal reads what a runner sealed: compressed under the name of its attempt, with the SHA256 of the version that it
// continues, encrypted, armored. Who may recover one state must not read another one that way.
func unseal(
	sealed []byte, identities []age.Identity, key types.NamespacedName,
) (from decision.Printed, data []byte, err error) {
	packed, err := age.Decrypt(armor.NewReader(bytes.NewReader(sealed)), identities...)
	var mismatch *age.NoIdentityMatchError
	if errors.As(err, &mismatch) {
		return from, nil, httpapi.Errorf(http.StatusUnprocessableEntity,
			"the state in this log is encrypted to the key of "+
				"another install of Cairn, or to one that is lost: Secret cairn-keys has none that reads it")
	}
	if err != nil {
		return from, nil, broken(err)
	}
	clear, err := gzip.NewReader(packed)
	if err != nil {
		return from, nil, broken(err)
	}
	attempt, named := strings.CutPrefix(clear.Name, key.String()+"/")
	if !named {
		return from, nil, httpapi.Errorf(http.StatusUnprocessableEntity, "the state in this log is of another Stack")
	}
	run, number, _ := strings.Cut(attempt, "/")
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return from, nil, broken(fmt.Errorf("it names no attempt of a Run: %w", err))
	}
	from = decision.Printed{Run: run, Attempt: int32(n), Base: clear.Comment}
	data, err = io.ReadAll(io.LimitReader(clear, state.MaxSize+1))
	if err != nil {
		return from, nil, broken(err)
	}
	if len(data) > state.MaxSize {
		return from, nil, httpapi.Errorf(http.StatusRequestEntityTooLarge, "the state has more than %d bytes",
			state.MaxSize)
	}
	return from, data, nil
}

func broken(err error) error {
	return httpapi.Errorf(http.StatusUnprocessableEntity,
		"the encrypted state in this log is damaged, or a part of it is missing: %v", err)
}

// changed notes and records what a user did to a state, in a format for its version and serial, and responds with
// them.
func (s *API) changed(
	w http.ResponseWriter, r *http.Request, a ask, now state.Outcome, reason, action, did string,
) error {
	a.noted("version", now.Version, "serial", now.Serial)
	if now.Unchanged {
		a.noted("unchanged", true)
	}
	s.recordEvent(r.Context(), a, reason, action, did, now.Version, now.Serial)
	return httpapi.WriteJSON(w, http.StatusOK, versionOf(now.StateStatus))
}

func versionOf(now v1alpha1.StateStatus) userapi.StateVersion {
	return userapi.StateVersion{Version: now.Version, Serial: now.Serial, Resources: int32(now.Resources)}
}

// moveState lets the state move to the Stack's current backend.
func (s *API) moveState(w http.ResponseWriter, r *http.Request, a ask) error {
	shown, err := shownVersion(r)
	if err != nil {
		return err
	}
	now, from, to, err := s.State.Move(r.Context(), a.NamespacedName, a.GetName(), shown)
	if err != nil {
		return err
	}
	a.noted("version", now.Version, "serial", now.Serial, "from", from, "to", to)
	if to == "" {
		s.recordEvent(r.Context(), a, v1alpha1.EventStateMigrated, "Move",
			"had Cairn keep the state, version %d (serial %d); backend %s still has its own", now.Version,
			now.Serial, from)
	} else {
		s.recordEvent(r.Context(), a, v1alpha1.EventStateMigrationRequested, "Move",
			"lets the next plan put version %d (serial %d) into backend %s", now.Version, now.Serial, to)
	}
	return httpapi.WriteJSON(w, http.StatusOK, userapi.StateMove{StateVersion: versionOf(now), From: from, To: to})
}

// showJournal responds with what applies have done of which it is not known that the state has it all. Who may read
// the state may read that: it holds less.
func (s *API) showJournal(w http.ResponseWriter, r *http.Request, a ask) error {
	st, err := s.readState(r.Context(), a.NamespacedName)
	switch {
	case err != nil:
		return err
	case st.UID == "":
		return noVersion(a, 0)
	}
	a.noted("journal", true)
	free, err := s.memory.Acquire(r.Context(), a.Namespace, 2*st.Status.Size)
	if err != nil {
		return err
	}
	defer free()
	resources, err := s.State.JournalResources(r.Context(), a.NamespacedName)
	if err != nil {
		return err
	}
	journal := userapi.Journal{Resources: make([]userapi.JournalResource, len(resources))}
	for i, r := range resources {
		journal.Resources[i] = userapi.JournalResource{
			Address: r.Address, Type: r.Type, Action: r.Action, IDKey: r.IDKey, ID: r.ID,
			Run: r.Run, Attempt: r.Attempt, Standing: string(r.How),
		}
	}
	return httpapi.WriteJSON(w, http.StatusOK, journal)
}
