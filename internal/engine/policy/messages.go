package policy

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"cairn.dev/cairn/internal/base/shorten"
)

// longest is how long a message may be.
const longest = 1024

// messages reads the value of a rule: a set or a list of texts, or of objects with msg. Where it is anything else that
// is not false it is a finding too: a rule of another form must not be ignored.
func messages(value any, rule string) []string {
	switch v := value.(type) {
	case nil:
		return nil
	case bool:
		if !v {
			return nil
		}
		return []string{rule}
	case []any:
		var all []string
		for _, each := range v {
			all = append(all, message(each))
		}
		return all
	case map[string]any:
		if _, ok := v["msg"]; ok {
			return []string{message(v)}
		}
		var all []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if v[key] == true {
				all = append(all, key) // deny[msg] := true
				continue
			}
			all = append(all, messages(v[key], key)...)
		}
		return all
	}
	return []string{message(value)}
}

// message returns the message of a finding.
func message(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case map[string]any:
		if msg, ok := v["msg"]; ok {
			return message(msg)
		}
	}
	data, err := json.Marshal(value)
	if err != nil {
		return "its value is not JSON"
	}
	return string(data)
}

// cut returns a message that is safe to be shown, and not too long.
func cut(s string) string {
	return shorten.Bytes(strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(strings.TrimSpace(s[:min(len(s), 2*longest)]), "?")), longest)
}
