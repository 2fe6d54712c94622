package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/state/storage"
)

// namesState reports that a spec names a Secret with a state, in whatever field. Cairn has these not in its cache, so
// that an optional reference would seem to be a missing one, and the pod would have the state of another Stack.
func namesState(spec *v1alpha1.StackSpec) (*decision.Problem, error) {
	data, err := json.Marshal(spec) // with the template of the pod, which is JSON
	if err != nil {
		return nil, err
	}
	// Each reconciliation gets here: what cannot have such a name, since it has the text neither as it is nor escaped,
	// is not parsed.
	if !bytes.Contains(data, []byte(storage.SecretNamePart)) && !bytes.ContainsRune(data, '\\') {
		return nil, nil
	}
	var fields any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	name, field := stateSecret(fields, "spec", false)
	if name == "" {
		return nil, nil
	}
	return &decision.Problem{Reason: v1alpha1.ReasonSecretNotFound,
		Message: fmt.Sprintf("Secret %s holds a state, which "+
			"no Stack can read (%s): use an output of that Stack (valueFrom.stack), or correct the Stack", name,
			field)}, nil
}

// stateSecret returns the first name of a Secret with a state that a value at a path has, and where. Each field that
// refers to a Secret, in Stacks and in pods, has that word in its name or in that of a field around it.
func stateSecret(v any, at string, secret bool) (name, field string) {
	switch v := v.(type) {
	case string:
		if secret && storage.IsSecretName(v) {
			return v, at
		}
	case []any:
		for i, item := range v {
			if name, field := stateSecret(item, fmt.Sprintf("%s[%d]", at, i), secret); name != "" {
				return name, field
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			named := secret || strings.Contains(strings.ToLower(key), "secret")
			if name, field := stateSecret(v[key], at+"."+key, named); name != "" {
				return name, field
			}
		}
	}
	return "", ""
}
