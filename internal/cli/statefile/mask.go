package statefile

import (
	"encoding/json"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/redact"
)

// Masked is what stands where a secret is.
const Masked = "(sensitive value)"

// A Secret is a value that is not for everybody who looks at the screen. It is Masked in JSON, and so in YAML.
type Secret struct{ value any }

// MarshalJSON never gives the value.
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal(Masked) }

// Reveal gives a value with all its secrets in clear.
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

// masker finds what is secret in values: what the state marks, what equals or contains that elsewhere, and texts whose name says it.
//
// The last is a guess, and needed: the marks are those of variables and of sensitive(). What a provider itself calls
// sensitive, as the result of random_password, OpenTofu knows from the provider and does not write into the state.
type masker struct{ secrets *redact.Redactor }

// step is one on the way from a resource's attributes to a value in them: get_attr with a name, or index.
type step struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// key gives what the step enters: a name, or the number of an element.
func (s step) key() string {
	key, _ := decode(s.Value) // what cannot be read leads nowhere, and so all is hidden
	if typed, ok := key.(map[string]any); ok && s.Type == "index" {
		key = typed["value"]
	}
	switch key := key.(type) {
	case string:
		return key
	case json.Number:
		return key.String()
	}
	return ""
}

// mask gives v with its secrets as Secrets. A way that cannot be followed to its end, as with a set, hides all that the
// value is part of.
func (m masker) mask(v any, ways [][]step, named bool) any {
	if inner, ok := dynamic(v); ok {
		typed := v.(map[string]any)
		return map[string]any{"value": m.mask(inner, ways, named), "type": typed["type"]}
	}
	into := map[string][][]step{}
	for _, way := range ways {
		if len(way) == 0 {
			return Secret{v}
		}
		if !enters(v, way[0].key()) {
			return Secret{v}
		}
		into[way[0].key()] = append(into[way[0].key()], way[1:])
	}
	switch v := v.(type) {
	case map[string]any:
		masked := make(map[string]any, len(v))
		for name, value := range v {
			masked[name] = m.mask(value, into[name], named || tells(name))
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

func enters(v any, key string) bool {
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

// dynamic gives the value of what may have any type: it is written as {"value": ..., "type": ...}.
func dynamic(v any) (any, bool) {
	typed, ok := v.(map[string]any)
	if !ok || len(typed) != 2 || !isType(typed["type"]) {
		return nil, false
	}
	inner, ok := typed["value"]
	return inner, ok
}

// isType says whether a value is a type as the engine writes it: "string", or ["list", "string"]. A map that has a type
// and a value, as of a DNS record, has none such.
func isType(v any) bool {
	if list, ok := v.([]any); ok && len(list) == 2 {
		return slices.Contains([]any{"list", "set", "map", "object", "tuple"}, list[0])
	}
	return slices.Contains([]any{"string", "number", "bool", "dynamic"}, v)
}

// telling are parts of names that say that a text is secret.
var telling = []string{
	"password", "passwd", "passphrase", "secret", "token", "private_key", "privatekey", "access_key", "api_key", "apikey",
	"credential", "connection_string",
}

func tells(name string) bool {
	name = strings.ToLower(name)
	for _, part := range telling {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
