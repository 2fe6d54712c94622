package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/document"
)

// Outcome is what there is after a state was handed in.
type Outcome struct {
	v1alpha1.StateStatus
	// Unchanged: it was there already, and nothing was written.
	Unchanged bool
}

// Push makes data the current version of a state, for a person. Force lets it replace what it does not follow. shown
// is the version that they were shown as the current one; 0 takes any.
func (s *Store) Push(ctx context.Context, key types.NamespacedName, by string, data []byte, force bool, shown int64) (Outcome, error) {
	if !force { // what is pushed by force replaces the backup too
		if _, err := s.restore(ctx, key); err != nil {
			return Outcome{}, err
		}
	}
	return s.push(ctx, key, by, data, force, shown)
}

func (s *Store) push(ctx context.Context, key types.NamespacedName, by string, data []byte, force bool, shown int64) (Outcome, error) {
	summary, err := s.summarize(key, data)
	if err != nil {
		return Outcome{}, refuse(Invalid, "%v", err)
	}
	next := &candidate{summary, data, origin{by: by}}
	return s.commitForPerson(ctx, key, next, shown, func(w World) (Verdict, error) {
		v, serial := AdmitPush(w, summary, force)
		if w.Stranded != nil {
			next.from.after = w.Stranded.At.Time
		}
		return v, s.number(key, next, summary, data, serial)
	})
}

// Rollback makes a new version with the content of an older one, for a person. shown is as for Push.
func (s *Store) Rollback(ctx context.Context, key types.NamespacedName, by string, version, shown int64) (v1alpha1.StateStatus, error) {
	if _, err := s.restore(ctx, key); err != nil {
		return v1alpha1.StateStatus{}, err
	}
	data, err := s.ReadVersion(ctx, key, version)
	if errors.Is(err, ErrNone) {
		return v1alpha1.StateStatus{}, refuse(Missing, "version %d of state %s is not kept", version, key.Name)
	}
	if err != nil {
		return v1alpha1.StateStatus{}, err
	}
	content, err := document.Parse(data)
	if err != nil {
		return v1alpha1.StateStatus{}, refuse(Damaged, "version %d of state %s: %v", version, key.Name, err)
	}
	next := &candidate{from: origin{by: by}}
	made, err := s.commitForPerson(ctx, key, next, shown, func(w World) (Verdict, error) {
		v, serial := AdmitRollback(w, version, content)
		if v.Refusal != nil {
			return v, nil
		}
		return v, s.renumber(key, next, data, serial)
	})
	return made.StateStatus, err
}

// commitForPerson commits what a person asks for, as long as the version that they were shown is the current one.
func (s *Store) commitForPerson(
	ctx context.Context, key types.NamespacedName, next *candidate, shown int64, admit func(World) (Verdict, error),
) (Outcome, error) {
	unchanged := false
	now, err := s.commit(ctx, key, next, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		w, err := s.lookForPerson(ctx, st)
		if err != nil {
			return nil, err
		}
		if err := stillAt(st, shown); err != nil {
			return nil, err
		}
		v, err := admit(w)
		if v.Refusal != nil {
			return nil, v.Refusal
		}
		if unchanged = v.Status == nil; err == nil && !unchanged {
			err = s.noteHeld(ctx, key, st.Status)
		}
		return v.Status, err
	})
	return Outcome{now, unchanged}, err
}

// stillAt refuses what a person decided looking at another version than the current one.
func stillAt(st *v1alpha1.State, shown int64) error {
	if shown == 0 || st.Status.Version == shown {
		return nil
	}
	return refuse(Stale, "the state is at version %d by now, and version %d was looked at: look again", st.Status.Version, shown)
}

// Recover puts the state back that a user found in the log of a pod which could send it nowhere. base is as for Rescue. A state that
// forked is kept as the one that was rescued.
func (s *Store) Recover(ctx context.Context, key types.NamespacedName, by, base string, data []byte) (Outcome, error) {
	summary, err := s.summarize(key, data)
	if err != nil {
		return Outcome{}, refuse(Invalid, "what is in the log is %v", err)
	}
	if _, err := s.restore(ctx, key); err != nil {
		return Outcome{}, err
	}
	next := &candidate{summary, data, origin{by: by}}
	r := v1alpha1.RescuedState{
		SHA256: summary.SHA256, Serial: summary.Serial, Lineage: summary.Lineage, Base: base, At: metav1.NewTime(s.Now()),
	}
	made, err := s.commitForPerson(ctx, key, next, 0, func(w World) (Verdict, error) {
		if w.Over { // a pod that could send its state nowhere could not unlock it either
			w.Status.Lock = nil
		}
		if w.Stranded != nil {
			next.from.after = w.Stranded.At.Time
			r.Run, r.Attempt = w.Stranded.Run, w.Stranded.Attempt
		}
		v, serial := AdmitRecover(w, summary, base)
		return v, s.number(key, next, summary, data, serial)
	})
	var refused *Refusal
	if errors.As(err, &refused) && refused.Reason == Diverged {
		if kept := s.keepFork(ctx, key, r, data); kept != nil {
			return made, kept
		}
	}
	return made, err
}

// keepFork keeps a state beside the current version, unless another one waits already.
func (s *Store) keepFork(ctx context.Context, key types.NamespacedName, r v1alpha1.RescuedState, data []byte) error {
	if err := s.bucket.PutOnce(ctx, rescueKey(key, r.SHA256), data); err != nil {
		return fmt.Errorf("keep state %s: %w", key, err)
	}
	return s.update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		if waiting := st.Status.Rescued; waiting != nil {
			if waiting.SHA256 == r.SHA256 {
				return nil, nil
			}
			return nil, leftAlready(*waiting, r)
		}
		next := st.Status.DeepCopy()
		next.Rescued = &r
		return next, nil
	})
}

// Release ends the lock of that ID for a person, if its holder is known to be over.
func (s *Store) Release(ctx context.Context, key types.NamespacedName, id string) error {
	return s.update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		w, err := s.lookForPerson(ctx, st)
		if err != nil {
			return nil, err
		}
		v := AdmitRelease(w, id)
		if v.Refusal != nil && v.Refusal.Reason == Locked {
			return nil, s.whyHeld(ctx, key, st.Status.Lock)
		}
		if v.Refusal != nil {
			return nil, v.Refusal
		}
		return v.Status, nil
	})
}

// number makes a state the candidate, with another serial unless that is 0.
func (s *Store) number(key types.NamespacedName, next *candidate, summary Summary, data []byte, serial int64) error {
	if serial == 0 {
		next.Summary, next.data = summary, data
		return nil
	}
	return s.renumber(key, next, data, serial)
}

// renumber gives a candidate the bytes of a state with another serial.
func (s *Store) renumber(key types.NamespacedName, next *candidate, data []byte, serial int64) error {
	if next.data != nil && next.Serial == serial {
		return nil
	}
	counted, err := withSerial(data, serial)
	if err != nil {
		return refuse(Invalid, "the state cannot get serial %d: %v", serial, err)
	}
	summary, err := s.summarize(key, counted)
	if err != nil {
		return refuse(Invalid, "%v", err)
	}
	next.Summary, next.data = summary, counted
	return nil
}

// withSerial gives the same state with another serial: no other byte is another one.
func withSerial(data []byte, serial int64) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if t, err := decoder.Token(); err != nil || t != json.Delim('{') {
		return nil, document.ErrInvalid
	}
	var out bytes.Buffer
	copied := int64(0)
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		if name == "serial" {
			end := decoder.InputOffset()
			out.Write(data[copied : end-int64(len(value))])
			out.WriteString(strconv.FormatInt(serial, 10))
			copied = end
		}
	}
	out.Write(data[copied:])
	d, err := document.Parse(out.Bytes())
	if err != nil {
		return nil, err
	}
	if d.Serial != serial {
		return nil, fmt.Errorf("%w: it has two serials", document.ErrInvalid)
	}
	return out.Bytes(), nil
}

// lookForPerson gathers what is decided from when a person asks.
func (s *Store) lookForPerson(ctx context.Context, st *v1alpha1.State) (World, error) {
	w := World{Status: *st.Status.DeepCopy(), Now: metav1.NewTime(s.Now())}
	key := client.ObjectKeyFromObject(st)
	stack, err := s.stack(ctx, key)
	if err != nil {
		return w, err
	}
	w.Backend = stack.Spec.Backend.Name()
	if lock := w.Status.Lock; lock != nil {
		if w.Over, err = s.over(ctx, key.Namespace, lock); err != nil {
			return w, err
		}
	}
	return w, s.lookAtRuns(ctx, key, &w)
}

// lookAtRuns finds the Run of a Stack that is at work, and where a state was lost last.
func (s *Store) lookAtRuns(ctx context.Context, key types.NamespacedName, w *World) error {
	runs := &v1alpha1.RunList{}
	for {
		err := s.live.List(ctx, runs, client.InNamespace(key.Namespace), client.Limit(page), client.Continue(runs.Continue))
		if err != nil {
			return fmt.Errorf("list Runs in %s: %w", key.Namespace, err)
		}
		for i := range runs.Items {
			if run := &runs.Items[i]; run.Spec.Stack.Name == key.Name {
				w.lookAt(run)
			}
		}
		if runs.Continue == "" {
			return nil
		}
	}
}

func (w *World) lookAt(run *v1alpha1.Run) {
	n := len(run.Status.Attempts)
	if n == 0 {
		return
	}
	last := run.Status.Attempts[n-1]
	if last.FinishedAt == nil || run.Status.Phase == v1alpha1.PhaseAwaitingApproval {
		w.Busy = run
		return
	}
	lost := last.Failure != nil && last.Failure.Class == v1alpha1.FailureStateNotSaved
	if lost && (w.Stranded == nil || w.Stranded.At.Before(last.FinishedAt)) {
		w.Stranded = &Stranded{Run: run.Name, Attempt: last.Number, At: *last.FinishedAt}
	}
}

// whyHeld says why the holder of a lock is not known to be over, and what to do.
func (s *Store) whyHeld(ctx context.Context, key types.NamespacedName, lock *v1alpha1.Lock) error {
	refusal := lockedBy(lock)
	if lock.PodUID == "" {
		return refusal
	}
	run, err := s.run(ctx, key.Namespace, lock.Run)
	if err != nil {
		return err
	}
	pod, err := s.podOf(ctx, key.Namespace, lock, run)
	if err != nil {
		return err
	}
	gone, err := s.podGone(ctx, key.Namespace, pod, lock.PodUID)
	if err != nil {
		return err
	}
	refusal.Message = heldSince(lock, run, pod, gone)
	return refusal
}

func heldSince(lock *v1alpha1.Lock, run *v1alpha1.Run, pod string, gone bool) string {
	who := fmt.Sprintf("%s holds the lock since %s", holderName(lock), clock(lock.Since))
	switch {
	case gone:
		return fmt.Sprintf("%s. Its pod is gone, but Run %s does not say yet that it is over: the operator sees to that within a "+
			"moment; look whether it runs, and ask again", who, lock.Run)
	case finished(lock, run):
		return fmt.Sprintf("%s. It is over, but its pod %s is not known to be gone, and what still runs there could go on: delete "+
			"the pod; if its node is lost, make sure that it is off, and delete the pod by force", who, pod)
	}
	return fmt.Sprintf("%s and works in pod %s: let it end, or cancel it with cairn cancel %s", who, pod, lock.Run)
}
