package repository

import (
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestWebhookSecrets(t *testing.T) {
	for name, tt := range map[string]struct {
		keys    []string
		data    map[string]string
		want    string
		problem string
	}{
		"the only key":              {nil, map[string]string{"token": "a"}, "a", ""},
		"the only key has no value": {nil, map[string]string{"token": ""}, "", "has no value"},
		"several keys, and none named": {nil, map[string]string{"token": "a", "password": "b"}, "",
			"has 2 keys: name those"},
		"no key":                     {nil, nil, "", "has 0 keys"},
		"the key that is named":      {[]string{"token"}, map[string]string{"token": "a", "password": "b"}, "a", ""},
		"both, while one is rotated": {[]string{"new", "old"}, map[string]string{"old": "a", "new": "b"}, "b a", ""},
		"one of them is not there yet": {[]string{"new", "old"}, map[string]string{"old": "a"}, "a",
			"signed with key new are denied"},
		"a key that the Secret has not": {[]string{"token"}, map[string]string{"password": "b"}, "",
			"has no value for it"},
	} {
		data := map[string][]byte{}
		for key, value := range tt.data {
			data[key] = []byte(value)
		}
		hook := &v1alpha1.WebhookSource{Secret: v1alpha1.ObjectRef{Name: "hook"}, Keys: tt.keys}
		secrets, problem := WebhookSecrets(hook, data)
		var got []string
		for _, secret := range secrets {
			got = append(got, string(secret))
		}
		if strings.Join(got, " ") != tt.want || !strings.Contains(problem, tt.problem) ||
			(problem == "") != (tt.problem == "") {
			t.Errorf("%s: %q, %q; want %q, %q", name, got, problem, tt.want, tt.problem)
		}
	}
}
