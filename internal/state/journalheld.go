package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/document"
)

// An entry of a journal has done its work once a version of the state had what it tells of: from then on a person may take that out
// of the state, and it is theirs. So what the current version has is written into the journal before another one may follow that
// was not written by an apply of what the journal was read for: before a person's, before a shell's, and when a plan reads the
// journal. It is a fact, whatever becomes of what follows, and so it may be written first.
//
// Of what the version does not have it is noted what it has there instead. What a person puts there later is theirs, and not what was
// replaced, which a plan would destroy.

// NoteHeld adds to the journal what the current version of a state has of it. Where there is no journal, as nearly always, the State is
// not read.
func (s *Store) RecordHeld(ctx context.Context, key types.NamespacedName) error {
	if _, open, err := s.journalBatches(ctx, key); err == nil && len(open) == 0 {
		return nil
	}
	st, err := s.get(ctx, key)
	if err != nil {
		return err
	}
	return s.recordHeld(ctx, key, st.Status)
}

// noteHeld is NoteHeld for a State that was read. What cannot be read holds up nobody: a person may be about to put it right.
func (s *Store) recordHeld(ctx context.Context, key types.NamespacedName, st v1alpha1.StateStatus) error {
	version, ok := decision.Current(st)
	batches, err := s.openJournal(ctx, key)
	if err == nil && len(batches) == 0 {
		return nil
	}
	instances := &engine.Instances{}
	if err == nil && ok {
		instances, err = s.instances(ctx, key, version)
	}
	var rejected *decision.Rejection
	switch {
	case errors.As(err, &rejected):
		s.Log.Warn("what of the journal a state has cannot be told", "state", key.String(), "version", version.Version, "reason", err)
		return nil
	case err != nil:
		return err
	}
	var done []engine.Done
	for _, b := range batches {
		done = append(done, toDone(b.entries)...)
	}
	held := engine.FindHeld(done, instances)
	if len(held) == 0 {
		return nil
	}
	if err := s.putHeld(ctx, batches[len(batches)-1].name, version.Version, held); err != nil {
		return fmt.Errorf("keep the journal of %s: %w", key, err)
	}
	return nil
}

// putHeld writes what a version has, in parts as large as batches. Each is true by itself, so that it does not matter when not
// all are written.
func (s *Store) putHeld(ctx context.Context, after string, version int64, held []engine.Done) error {
	for len(held) > 0 {
		data, n, err := heldPart(held)
		if err != nil {
			return err
		}
		if err := s.bucket.Put(ctx, heldName(after, version, data), data); err != nil {
			return err
		}
		held = held[n:]
	}
	return nil
}

// heldPart writes as many as fit into a batch, and says how many they are.
func heldPart(held []engine.Done) (data []byte, n int, err error) {
	var part runnerapi.JournalEntries
	for size := 0; n < len(held); n++ {
		e := runnerapi.JournalEntry(held[n])
		entry, err := json.Marshal(e)
		if err != nil {
			return nil, 0, err
		}
		if size += len(entry) + 1; size > runnerapi.LargestBatch-100 && n > 0 {
			break
		}
		part.Entries = append(part.Entries, e)
	}
	data, err = json.Marshal(part)
	return data, n, err
}

// heldName sorts after a part of the journal, and before the next batch.
func heldName(after string, version int64, data []byte) string {
	after, _, _ = strings.Cut(after, "-"+heldMark+"-")
	return fmt.Sprintf("%s-%s-%010d-%.16s", after, heldMark, version, strings.TrimPrefix(document.Digest(data), "sha256:"))
}

// instances reads a version of a state. That nobody can look into it is a Refusal.
func (s *Store) instances(ctx context.Context, key types.NamespacedName, v v1alpha1.StateVersion) (*engine.Instances, error) {
	data, err := s.versions.Get(ctx, key, v)
	if err != nil {
		return nil, err
	}
	instances, err := engine.ReadInstances(data)
	if err != nil {
		return nil, decision.Reject(decision.Opaque, "version %d of state %s: %v", v.Version, key.Name, err)
	}
	return instances, nil
}
