package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/document"
)

// Limits of the outputs that other Stacks can use. What is past them is left out of status.outputs, which must never be
// what a state cannot be written for; a Stack that wants one of those does not find it there and is told so.
const (
	longestOutputName = 253
	largestOutput     = 1 << 20
)

// Output gives an output of the current version of a Stack's state, and the fingerprint that is stored for it in that
// version: one that is made now would be another if the key was lost since. It is empty for an output that is past the
// limits. ErrNone says that there is no such output or no state; a Refusal, that the state cannot be looked into; any other
// error may pass, as when FillOutputs is still to come.
func (s *Store) Output(ctx context.Context, key types.NamespacedName, name string) (document.Output, string, error) {
	data, st, err := s.read(ctx, key, decision.Current)
	if err != nil {
		return document.Output{}, "", err
	}
	d, err := document.Parse(data)
	if err != nil {
		return document.Output{}, "", decision.Reject(decision.Damaged, "state %s: %v", key, err)
	}
	if d.Resources == document.Unknown {
		return document.Output{}, "", decision.Reject(decision.Opaque, "the state of Stack %s is encrypted by its engine, or of a format that Cairn does not "+
			"know: its outputs cannot be passed on", key.Name)
	}
	o, ok := d.Outputs[name]
	switch {
	case !ok:
		return document.Output{}, "", ErrNone
	case lacksFingerprints(st.Status):
		return document.Output{}, "", fmt.Errorf("state %s: the outputs of version %d have no fingerprints yet", key, st.Status.Version)
	}
	return o, st.Status.Outputs[name], nil
}

// fingerprints of the outputs of a Stack. Without a key for them there are none.
func (s *Store) fingerprints(key types.NamespacedName, outputs map[string]document.Output) map[string]string {
	if s.Fingerprint == nil || len(outputs) == 0 {
		return nil
	}
	all := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		o := outputs[name]
		if len(all) < v1alpha1.MostOutputs && len(name) <= longestOutputName && len(o.Value) <= largestOutput {
			all[name] = s.Fingerprint(identity(o, key, name))
		}
	}
	return all
}

// identity is the same bytes for the same value, however it is written, of the same output, and for nothing else. It
// names the output because anybody may have outputs of their own: equal values there must not have equal fingerprints,
// or a secret could be guessed by trying.
func identity(o document.Output, key types.NamespacedName, name string) []byte {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(o.Value))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		value = nil // an output without a value: what is there was read as JSON before
	}
	data, err := json.Marshal([]any{key.Namespace, key.Name, name, o.Sensitive, value})
	if err != nil {
		panic(err) // what was read from JSON can be written as JSON
	}
	return data
}

// FillOutputs puts the fingerprints of the current version's outputs into a State that was written without, by a Cairn
// that knew of none. It is one write, also when there are no outputs; of a State that lacks none it is none. A Refusal
// says that the bytes are damaged.
func (s *Store) FillOutputs(ctx context.Context, key types.NamespacedName) error {
	data, st, err := s.read(ctx, key, decision.Current)
	if errors.Is(err, ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	if !lacksFingerprints(st.Status) {
		return nil
	}
	d, err := document.Parse(data)
	if err != nil {
		return decision.Reject(decision.Damaged, "state %s: %v", key, err)
	}
	before := st.DeepCopy()
	st.Status.Outputs, st.Status.OutputsVersion = s.fingerprints(key, d.Outputs), st.Status.Version
	// No swap: that takes the mark of an orphan away, which this has to leave. Whoever was faster made an event.
	err = s.client.Patch(ctx, st, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("fingerprint the outputs of state %s: %w", key, err)
	}
	return nil
}

// unread says that nobody looked at the outputs of the current version yet. Those of a state that its engine encrypts
// nobody can. Fingerprints without the version that they are of are from the first Cairn that made any.
func lacksFingerprints(st v1alpha1.StateStatus) bool {
	return st.Resources != document.Unknown && st.Outputs == nil && st.OutputsVersion != st.Version
}
