package state

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
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
	data, st, err := s.read(ctx, key, current)
	if err != nil {
		return document.Output{}, "", err
	}
	d, err := document.Parse(data)
	if err != nil {
		return document.Output{}, "", refuse(Damaged, "state %s: %v", key, err)
	}
	if d.Resources == document.UnknownResources {
		return document.Output{}, "", refuse(Opaque, "the state of Stack %s is encrypted by its engine, or of a format that Cairn does not "+
			"know: its outputs cannot be passed on", key.Name)
	}
	o, ok := d.Outputs[name]
	switch {
	case !ok:
		return document.Output{}, "", ErrNone
	case unread(st.Status):
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
