package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/fence"
	"cairn.dev/cairn/internal/state/storage"
)

// The journal of a State is what its applies have done since one of them ended with everything saved, or a plan
// found everything in the state. It is in the bucket, in batches whose names sort by time:
//
//	journals/<namespace>/<stack>/<Run created at>-<Run's number>-<attempt>-<batch>
//	journals/<namespace>/<stack>/<Run created at>-<Run's number>-<attempt>-saved  everything up to here is in the state
//	journals/<namespace>/<stack>/<a batch>-held-<version>-<digest>                what that version of the state has of everything up to here
//	journals/<namespace>/<stack>/<a batch>-saved                                  nothing up to here is missing
//
// Nothing else is stored of it. The next plan compares it with the state to find what is missing.

// Journals are those of all States.
type Journals struct {
	fence   *fence.Fence
	bucket  storage.Bucket
	backups *Backups
}

// journalFolder holds the journal of a State.
func journalFolder(key types.NamespacedName) string {
	return "journals/" + key.Namespace + "/" + key.Name
}

// What is no batch: savedMark sorts after all batches of its attempt, or after the batch before it, and heldMark
// after that and before the next.
const (
	savedMark = "saved"
	heldMark  = "held"
)

// journalName is the prefix of the names of an attempt's batches. It begins with the creation time of the Run,
// since a Stack that is recreated counts its Runs from 1 again, and may find the State of its predecessor.
func journalName(key types.NamespacedName, run *v1alpha1.Run, attempt int32) string {
	number, _ := strconv.Atoi(run.Name[strings.LastIndexByte(run.Name, '-')+1:])
	return fmt.Sprintf("%s/%012d-%010d-%05d-", journalFolder(key), max(run.CreationTimestamp.Unix(), 0),
		number, attempt)
}

// AppendJournal keeps a batch of what an attempt has done. When it returns nil the batch is durable.
func (s *Journals) AppendJournal(
	ctx context.Context, key types.NamespacedName, run *v1alpha1.Run, by decision.Holder, batch int, data []byte,
) error {
	attempt, rejection := decision.JournalAttempt(run, by)
	switch {
	case rejection != nil:
		return rejection
	case attempt.Phase != v1alpha1.AttemptApply:
		return decision.Reject(decision.NotCurrent, "attempt %d of Run %s is no apply, and has no journal",
			by.Attempt, run.Name)
	case batch < 0 || batch >= runnerapi.MostBatches:
		return decision.Reject(decision.Invalid, "there is no batch %d of a journal", batch)
	}
	var entries runnerapi.JournalEntries
	if err := json.Unmarshal(data, &entries); err != nil {
		return decision.Reject(decision.Invalid, "that is no batch of a journal: %v", err)
	}
	if batch == 0 { // a note that stayed would cover what comes now, if the API server's clock has gone back
		s.CollectJournal(ctx, key)
	}
	if err := s.bucket.Put(ctx, fmt.Sprintf("%s%05d", journalName(key, run, by.Attempt), batch), data); err != nil {
		return fmt.Errorf("keep the journal of %s: %w", key, err)
	}
	return nil
}

// EndJournal takes note that the state has all that was done up to an attempt, which is an apply.
func (s *Journals) EndJournal(ctx context.Context, key types.NamespacedName, run *v1alpha1.Run,
	by decision.Holder) error {
	attempt, rejection := decision.NamedAttempt(run, by)
	if rejection != nil {
		return rejection
	}
	if attempt.Phase != v1alpha1.AttemptApply {
		return nil
	}
	return s.markSaved(ctx, key, journalName(key, run, by.Attempt)+savedMark)
}

// SettleJournal takes note that a plan found nothing that is missing in the journal, which it read up to there.
// It does nothing if that part of the journal is not in effect any more.
func (s *Journals) SettleJournal(ctx context.Context, key types.NamespacedName, upTo string) error {
	_, open, err := s.journalBatches(ctx, key)
	if err != nil {
		return fmt.Errorf("end the journal of %s: %w", key, err)
	}
	name := journalFolder(key) + "/" + upTo
	if !slices.Contains(open, name) {
		return nil
	}
	return s.markSaved(ctx, key, name+"-"+savedMark)
}

// markSaved ends the journal at a mark, if the backup has what the state has.
func (s *Journals) markSaved(ctx context.Context, key types.NamespacedName, mark string) error {
	kept, err := s.backups.inBackup(ctx, key)
	if err == nil && kept {
		err = s.bucket.Put(ctx, mark, nil)
	}
	if err != nil {
		return fmt.Errorf("end the journal of %s: %w", key, err)
	}
	return nil
}

// CollectJournal deletes what is in the state, oldest first and the mark last: what it does not get to counts for
// nothing either, and is deleted the next time.
func (s *Journals) CollectJournal(ctx context.Context, key types.NamespacedName) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storage.CollectTime)
	defer cancel()
	saved, _, err := s.journalBatches(ctx, key)
	for _, name := range saved {
		if err == nil {
			err = s.bucket.Delete(ctx, name)
		}
	}
	if err != nil {
		s.fence.Log.Warn("a journal that is in the state stays for now", "state", key.String(), "error", err)
	}
}

// journalBatches returns the names of the batches that are in the state, and of those of which that is not known;
// each oldest first.
func (s *Journals) journalBatches(ctx context.Context, key types.NamespacedName) (saved, open []string, err error) {
	names, err := s.bucket.List(ctx, journalFolder(key))
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(names)
	for i, name := range names {
		if strings.HasSuffix(name, "-"+savedMark) {
			saved, open = names[:i+1], nil
		} else {
			open = append(open, name)
		}
	}
	return saved, open, nil
}

// batch is a part of a journal.
type batch struct {
	name    string
	entries []runnerapi.JournalEntry
}

// journalReads is how many batches are read at a time.
const journalReads = 16

// Journal returns what applies have done of which it is not known that the state has it, oldest first. An
// unreadable journal is a Rejection: a retry would not help.
func (s *Journals) Journal(ctx context.Context, key types.NamespacedName) (runnerapi.JournalEntries, error) {
	batches, err := s.openJournal(ctx, key)
	if err != nil || len(batches) == 0 {
		return runnerapi.JournalEntries{}, err
	}
	all := runnerapi.JournalEntries{UpTo: path.Base(batches[len(batches)-1].name)}
	for _, b := range batches {
		all.Entries = append(all.Entries, b.entries...)
	}
	return all, nil
}

// openJournal reads the batches that count. One that goes meanwhile was ended meanwhile.
func (s *Journals) openJournal(ctx context.Context, key types.NamespacedName) (batches []batch, err error) {
	for range fence.Tries {
		var names []string
		if _, names, err = s.journalBatches(ctx, key); err == nil {
			batches, err = s.readBatches(ctx, key, names)
		}
		if !errors.Is(err, bucket.ErrNotFound) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal of %s: %w", key, err)
	}
	return batches, nil
}

func (s *Journals) readBatches(ctx context.Context, key types.NamespacedName, names []string) ([]batch, error) {
	batches := make([]batch, len(names))
	var size atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(journalReads)
	for i, name := range names {
		group.Go(func() error {
			data, err := s.bucket.Get(ctx, name, runnerapi.LargestBatch)
			if errors.Is(err, bucket.ErrDamaged) || errors.Is(err, bucket.ErrWrongKey) ||
				errors.Is(err, bucket.ErrTooLarge) {
				return unreadable(key, name, err)
			}
			if err != nil {
				return err
			}
			if size.Add(int64(len(data))) > runnerapi.LargestJournal {
				return decision.Reject(decision.Damaged, "the journal of state %s is larger than %d MiB: %s",
					key.Name, runnerapi.LargestJournal>>20, journalAdvice(key, "all in "+journalFolder(key)))
			}
			var part runnerapi.JournalEntries
			if err := json.Unmarshal(data, &part); err != nil {
				return unreadable(key, name, err)
			}
			batches[i] = batch{name, part.Entries}
			return nil
		})
	}
	return batches, group.Wait()
}

func unreadable(key types.NamespacedName, name string, err error) error {
	return decision.Reject(decision.Damaged, "a part of the journal of state %s cannot be read (bucket object %s): "+
		"%v. %s", key.Name, name, err, journalAdvice(key, "it"))
}

// journalAdvice explains how to continue without a journal.
func journalAdvice(key types.NamespacedName, what string) string {
	return fmt.Sprintf("Check by hand what an apply created that was killed (cairn logs %s shows it), remove %s from "+
		"the bucket, and plan again", key.Name, what)
}

// JournalResource is the last entry of a journal for an address.
type JournalResource struct {
	engine.Standing
	// Run and Attempt that wrote it.
	Run     string
	Attempt int32
}

// JournalResources returns what a journal has, compared with the current version of its state.
func (s *Journals) JournalResources(ctx context.Context, key types.NamespacedName) ([]JournalResource, error) {
	batches, err := s.openJournal(ctx, key)
	if err != nil || len(batches) == 0 {
		return nil, err
	}
	instances, err := s.currentInstances(ctx, key)
	if err != nil {
		return nil, err
	}
	var done []engine.Done
	var from []string // the batch of each
	for _, b := range batches {
		done = append(done, b.entries...)
		from = append(from, slices.Repeat([]string{b.name}, len(b.entries))...)
	}
	var all []JournalResource
	for _, standing := range engine.Standings(done, instances) {
		run, attempt := batchAttempt(key, from[standing.At])
		all = append(all, JournalResource{standing, run, attempt})
	}
	return all, nil
}

// currentInstances is what the current version of a state has; nil when it is unreadable.
func (s *Journals) currentInstances(ctx context.Context, key types.NamespacedName) (*engine.Instances, error) {
	st, err := s.fence.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	version, ok := decision.Current(st.Status)
	if !ok {
		return &engine.Instances{}, nil
	}
	instances, err := s.instances(ctx, key, version)
	if decision.ReasonOf(err) != "" {
		return nil, nil
	}
	return instances, err
}

// batchAttempt is the attempt that wrote the batch of that name.
func batchAttempt(key types.NamespacedName, name string) (run string, attempt int32) {
	var made int64
	var number int
	if _, err := fmt.Sscanf(path.Base(name), "%d-%d-%d-", &made, &number, &attempt); err != nil {
		return "", 0
	}
	return fmt.Sprintf("%s-%d", key.Name, number), attempt
}

// Unsaved returns the addresses of what exists according to the journal of a state that has no resource: all of it
// is missing.
func (s *Journals) Unsaved(ctx context.Context, key types.NamespacedName) ([]string, error) {
	journal, err := s.Journal(ctx, key)
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, d := range engine.Living(journal.Entries) {
		addresses = append(addresses, d.Address)
	}
	return addresses, nil
}
