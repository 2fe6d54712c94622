package statefile

import (
	"encoding/json"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/redact"
)

// Masked replaces a secret.
const Masked = "(sensitive value)"

// A Secret is a sensitive value. It is Masked in JSON and in YAML.
type Secret struct{ value any }

// MarshalJSON returns Masked.
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal(Masked) }

// Reveal returns a value with its secrets in clear text.
func Reveal(v any) any {
	switch v := v.(type) {
	case Secret:
		return v.value
	case map[string]any:
		open := make(map[string]any, len(v))
		for name, value := range v {
			open[name] = Reveal(value)
		}
		return open
	case []any:
		open := make([]any, len(v))
		for i, value := range v {
			open[i] = Reveal(value)
		}
		return open
	}
	return v
}

// masker masks values that the state marks as sensitive, values that contain those, and texts of attributes whose
// names suggest a secret.
//
// The name is a heuristic, and needed: the state has only the marks of variables and of sensitive(). OpenTofu does not
// write to it which attributes a provider declares as sensitive, such as the result of random_password.
type masker struct{ secrets *redact.Redactor }

// mask returns v with Secrets for the values at the sensitive paths. A path that does not exist, such as into a set,
// masks the whole value.
func (m masker) mask(v any, paths [][]engine.PathStep, named bool) any {
	if inner, ok := dynamic(v); ok {
		typed := v.(map[string]any)
		return map[string]any{"value": m.mask(inner, paths, named), "type": typed["type"]}
	}
	into := map[string][][]engine.PathStep{}
	for _, path := range paths {
		if len(path) == 0 || !hasKey(v, path[0].Key()) {
			return Secret{v}
		}
		into[path[0].Key()] = append(into[path[0].Key()], path[1:])
	}
	switch v := v.(type) {
	case map[string]any:
		masked := make(map[string]any, len(v))
		for name, value := range v {
			masked[name] = m.mask(value, into[name], named || isSecretName(name))
		}
		return masked
	case []any:
		masked := make([]any, len(v))
		for i, value := range v {
			masked[i] = m.mask(value, into[index(i)], named)
		}
		return masked
	case string:
		if v != "" && (named || m.secrets.Hides(v)) {
			return Secret{v}
		}
	}
	return v
}

func hasKey(v any, key string) bool {
	switch v := v.(type) {
	case map[string]any:
		_, ok := v[key]
		return ok
	case []any:
		for i := range v {
			if index(i) == key {
				return true
			}
		}
	}
	return false
}

// dynamic returns the value of a dynamic type, which is written as {"value": ..., "type": ...}.
func dynamic(v any) (any, bool) {
	typed, ok := v.(map[string]any)
	if !ok || len(typed) != 2 || !isType(typed["type"]) {
		return nil, false
	}
	inner, ok := typed["value"]
	return inner, ok
}

// isType returns whether a value is a type as the engine writes it: "string", or ["list", "string"]. It distinguishes
// dynamic types from other maps with the keys type and value, such as a DNS record.
func isType(v any) bool {
	if list, ok := v.([]any); ok && len(list) == 2 {
		return slices.Contains([]any{"list", "set", "map", "object", "tuple"}, list[0])
	}
	return slices.Contains([]any{"string", "number", "bool", "dynamic"}, v)
}

// secretNames are parts of the names of secret texts.
var secretNames = []string{
	"password", "passwd", "passphrase", "secret", "token", "private_key", "privatekey", "access_key",
	"api_key", "apikey",
	"credential", "connection_string",
}

func isSecretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(name, part) })
}
