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
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/interrupt"
	"cairn.dev/cairn/internal/runner/report"
	"cairn.dev/cairn/internal/runnerapi"
)

// rescue saves a state that the engine could not write: on the server or, when that fails, in the pod's log,
// encrypted to the installation's key. Its error is that the server does not have the state: then that is how the
// attempt ended, whatever else failed.
func (a *attempt) rescue(podCtx context.Context) error {
	a.proxy.Wait()
	state, err := a.stranded()
	if err == nil && state == nil {
		return nil
	}
	ctx, cancel := interrupt.Outlive(podCtx)
	defer cancel()
	return a.step(ctx, "rescue", func(ctx context.Context) (result, error) {
		if err != nil {
			return result{}, &strandedError{err}
		}
		name := "a state"
		if parsed, err := engine.ParseState(state); err == nil {
			name = fmt.Sprintf("the state with serial %d", parsed.Serial)
		}
		rescued, refused := a.client.Rescue(ctx, a.proxy.History().Base(), state)
		switch {
		case refused == nil && rescued.Forked != "":
			return result{}, &engine.Rejection{Reason: rescued.Forked}
		case refused == nil:
			return result{message: name + " could not be written and was rescued; it is written before the next plan"}, nil
		}
		if err := a.print(state); err != nil {
			return result{}, &strandedError{fmt.Errorf("%s could not be written, nor rescued: "+
				"%w", name, errors.Join(refused, err))}
		}
		return result{}, &strandedError{fmt.Errorf("%s could not be written, nor rescued (%w); it is in the pod's log, "+
			"encrypted: "+
			"read it back with cairn state recover", name, refused)}
	})
}

// stranded returns the state that could not be written, if there is one. The engine's own file is the newest, unless
// a user in a shell has pushed it since, also into the engine's own backend. What the engine sent last counts when
// there is no file, since the engine was killed; when the file is not complete, as on a full disk; and when it is
// older.
func (a *attempt) stranded() ([]byte, error) {
	history := a.proxy.History()
	if history.Restored {
		return nil, nil
	}
	left, err := a.readErrored()
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

// readErrored returns what is in the engine's own file; nil when there is none.
func (a *attempt) readErrored() ([]byte, error) {
	file, err := os.Open(a.erroredState())
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
func (a *attempt) print(state []byte) error {
	name := fmt.Sprintf("%s/%s/%s/%d", a.order.Namespace, a.order.Stack, a.order.Run, a.order.Attempt)
	text, err := seal(state, name, a.proxy.History().Base(), a.order.Recipient)
	if err != nil {
		return err
	}
	_, err = a.Output.Write(text)
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

// flush waits until the whole journal has arrived, since the report that follows ends the attempt: as long as any
// request to a server that is away.
func (a *attempt) flush(podCtx context.Context, j *report.Journal) {
	ctx, cancel := interrupt.Outlive(podCtx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, max(a.order.Patience, lastLogWait))
	defer cancel()
	j.End(ctx)
}

// saved reports whether the state has all that an apply did, and what its plan took in: the engine wrote it and
// came to its end, since it released the lock, and nothing is left that it could not write.
func (a *attempt) saved() bool {
	state, err := a.stranded()
	return err == nil && state == nil && (a.proxy.History().Finished() || a.finishedElsewhere())
}
