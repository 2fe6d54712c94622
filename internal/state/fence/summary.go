package fence

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/document"
)

// Limits of the outputs that other Stacks can use. Others are left out of status.outputs, so that they never
// prevent the write of a state; a Stack that references one of those reports that it is not found.
const (
	longestOutputName = 253
	largestOutput     = 1 << 20
)

// Summarize reads a state file.
func (f *Fence) Summarize(key types.NamespacedName, data []byte) (decision.Summary, error) {
	d, err := document.Parse(data)
	if err != nil {
		return decision.Summary{}, err
	}
	return decision.Summary{
		Serial: d.Serial, Lineage: d.Lineage, SHA256: document.Digest(data), Size: int64(len(data)),
		Resources: d.Resources,
		Outdated:  d.Outdated, Outputs: f.Fingerprints(key, d.Outputs),
	}, nil
}

// Fingerprints of the outputs of a Stack. Without a key for them there are none.
func (f *Fence) Fingerprints(key types.NamespacedName, outputs map[string]document.Output) map[string]string {
	if f.Fingerprint == nil || len(outputs) == 0 {
		return nil
	}
	all := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		o := outputs[name]
		if len(all) < v1alpha1.MostOutputs && len(name) <= longestOutputName && len(o.Value) <= largestOutput {
			all[name] = f.Fingerprint(identity(o, key, name))
		}
	}
	return all
}

// identity is the same bytes for the same value of the same output, however it is written, and for nothing else. It
// contains the output's name because any user may have outputs of their own: if equal values there had equal
// fingerprints, a secret could be guessed.
func identity(o document.Output, key types.NamespacedName, name string) []byte {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(o.Value))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		value = nil // an output without a value: any other one was read as JSON before
	}
	data, err := json.Marshal([]any{key.Namespace, key.Name, name, o.Sensitive, value})
	if err != nil {
		panic(err) // what was read from JSON can be written as JSON
	}
	return data
}
