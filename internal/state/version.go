package state

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/document"
)

// Summary is what is written down of a state.
type Summary struct {
	Serial    int64
	Lineage   string
	SHA256    string
	Size      int64
	Resources int32
	// Outputs are the fingerprints of the outputs, by name.
	Outputs map[string]string
}

// summarize reads a state file.
func (s *Store) summarize(key types.NamespacedName, data []byte) (Summary, error) {
	d, err := document.Parse(data)
	if err != nil {
		return Summary{}, err
	}
	return Summary{
		Serial: d.Serial, Lineage: d.Lineage, SHA256: digest(data), Size: int64(len(data)), Resources: d.Resources,
		Outputs: s.fingerprints(key, d.Outputs),
	}, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// origin is who a version is from: an attempt of a Run, or a person.
type origin struct {
	run     string
	attempt int32
	by      string
	// after is what it was written after, whatever the clock says.
	after time.Time
}

func (h Holder) origin() origin { return origin{run: h.Run, attempt: h.Attempt, by: h.User} }

// version is the next version of a state. Where its bytes are is filled in once they are there.
func (s Summary) version(number int64, from origin, at metav1.Time) v1alpha1.StateVersion {
	return v1alpha1.StateVersion{
		Version: number, Serial: s.Serial, SHA256: s.SHA256, Size: s.Size,
		Run: from.run, Attempt: from.attempt, By: from.by, At: at,
	}
}

// accept makes a version the current one, and says which old ones are no longer kept. A rescued state that becomes a
// version is no longer waiting.
func accept(st v1alpha1.StateStatus, s Summary, v v1alpha1.StateVersion, keep int) (v1alpha1.StateStatus, []v1alpha1.StateVersion) {
	next := *st.DeepCopy()
	next.Version, next.Serial, next.Lineage = v.Version, s.Serial, s.Lineage
	next.SHA256, next.Size, next.Resources = s.SHA256, s.Size, s.Resources
	next.UpdatedBy, next.Outputs, next.OutputsVersion = v.Run, s.Outputs, v.Version
	if next.Rescued != nil && next.Rescued.SHA256 == s.SHA256 {
		next.Rescued = nil
	}
	var dropped []v1alpha1.StateVersion
	next.Versions, dropped = prune(append(next.Versions, v), keep)
	return next, dropped
}

// pruneBatch is how many versions past the ones that are kept may gather, so that not every write has to clean up.
const pruneBatch = 5

// prune keeps the newest versions. It drops none, or at least a batch.
func prune(versions []v1alpha1.StateVersion, keep int) (kept, dropped []v1alpha1.StateVersion) {
	extra := len(versions) - max(keep, 1)
	if extra < pruneBatch {
		return versions, nil
	}
	return versions[extra:], versions[:extra]
}

// current is the version that counts.
func current(st v1alpha1.StateStatus) (v1alpha1.StateVersion, bool) {
	if n := len(st.Versions); n > 0 && st.Versions[n-1].Version == st.Version {
		return st.Versions[n-1], true
	}
	return v1alpha1.StateVersion{}, false
}

func holderName(lock *v1alpha1.Lock) string {
	switch {
	case lock.By != "" && lock.Who != "":
		return fmt.Sprintf("user %s (%s)", lock.By, lock.Who)
	case lock.By != "":
		return "user " + lock.By
	case lock.Run == "":
		return lock.Who
	}
	return fmt.Sprintf("attempt %d of Run %s", lock.Attempt, lock.Run)
}
