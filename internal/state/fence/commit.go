package fence

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/document"
)

// Outcome is what there is after a state was handed in.
type Outcome struct {
	v1alpha1.StateStatus
	// Unchanged: it was there already, and nothing was written.
	Unchanged bool
}

// Candidate is a state that is to become a version.
type Candidate struct {
	decision.Summary
	// Data is the state file.
	Data []byte
	From Origin
}

// An Admission decides whether a candidate may follow the version that a State has. It returns the status that the new
// version is added to, nil for none, and the serial that the candidate gets; 0 leaves it the one that it has.
type Admission func(*v1alpha1.State) (status *v1alpha1.StateStatus, serial int64, err error)

// Commit stores the bytes first and then declares them the current version, if admit still admits them for the
// State that is swapped. Bytes are stored again only when they or the version's number changed in between. It returns
// the status afterwards.
func (f *Fence) Commit(
	ctx context.Context, key types.NamespacedName, given *Candidate, admit Admission,
) (Outcome, error) {
	return f.CommitFrom(ctx, key, nil, given, admit)
}

// CommitFrom is Commit that first decides on a remembered State, as UpdateFrom does.
func (f *Fence) CommitFrom(
	ctx context.Context, key types.NamespacedName, remembered *v1alpha1.State, given *Candidate, admit Admission,
) (Outcome, error) {
	var next Candidate
	var version v1alpha1.StateVersion // whose bytes are stored
	var dropped []v1alpha1.StateVersion
	var now Outcome
	err := f.UpdateFrom(ctx, key, remembered, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		now, dropped = Outcome{st.Status, true}, nil
		admitted, serial, err := admit(st)
		if err != nil || admitted == nil {
			return nil, err
		}
		if serial == 0 {
			next = *given
		} else if next.Serial != serial {
			if next, err = f.renumber(key, *given, serial); err != nil {
				return nil, err
			}
		}
		if number := admitted.Version + 1; version.Version != number || version.SHA256 != next.SHA256 {
			stored, err := f.Versions.Put(ctx, key, newVersion(number, next.Summary, given.From, f.date(given.From)),
				next.Data)
			if err != nil {
				return nil, err
			}
			version = stored
		}
		now.StateStatus, dropped = decision.Accept(*admitted, next.Summary, version, f.Keep)
		now.Unchanged = false
		return &now.StateStatus, nil
	})
	if err == nil && !now.Unchanged {
		f.Written(ctx, key, given.From.Stack, now.StateStatus, next.Data)
	}
	if err == nil && len(dropped) > 0 {
		f.Versions.Collect(ctx, key, now.StateStatus, dropped)
	}
	return now, err
}

// renumber is the candidate with another serial.
func (f *Fence) renumber(key types.NamespacedName, given Candidate, serial int64) (Candidate, error) {
	data, err := document.WithSerial(given.Data, serial)
	if err != nil {
		return Candidate{}, decision.Reject(decision.Invalid, "the state cannot get serial %d: %v", serial, err)
	}
	summary, err := f.Summarize(key, data)
	if err != nil {
		return Candidate{}, decision.Reject(decision.Invalid, "%v", err)
	}
	return Candidate{summary, data, given.From}, nil
}

// date is when a version counts as written. Of it whole seconds are kept.
func (f *Fence) date(from Origin) metav1.Time {
	at := f.Now()
	if !at.Truncate(time.Second).After(from.After) {
		at = from.After.Add(time.Second)
	}
	return metav1.NewTime(at)
}

// Origin is the author of a version: an attempt of a Run, or a user.
type Origin struct {
	Run     string
	Attempt int32
	By      string
	// Stack is the UID of the Stack of the Run; empty where it is not known.
	Stack types.UID
	// After is the time of what it was written after, whatever the clock shows.
	After time.Time
}

// OriginOf is the origin of what the holder of a lock writes.
func OriginOf(by decision.Holder) Origin {
	return Origin{Run: by.Run, Attempt: by.Attempt, By: by.User}
}

// newVersion is the next version of a state. Where its bytes are is filled in once they are there.
func newVersion(number int64, s decision.Summary, from Origin, at metav1.Time) v1alpha1.StateVersion {
	return v1alpha1.StateVersion{
		Version: number, Serial: s.Serial, SHA256: s.SHA256, Size: s.Size, Resources: &s.Resources,
		Run: from.Run, Attempt: from.Attempt, By: from.By, At: at,
	}
}
