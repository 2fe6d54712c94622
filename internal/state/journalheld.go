package state

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/document"
)

// An entry of a journal is settled once a version of the state had its resource: from then on a user may remove the
// resource from the state, and that counts. So what the current version has of the journal is recorded before
// another version may follow that is not from an apply: before a user's, before a shell's, and when a plan reads
// the journal. It is a fact, whatever follows, so it may be written first.
//
// For an address that the version has with another resource, that one is recorded. What a user adds there later is
// theirs, and not the replaced resource, which a plan would destroy.

// RecordHeld adds to the journal what the current version of a state has of it. Without a journal, as nearly
// always, the State is not read.
func (s *Journals) RecordHeld(ctx context.Context, key types.NamespacedName) error {
	if _, open, err := s.journalBatches(ctx, key); err == nil && len(open) == 0 {
		return nil
	}
	s.fence.ForgetPlan(key) // a plan must not miss what is recorded here as held
	st, err := s.fence.Get(ctx, key)
	if err != nil {
		return err
	}
	return s.recordHeld(ctx, key, st.Status)
}

// recordHeld is RecordHeld for a State that was read. An unreadable state is no error: a user may be about to
// correct it.
func (s *Journals) recordHeld(ctx context.Context, key types.NamespacedName, st v1alpha1.StateStatus) error {
	version, ok := decision.Current(st)
	batches, err := s.openJournal(ctx, key)
	if err == nil && len(batches) == 0 {
		return nil
	}
	instances := &engine.Instances{}
	if err == nil && ok {
		instances, err = s.instances(ctx, key, version)
	}
	switch {
	case decision.ReasonOf(err) != "":
		s.fence.Log.Warn("cannot read what a state has of its journal",
			"state", key.String(), "version", version.Version, "reason", err)
		return nil
	case err != nil:
		return err
	}
	var done []engine.Done
	for _, b := range batches {
		done = append(done, b.entries...)
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

// putHeld writes what a version has, in parts as large as batches. Each is true by itself, so that it does not
// matter when not all are written.
func (s *Journals) putHeld(ctx context.Context, after string, version int64, held []engine.Done) error {
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

// heldPart writes as many entries as fit into a batch, and returns their number.
func heldPart(held []engine.Done) (data []byte, n int, err error) {
	for size := 0; n < len(held); n++ {
		entry, err := json.Marshal(held[n])
		if err != nil {
			return nil, 0, err
		}
		if size += len(entry) + 1; size > runnerapi.LargestBatch-100 && n > 0 {
			break
		}
	}
	data, err = json.Marshal(runnerapi.JournalEntries{Entries: held[:n]})
	return data, n, err
}

// heldName sorts after a part of the journal, and before the next batch.
func heldName(after string, version int64, data []byte) string {
	after, _, _ = strings.Cut(after, "-"+heldMark+"-")
	return fmt.Sprintf("%s-%s-%010d-%.16s", after, heldMark, version,
		strings.TrimPrefix(document.Digest(data), "sha256:"))
}

// instances reads a version of a state. An unreadable one is a Rejection.
func (s *Journals) instances(
	ctx context.Context, key types.NamespacedName, v v1alpha1.StateVersion,
) (*engine.Instances, error) {
	data, err := s.fence.Versions.Get(ctx, key, v)
	if err != nil {
		return nil, err
	}
	instances, err := engine.ReadInstances(data)
	if err != nil {
		return nil, decision.Reject(decision.Opaque, "version %d of state %s: %v", v.Version, key.Name, err)
	}
	return instances, nil
}
