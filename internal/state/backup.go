package state

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/fence"
	"cairn.dev/cairn/internal/state/storage"
)

// The bucket has a backup of each State: the current version, and what is needed to find out whether a State is
// behind it. When etcd is restored, Kubernetes goes back in time, and a plan from the State alone would create
// resources again. So before each plan the State is compared with its backup, and restored from it if it is behind.
//
// A backup tool restores objects without their status, so that a State may name no version while the Secrets of its
// versions exist. Then a user decides.
//
// A backup is written once its version is the current one. If that write failed, or an older one overtook it, it is
// written again before the journal of that apply ends: what is in no backup is in the journal.

// largestHead is more than any Backup.
const largestHead = 64 << 10

// Backups are the copies of States in the bucket: they are read where a version is damaged, and restore a State that
// Kubernetes lost.
type Backups struct {
	fence  *fence.Fence
	bucket storage.Bucket
}

// compared is a State beside its backup.
type compared struct {
	now v1alpha1.StateStatus
	// backup is nil when there is none; body is what follows its head.
	backup *decision.Backup
	body   io.ReadCloser
	stack  types.UID
	// unnamed is the last version that Secrets have and the State does not name.
	unnamed storage.Found
	// lost is the version that the State had when it lost its status; 0 if it did not.
	lost int64
	decision.Relation
}

// compare reads a State and its backup. Who is given no error closes the body.
func (s *Backups) compare(ctx context.Context, key types.NamespacedName) (c compared, err error) {
	st, err := s.fence.Get(ctx, key)
	if err != nil {
		return c, err
	}
	if decision.IsEnding(st.Status) { // its bytes and its backup may be gone already
		return compared{now: st.Status, body: io.NopCloser(bytes.NewReader(nil)), Relation: decision.Same}, nil
	}
	c.now, c.Relation = st.Status, decision.Older
	if decision.MayBeRestored(c.now) {
		c.lost = st.Spec.Version
	}
	if c.backup, c.body, err = s.openBackup(ctx, key); err != nil {
		return c, err
	}
	if c.unnamed, err = s.unnamed(ctx, key, c.now); err != nil {
		return c, errors.Join(err, c.body.Close())
	}
	switch first := c.now.Version == 0; {
	case c.unnamed.Version > 0 && (c.backup == nil || c.backup.Version < c.unnamed.Version):
		c.Relation = decision.Unnamed
	case c.lost > 0 && c.backup == nil:
		c.Relation = decision.Lost
	case first && c.backup == nil:
		c.Relation = decision.Same
	case first: // the owner of the backup matters only for an empty State
		if c.stack, err = s.stackUID(ctx, key); err != nil {
			return c, errors.Join(err, c.body.Close())
		}
		fallthrough
	case c.backup != nil:
		c.Relation = decision.CompareBackup(c.now, *c.backup, c.stack)
	}
	return c, nil
}

// unnamed returns the last version that Secrets have of a State that names none; one without a number if there is none.
func (s *Backups) unnamed(ctx context.Context, key types.NamespacedName, now v1alpha1.StateStatus) (storage.Found,
	error) {
	if !decision.MayBeRestored(now) {
		return storage.Found{}, nil
	}
	found, err := s.fence.Versions.Find(ctx, key)
	if err != nil || len(found) == 0 {
		return storage.Found{}, err
	}
	return found[len(found)-1], nil
}

// restore restores a State from its backup if it is behind, and writes the backup from the State otherwise. It returns
// the status afterwards. A damaged version is not an error here: reads of it fail, and a user can replace it.
func (s *Backups) restore(ctx context.Context, key types.NamespacedName) (v1alpha1.StateStatus, error) {
	c, err := s.compare(ctx, key)
	if err != nil {
		return c.now, err
	}
	defer c.body.Close()
	return s.restoreFrom(ctx, key, c)
}

func (s *Backups) restoreFrom(ctx context.Context, key types.NamespacedName, c compared) (v1alpha1.StateStatus, error) {
	var err error
	switch c.Relation {
	case decision.Unnamed:
		err = decision.RejectUnnamed(key, c.unnamed.Version)
	case decision.Lost:
		err = decision.RejectLost(key, c.lost)
	case decision.Forked:
		err = decision.RejectBackup(key, *c.backup)
	case decision.Newer:
		return s.restoreBackup(ctx, key, *c.backup, c.body, c.stack)
	case decision.Older:
		if err = s.backUpCurrent(ctx, key, c.now); decision.ReasonOf(err) == decision.Damaged {
			err = nil
		}
	}
	return c.now, err
}

// inBackup updates the backup if it is behind the State, and reports whether the backup has what the State has.
func (s *Backups) inBackup(ctx context.Context, key types.NamespacedName) (bool, error) {
	c, err := s.compare(ctx, key)
	if err != nil {
		return false, err
	}
	_ = c.body.Close() // only its head was read
	if c.Relation == decision.Older {
		err = s.backUpCurrent(ctx, key, c.now)
	}
	return !slices.Contains([]decision.Relation{decision.Forked, decision.Unnamed, decision.Lost}, c.Relation), err
}

// restoreBackup writes the bucket's state as the current version, and returns the status afterwards.
func (s *Backups) restoreBackup(
	ctx context.Context, key types.NamespacedName, b decision.Backup, body io.Reader, stack types.UID,
) (v1alpha1.StateStatus, error) {
	data, err := s.unpackBackup(ctx, key, b, body)
	if err != nil {
		return v1alpha1.StateStatus{}, err
	}
	summary, err := s.fence.Summarize(key, data)
	if err != nil {
		return v1alpha1.StateStatus{}, decision.Reject(decision.Damaged, "the backup of state %s: %v", key, err)
	}
	next := &fence.Candidate{Summary: summary, Data: data, From: fence.Origin{Run: b.Run, Attempt: b.Attempt, By: b.By}}
	now, err := s.fence.Commit(ctx, key, next, func(st *v1alpha1.State) (*v1alpha1.StateStatus, int64, error) {
		switch decision.CompareBackup(st.Status, b, stack) {
		case decision.Forked:
			return nil, 0, decision.RejectBackup(key, b)
		case decision.Newer:
		default:
			return nil, 0, nil
		}
		status, err := s.unlocked(ctx, st)
		if err != nil {
			return nil, 0, err
		}
		status.InputsDigest, status.StackUID = b.Inputs, b.AppliedBy
		return status, decision.FirstSerial(st.Status, summary), nil
	})
	if err == nil {
		s.fence.Log.Warn("a state was behind its backup, as when etcd is restored, and was put back from it",
			"namespace", key.Namespace, "stack", key.Name,
			"serial", summary.Serial, "written", b.At, "run", b.Run)
	}
	return now.StateStatus, err
}

// unpackBackup reads the bytes: those after the head, or those of the version when its home is the bucket.
func (s *Backups) unpackBackup(
	ctx context.Context, key types.NamespacedName, b decision.Backup, body io.Reader,
) ([]byte, error) {
	if b.Storage == v1alpha1.StateStorageBucket {
		return s.fence.Versions.Get(ctx, key, b.StateVersion)
	}
	packed, err := io.ReadAll(io.LimitReader(body, MaxSize+1<<20))
	if err != nil && !errors.Is(err, bucket.ErrDamaged) {
		return nil, fmt.Errorf("read the backup of state %s: %w", key, err)
	}
	data, err := storage.Unpack(packed, b.StateVersion)
	if err != nil {
		return nil, decision.Reject(decision.Damaged, "the backup of state %s (bucket object %s) is damaged: %v. "+
			"Restore it from a backup of the bucket; to continue without it, remove it", key, backupKey(key), err)
	}
	return data, nil
}

// readBackup returns the bytes of a version from the backup; nil if that is of another version, or damaged too.
func (s *Backups) readBackup(ctx context.Context, key types.NamespacedName, v v1alpha1.StateVersion) ([]byte, error) {
	b, body, err := s.openBackup(ctx, key)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if b == nil || b.SHA256 != v.SHA256 {
		return nil, nil
	}
	data, err := s.unpackBackup(ctx, key, *b, body)
	if decision.ReasonOf(err) == decision.Damaged {
		return nil, nil
	}
	return data, err
}

// openBackup reads the head of a backup; nil when there is none. An unreadable backup counts as none: it can
// restore nothing.
func (s *Backups) openBackup(ctx context.Context, key types.NamespacedName) (*decision.Backup, io.ReadCloser, error) {
	none := io.NopCloser(bytes.NewReader(nil))
	file, err := s.bucket.Read(ctx, backupKey(key))
	var line []byte
	if err == nil {
		body := bufio.NewReaderSize(file, largestHead)
		if line, err = body.ReadSlice('\n'); err == nil {
			b := &decision.Backup{}
			if err = json.Unmarshal(line, b); err == nil {
				return b, struct {
					io.Reader
					io.Closer
				}{body, file}, nil
			}
			err = fmt.Errorf("%w: %w", bucket.ErrDamaged, err)
		}
		_ = file.Close() // only read from
	}
	switch {
	case errors.Is(err, bucket.ErrNotFound):
		return nil, none, nil
	case errors.Is(err, bucket.ErrWrongKey), errors.Is(err, bucket.ErrDamaged),
		errors.Is(err, bufio.ErrBufferFull), errors.Is(err, io.EOF):
		s.fence.Log.Warn("the backup of a state cannot be read",
			"namespace", key.Namespace, "stack", key.Name, "object", backupKey(key), "error", err)
		return nil, none, nil
	}
	return nil, none, fmt.Errorf("read the backup of state %s: %w", key, err)
}

// backUp writes the backup of a version that counts.
func (s *Backups) backUp(ctx context.Context, key types.NamespacedName, now v1alpha1.StateStatus, data []byte) error {
	return s.backUpFor(ctx, key, "", now, data)
}

// backUpFor is backUp for the Stack with a UID. It reads the Stack if that is empty.
func (s *Backups) backUpFor(
	ctx context.Context, key types.NamespacedName, stack types.UID, now v1alpha1.StateStatus, data []byte,
) (err error) {
	version, ok := decision.Current(now)
	if !ok {
		return nil
	}
	if stack == "" {
		if stack, err = s.stackUID(ctx, key); err != nil {
			return err
		}
	}
	b := decision.Backup{
		Stack: stack, AppliedBy: now.StackUID, Inputs: now.InputsDigest, Lineage: now.Lineage, StateVersion: version,
	}
	file, err := json.Marshal(b)
	if err != nil {
		return err
	}
	file = append(file, '\n')
	if version.Storage != v1alpha1.StateStorageBucket {
		packed, err := storage.Pack(data)
		if err != nil {
			return err
		}
		file = append(file, packed...)
	}
	return s.bucket.Put(ctx, backupKey(key), file)
}

// backUpCurrent writes the backup of the current version again.
func (s *Backups) backUpCurrent(ctx context.Context, key types.NamespacedName, now v1alpha1.StateStatus) error {
	version, ok := decision.Current(now)
	if !ok {
		return nil
	}
	data, err := s.fence.Versions.Get(ctx, key, version)
	if err != nil {
		return err
	}
	return s.backUp(ctx, key, now, data)
}

func (s *Backups) stackUID(ctx context.Context, key types.NamespacedName) (types.UID, error) {
	stack := &v1alpha1.Stack{}
	err := s.fence.Live.Get(ctx, key, stack)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("read Stack %s: %w", key, err)
	}
	return stack.UID, nil
}

// Restore takes a backup that Cairn does not take by itself, or the last version in Secrets if the State names none,
// for a user; or discards both, so that the State counts as it is. It is for the administrators of an installation,
// since the backup may have the state of another owner's Stack of the same name.
func (s *Users) Restore(
	ctx context.Context, key types.NamespacedName, by string, forget bool,
) (v1alpha1.StateStatus, error) {
	st, err := s.fence.Get(ctx, key)
	if err != nil {
		return v1alpha1.StateStatus{}, err
	}
	b, body, err := s.backups.openBackup(ctx, key)
	if err != nil {
		return v1alpha1.StateStatus{}, err
	}
	defer body.Close()
	unnamed, err := s.backups.unnamed(ctx, key, st.Status)
	if err != nil {
		return v1alpha1.StateStatus{}, err
	}
	if lost := forget && st.Status.Version == 0 && st.Spec.Version > 0; b == nil && unnamed.Version == 0 && !lost {
		return v1alpha1.StateStatus{}, decision.Reject(decision.Missing, "there is no backup of state %s", key)
	}
	if w, err := s.snapshotForUser(ctx, st, 0); err != nil {
		return v1alpha1.StateStatus{}, err
	} else if rejection := decision.CheckIdle(w); rejection != nil {
		return v1alpha1.StateStatus{}, rejection
	}
	if forget {
		if st.Status.Version > 0 {
			return st.Status, s.backups.backUpCurrent(ctx, key, st.Status)
		}
		return st.Status, s.forget(ctx, key, b != nil, unnamed)
	}
	if b == nil || b.Version < unnamed.Version {
		return s.restoreUnnamed(ctx, key, by, unnamed)
	}
	data, err := s.backups.unpackBackup(ctx, key, *b, body)
	if err != nil {
		return v1alpha1.StateStatus{}, err
	}
	made, err := s.push(ctx, key, by, data, true, st.Status.Version)
	return made.StateStatus, err
}

// forget deletes the backup of a State that names no version, and the Secrets of its versions.
func (s *Users) forget(ctx context.Context, key types.NamespacedName, backup bool, unnamed storage.Found) error {
	if backup {
		if err := s.bucket.Delete(ctx, backupKey(key)); err != nil {
			return err
		}
	}
	if unnamed.Version > 0 {
		names, err := s.fence.Versions.ListSecrets(ctx, key, false)
		if err != nil {
			return err
		}
		if err := s.fence.Versions.DeleteSecrets(ctx, key.Namespace, names); err != nil {
			return err
		}
	}
	return s.fence.Update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		if st.Spec.Version == 0 || st.Status.Version > 0 {
			return nil, nil
		}
		st.Spec.Version = 0
		return st.Status.DeepCopy(), nil
	})
}

// restoreUnnamed has a State name the version that is in Secrets. It keeps its number, so that these are its Secrets
// again.
func (s *Users) restoreUnnamed(
	ctx context.Context, key types.NamespacedName, by string, found storage.Found,
) (v1alpha1.StateStatus, error) {
	data, err := s.fence.Versions.Read(ctx, key, found)
	if err != nil {
		return v1alpha1.StateStatus{}, err
	}
	summary, err := s.fence.Summarize(key, data)
	if err != nil {
		return v1alpha1.StateStatus{}, decision.Reject(decision.Damaged, "version %d of state %s: %v", found.Version,
			key, err)
	}
	next := &fence.Candidate{Summary: summary, Data: data, From: fence.Origin{By: by}}
	made, err := s.commitForUser(ctx, key, next, 0, func(w decision.Snapshot) (*v1alpha1.StateStatus, int64, error) {
		if !decision.MayBeRestored(w.Status) {
			return nil, 0, decision.Reject(decision.Stale, "state %s has version %d by now: check it again", key,
				w.Status.Version)
		}
		status, serial, err := decision.AdmitPush(w, summary, true)
		if status != nil {
			status.Version = found.Version - 1
		}
		return status, serial, err
	})
	return made.StateStatus, err
}

// backupKey is the backup of a state, among its versions.
func backupKey(key types.NamespacedName) string { return storage.BucketFolder(key) + "/backup" }

// describe writes what the bucket has of the current version beside its bytes: its backup and its index. Both can be
// written again.
func (s *Backups) describe(
	ctx context.Context, key types.NamespacedName, stack types.UID, now v1alpha1.StateStatus, data []byte,
) {
	log := s.fence.Log.With("namespace", key.Namespace, "stack", key.Name, "version", now.Version)
	if err := s.backUpFor(ctx, key, stack, now, data); err != nil {
		log.Warn("a state has no backup for now", "error", err)
	}
	if now.Resources <= 0 {
		return
	}
	if _, err := s.writeIndex(ctx, key, data); err != nil {
		log.Warn("a state has no index for now", "error", err)
	}
}
