package state

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/bucket"
	"cairn.dev/cairn/internal/state/decision"
)

// maxInputs is how large the variable files of an apply may be together.
const maxInputs = 32 << 20

// KeepInputs keeps the variable files that an apply is about to use, under the digest of the apply's inputs. They
// count when the apply takes the lock, since status.inputsDigest then names that digest; those that it named until
// then stay beside them, and all others go.
func (s *Store) KeepInputs(ctx context.Context, key types.NamespacedName, inputs string, data []byte) error {
	if err := s.bucket.Put(ctx, inputsKey(key, inputs), data); err != nil {
		return fmt.Errorf("keep the inputs of %s: %w", key, err)
	}
	st, err := s.get(ctx, key)
	if err != nil {
		return err
	}
	kept, err := s.bucket.List(ctx, inputsFolder(key))
	if err != nil {
		return fmt.Errorf("keep the inputs of %s: %w", key, err)
	}
	for _, old := range kept {
		if old == inputsKey(key, inputs) || old == inputsKey(key, st.Status.InputsDigest) {
			continue
		}
		if err := s.bucket.Delete(ctx, old); err != nil {
			return fmt.Errorf("keep the inputs of %s: %w", key, err)
		}
	}
	return nil
}

// AdoptInputs records inputs as those of the State without an apply: a plan found that they change nothing.
func (s *Store) AdoptInputs(ctx context.Context, key types.NamespacedName, inputs string) error {
	return s.update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		if st.ResourceVersion == "" || st.Status.InputsDigest == inputs {
			return nil, nil
		}
		next := st.Status.DeepCopy()
		next.InputsDigest = inputs
		return next, nil
	})
}

// KeptInputs returns the variable files that were kept for inputs.
func (s *Store) KeptInputs(ctx context.Context, key types.NamespacedName, inputs string) ([]byte, error) {
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
