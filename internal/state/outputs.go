package state

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/document"
)

// Output returns an output of the current version of a Stack's state, and its fingerprint in that version: a new
// one would differ if the key was lost since. It is empty for an output that exceeds the limits. ErrNone: there is
// no such output or no state. A Rejection: the state is unreadable. Any other error is transient.
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
		return document.Output{}, "", decision.Reject(decision.Opaque, "the state of Stack %s is encrypted by its "+
			"engine, or of a format that Cairn does not know: its outputs cannot be passed on", key.Name)
	}
	o, ok := d.Outputs[name]
	if !ok {
		return document.Output{}, "", ErrNone
	}
	return o, st.Status.Outputs[name], nil
}
