package state

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/storage"
)

// maxInputs is how large the variable files of an apply may be together.
const maxInputs = 32 << 20

// KeepInputs keeps the variable files that an apply is about to use, under the digest of the apply's inputs. They
// count when the apply takes the lock, since status.inputsDigest then names that digest.
func (s *Attempts) KeepInputs(ctx context.Context, key types.NamespacedName, inputs string, data []byte) error {
	if err := s.bucket.Put(ctx, inputsKey(key, inputs), data); err != nil {
		return fmt.Errorf("keep the inputs of %s: %w", key, err)
	}
	return nil
}

// AdoptInputs records inputs as those of the State without an apply: a plan found that they change nothing.
func (s *Attempts) AdoptInputs(ctx context.Context, key types.NamespacedName, inputs string) error {
	before, adopted := "", false
	err := s.fence.UpdateRecent(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		if adopted = st.ResourceVersion != "" && st.Status.InputsDigest != inputs; !adopted {
			return nil, nil
		}
		before = st.Status.InputsDigest
		next := st.Status.DeepCopy()
		next.InputsDigest = inputs
		return next, nil
	})
	if err == nil && adopted {
		s.collectInputs(ctx, key, before, inputs)
	}
	return err
}

// collectInputs deletes the variable files of earlier applies, once a State names inputs. Those that it named before
// stay beside them: if Kubernetes goes back in time, the State names them again.
func (s *Attempts) collectInputs(ctx context.Context, key types.NamespacedName, before, now string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storage.CollectTime)
	defer cancel()
	stored, err := s.bucket.List(ctx, inputsFolder(key))
	for _, old := range stored {
		if err == nil && old != inputsKey(key, now) && old != inputsKey(key, before) {
			err = s.bucket.Delete(ctx, old)
		}
	}
	if err != nil {
		s.fence.Log.Warn("variables of earlier applies stay for now", "state", key.String(), "error", err)
	}
}

// KeptInputs returns the variable files that were kept for inputs.
func (s *Attempts) KeptInputs(ctx context.Context, key types.NamespacedName, inputs string) ([]byte, error) {
	data, err := s.bucket.Get(ctx, inputsKey(key, inputs), maxInputs)
	if errors.Is(err, bucket.ErrNotFound) {
		return nil, decision.Reject(decision.Missing, "the variables of the last apply are not in the bucket: "+
			"restore the bucket from its backup, or set spec.deletionPolicy of the Stack to Orphan")
	}
	return data, err
}

// inputsFolder holds the variable files of a Stack's applies.
func inputsFolder(key types.NamespacedName) string {
	return "variables/" + key.Namespace + "/" + key.Name
}

func inputsKey(key types.NamespacedName, digest string) string {
	return inputsFolder(key) + "/" + digest
}
