package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"

	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/interrupt"
	"cairn.dev/cairn/internal/runner/stateproxy"
	"cairn.dev/cairn/internal/runnerapi"
)

// A Stack may keep its state in a backend of the engine's own, as spec.backend sets it. Then the engine reads,
// writes and locks it there, and the server's state follows: the runner reads what the backend has
//
//	before a plan       and pushes the server's state there, where that is newer and nothing of the backend's is lost
//	after an apply      however it ended, with the server's lock held beside the backend's own
//	after a shell       the same
//
// The server decides what follows: it knows what the backend had before.

// mostPuts is how often a state is pushed into a backend that then has another one: once, and once more by force for
// its lineage.
const mostPuts = 2

// follower has the server's state follow that of the engine's own backend.
type follower struct {
	*workbench
	// lock is the one that the runner holds on the server while the engine has its own at its backend; nil when it
	// holds none.
	lock []byte
	// followed: a new state was read after an apply.
	followed bool
}

// backend returns where the engine keeps the state.
func (w *workbench) backend() engine.Backend {
	if w.order.Backend == nil {
		return engine.Backend{}
	}
	if w.order.Backend.Type == "" || w.inCode != nil {
		return engine.Backend{FromCode: true}
	}
	return engine.Backend{Type: w.order.Backend.Type}
}

// followBackend copies the backend's state to the server, before anything is planned on it.
func (s *follower) followBackend(ctx context.Context) (result, error) {
	data, followed, err := s.follow(ctx)
	if err != nil {
		return result{}, err
	}
	for tries := 0; followed.Push; tries++ {
		if tries == mostPuts {
			return result{}, &engine.Rejection{Reason: fmt.Sprintf(
				"backend %s took the state, and has another one all the same: check its content", s.backendType)}
		}
		if data, followed, err = s.putThere(ctx, followed.Force); err != nil {
			return result{}, err
		}
	}
	if followed.Moved != "" {
		fmt.Fprintf(s.text, "the state was put into backend %s, as %s wanted\n", s.backendType, s.clean(followed.Moved))
	}
	return result{message: s.sawBackend(data)}, nil
}

// sawBackend describes what a backend has.
func (s *follower) sawBackend(data []byte) string {
	state, err := engine.ParseState(data)
	if err != nil || len(data) == 0 {
		return fmt.Sprintf("backend %s has no state yet", s.backendType)
	}
	return fmt.Sprintf("backend %s has serial %d", s.backendType, state.Serial)
}

// follow reads what the backend has, and sends it to the server.
func (s *follower) follow(ctx context.Context) ([]byte, runnerapi.Followed, error) {
	data, err := s.pullState(ctx)
	if err != nil {
		return nil, runnerapi.Followed{}, err
	}
	followed, err := s.client.Follow(ctx, s.backendType, data)
	rejections := []int{http.StatusConflict, http.StatusBadRequest, http.StatusForbidden}
	if said, ok := errors.AsType[*runnerapi.Error](err); ok && slices.Contains(rejections, said.Code) {
		return nil, followed, &engine.Rejection{Reason: said.Message}
	}
	if err != nil {
		return nil, followed, fmt.Errorf("send what backend %s has to the server: %w", s.backendType, err)
	}
	s.proxy.SetCurrent(data)
	return data, followed, nil
}

// putThere pushes the server's state into the backend, and reads it back.
func (s *follower) putThere(ctx context.Context, force bool) ([]byte, runnerapi.Followed, error) {
	state, err := s.proxy.Current(ctx)
	if err != nil {
		return nil, runnerapi.Followed{}, err
	}
	if err := os.WriteFile(s.work.PushedState(), state, 0o600); err != nil {
		return nil, runnerapi.Followed{}, err
	}
	defer os.Remove(s.work.PushedState()) //nolint:errcheck // the next attempt clears what is left
	if !force {
		fmt.Fprintf(s.text, "the server's state is newer than what backend %s has: it is put there\n", s.backendType)
	}
	push := engine.Push{VariableFiles: s.files.paths(), State: s.work.PushedState(), Force: force}
	if _, err := s.askBackend(ctx, call{args: s.engine.Args(push)}); err != nil {
		return nil, runnerapi.Followed{}, fmt.Errorf("put the state into backend %s: %w", s.backendType, err)
	}
	return s.follow(ctx)
}

// pullState reads what the backend has; nothing when it has no state.
func (s *follower) pullState(ctx context.Context) ([]byte, error) {
	data, err := s.askBackend(ctx, call{args: s.engine.Args(engine.Pull{VariableFiles: s.files.paths()}), reads: true})
	if err != nil {
		return nil, fmt.Errorf("read the state in backend %s: %w", s.backendType, err)
	}
	return stateIn(data), nil
}

// stateIn returns the state that an engine printed, byte for byte as its backend has it; nil when it has none. Warnings
// may precede it, as of a CLI configuration that does not exist, and a newline follows it.
func stateIn(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte("{")) {
		at := bytes.Index(data, []byte("\n{"))
		if at < 0 {
			return bytes.TrimSpace(data) // nothing, or what the server rejects as a state
		}
		data = data[at+1:]
	}
	data = bytes.TrimSuffix(data, []byte("\n"))
	var none struct {
		Serial    int64
		Lineage   string
		Resources []json.RawMessage
	}
	if err := json.Unmarshal(data, &none); err == nil && none.Lineage == "" && none.Serial == 0 &&
		len(none.Resources) == 0 {
		return nil // so OpenTofu shows that there is none
	}
	return data
}

// lockState takes the server's lock for an engine that locks its own backend alone, so that there is one writer.
func (s *follower) lockState(ctx context.Context) error {
	if !s.backend().Own() {
		return nil
	}
	lock, err := json.Marshal(stateproxy.Lock{ID: uuid.NewString(), Operation: "Cairn", Who: s.order.Run})
	if err != nil {
		return err
	}
	said, err := s.client.State(ctx, "LOCK", "", lock)
	if refused, ok := errors.AsType[*runnerapi.Error](err); ok {
		var holder stateproxy.Lock
		if json.Unmarshal([]byte(refused.Message), &holder) == nil && holder.Info != "" {
			err = errors.New(holder.Info)
		}
		return fmt.Errorf("lock the state: %w", err)
	}
	if err != nil {
		return fmt.Errorf("lock the state: %w: %s", err, said)
	}
	s.lock = lock
	s.proxy.SetBase(said)
	return nil
}

// followAfter copies the backend's state to the server after the engine, however that ended; well: it succeeded. A
// backend that does not answer has as long as a server that is away: neither a timeout nor a cancel ends this step, and
// the next plan copies the state.
func (s *follower) followAfter(podCtx context.Context, well bool) error {
	if s.lock == nil {
		return nil
	}
	ctx, cancel := interrupt.Outlive(podCtx)
	defer cancel()
	patience := max(s.order.Patience, lastLogWait)
	silent := fmt.Errorf("backend %s did not answer within %s", s.backendType, shorten.Duration(patience))
	ctx, cancel = context.WithTimeoutCause(ctx, patience, silent)
	defer cancel()
	return s.step(ctx, "state", func(ctx context.Context) (result, error) {
		data, followed, err := s.follow(ctx)
		if err != nil {
			return result{}, err
		}
		if s.followed = followed.Wrote; well {
			err = s.checkWrote()
		}
		return result{message: s.sawBackend(data)}, err
	})
}

// unlockState returns the server's lock back. A lock that stays is taken over once this pod is gone.
func (s *follower) unlockState(podCtx context.Context) {
	if s.lock == nil {
		return
	}
	ctx, cancel := interrupt.Outlive(podCtx)
	defer cancel()
	if _, err := s.client.State(ctx, "UNLOCK", "", s.lock); err != nil {
		s.Log.Error("lock not released", "error", err)
	}
	s.lock = nil
}

// explainLocks replaces an engine's error about a lock by who holds it and what to do: the engine's own words are
// long, and with some backends, and older engines, name this pod. The server itself explains Cairn's lock.
func (w *workbench) explainLocks(diagnostics []engine.Diagnostic) {
	denied := w.proxy.History().DeniedLock
	for i := range diagnostics {
		if !w.backend().Own() {
			if denied != "" && diagnostics[i].Summary == engine.LockFailed {
				diagnostics[i].Detail = denied
			}
		} else if held, ok := engine.LockedBy(w.backendType, diagnostics[i]); ok {
			diagnostics[i].Detail = lockedBy(held, w.backendType, w.order.Stack, w.engine.Program())
		}
	}
}

// lockedBy describes who holds a lock and how it ends. That the Run is retried is reported beside it, as of each
// failure of that class.
func lockedBy(held engine.HeldLock, backend, stack, program string) string {
	unlock := ""
	if held.ID != "" {
		unlock = fmt.Sprintf("When no engine is at work there anymore: cairn shell %s, and there %s force-unlock "+
			"%s. ", stack, program, held.ID)
	}
	switch {
	case backend == "pg":
		first := ""
		if program == "terraform" && strings.Contains(held.Message, "workspace creation") {
			first = "Terraform locks the whole database while it creates a first state there, so that it may be " +
				"for another state. "
		}
		return "another client has it, and PostgreSQL does not show which. " + first + "Its connections with locks: " +
			"select pid, usename, client_addr, backend_start from " +
			"pg_locks join pg_stat_activity using (pid) where locktype = 'advisory'. The lock ends with its " +
			"connection. The backend reports: " + held.Message
	case held.Who == "":
		return fmt.Sprintf("another client has it, and backend %s does not show which. %sThe backend reports: "+
			"%s", backend, unlock, held.Message)
	}
	return fmt.Sprintf("%s has it since %s (%s, ID %s). %sThe backend reports: "+
		"%s", held.Who, held.Since, held.Operation, held.ID, unlock, held.Message)
}
