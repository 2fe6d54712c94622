package attempt

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/interrupt"
	"cairn.dev/cairn/internal/runnerapi"
)

// rescuer saves states that the engine could not write.
type rescuer struct{ *workbench }

// rescue saves a state that the engine could not write: on the server or, when that fails, in the pod's log,
// encrypted to the installation's key. Its error is that the server does not have the state: then that is how the
// attempt ended, whatever else failed.
func (s *rescuer) rescue(podCtx context.Context) error {
	s.proxy.Wait()
	state, err := s.stranded()
	if err == nil && state == nil {
		return nil
	}
	ctx, cancel := interrupt.Outlive(podCtx)
	defer cancel()
	return s.step(ctx, "rescue", func(ctx context.Context) (result, error) {
		if err != nil {
			return result{}, &strandedError{err}
		}
		name := "a state"
		if parsed, err := engine.ParseState(state); err == nil {
			name = fmt.Sprintf("the state with serial %d", parsed.Serial)
		}
		rescued, refused := s.client.Rescue(ctx, s.proxy.History().Base(), state)
		switch {
		case refused == nil && rescued.Forked != "":
			return result{}, &engine.Rejection{Reason: rescued.Forked}
		case refused == nil:
			return result{message: name + " could not be written and was rescued; it is written before the next plan"},
				nil
		}
		if err := s.print(state); err != nil {
			return result{}, &strandedError{fmt.Errorf("%s could not be written, nor rescued: "+
				"%w", name, errors.Join(refused, err))}
		}
		return result{}, &strandedError{fmt.Errorf(
			"%s could not be written, nor rescued (%w); it is in the pod's log, "+
				"encrypted: "+
				"read it back with cairn state recover", name, refused)}
	})
}

// stranded returns the state that could not be written, if there is one. The engine's own file is the newest, unless
// a user in a shell has pushed it since, also into the engine's own backend. What the engine sent last counts when
// there is no file, since the engine was killed; when the file is not complete, as on a full disk; and when it is
// older.
func (s *rescuer) stranded() ([]byte, error) {
	history := s.proxy.History()
	if history.Restored {
		return nil, nil
	}
	left, err := s.readErrored()
	sent := history.Undelivered
	switch {
	case err != nil:
		return nil, err
	case left == nil || sent != nil && (!json.Valid(left) || olderState(left, sent)):
		return sent, nil
	case sent == nil && history.Has(left):
		return nil, nil
	}
	return left, nil
}

// olderState reports whether a state precedes another one of the same shell.
func olderState(one, other []byte) bool {
	first, err := engine.ParseState(one)
	second, unreadable := engine.ParseState(other)
	return err == nil && unreadable == nil && first.Serial < second.Serial
}

// erroredState is the engine's own file of a state that it could not write.
func (w *workbench) erroredState() string { return filepath.Join(w.ranIn(), engine.ErroredState) }

// readErrored returns what is in the engine's own file; nil when there is none.
func (s *rescuer) readErrored() ([]byte, error) {
	file, err := os.Open(s.erroredState())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(file, runnerapi.LargestState+1))
	if err == nil && len(data) > runnerapi.LargestState {
		err = errors.New("it is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", engine.ErroredState, err)
	}
	if whole, err := engine.WithLineage(data); err == nil {
		return whole, nil
	}
	return data, nil
}

// print writes a state to the pod's log, compressed and then encrypted to the installation's key. It does not pass
// the redactor, which could mask a part of it.
func (s *rescuer) print(state []byte) error {
	name := fmt.Sprintf("%s/%s/%s/%d", s.order.Namespace, s.order.Stack, s.order.Run, s.order.Attempt)
	text, err := seal(state, name, s.proxy.History().Base(), s.order.Recipient)
	if err != nil {
		return err
	}
	_, err = s.Output.Write(text)
	return err
}

// seal returns data gzipped, encrypted to a recipient, and armored: text with a clear beginning and end. The name of
// the attempt, with its Stack, is in what is encrypted, in gzip's header: the server restores the state of no other one
// from it. So is the SHA256 of the version that the state replaces.
func seal(data []byte, name, base, recipient string) ([]byte, error) {
	recipients, err := age.ParseRecipients(strings.NewReader(recipient))
	if err != nil {
		return nil, fmt.Errorf("the installation's public key: %w", err)
	}
	var text bytes.Buffer
	text.WriteByte('\n')
	armored := armor.NewWriter(&text)
	sealed, err := age.Encrypt(armored, recipients...)
	if err != nil {
		return nil, err
	}
	packed := gzip.NewWriter(sealed)
	packed.Name, packed.Comment = name, base
	_, err = packed.Write(data)
	if err := errors.Join(err, packed.Close(), sealed.Close(), armored.Close()); err != nil {
		return nil, err
	}
	text.WriteByte('\n')
	return text.Bytes(), nil
}
