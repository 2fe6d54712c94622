package convert

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddresses(t *testing.T) {
	for text, want := range map[string]Address{
		"https://git.example.com/acme/infra.git": {URL: "https://git.example.com/acme/infra.git",
			Host: "git.example.com"},
		"https://git.example.com/acme/infra.git//net?ref=v1": {URL: "https://git.example.com/acme/infra.git",
			Host: "git.example.com", Path: "net", Ref: "v1"},
		"git::https://git.example.com/acme/infra//a/b/?ref=x&depth=1": {URL: "https://git.example.com/acme/infra",
			Host: "git.example.com", Path: "a/b", Ref: "x", More: []string{"depth"}},
		"git@git.example.com:acme/infra.git//net?ref=main": {URL: "git@git.example.com:acme/infra.git",
			Host: "git.example.com", Path: "net", Ref: "main"},
		"git::git@git.example.com:acme/infra.git": {URL: "git@git.example.com:acme/infra.git",
			Host: "git.example.com"},
		"git::ssh://git@git.example.com:2222/acme/infra.git//net": {
			URL: "ssh://git@git.example.com:2222/acme/infra.git", Host: "git.example.com", Path: "net"},
		"git::git.example.com:acme/infra.git": {URL: "git@git.example.com:acme/infra.git",
			Host: "git.example.com"},
		"github.com/acme/infra//net": {URL: "https://github.com/acme/infra",
			Host: "github.com", Path: "net"},
		"https://github.com/acme/infra/net/prod": {URL: "https://github.com/acme/infra",
			Host: "github.com", Path: "net/prod"},
		"https://me:secret@git.example.com/acme/infra.git?ref=main": {URL: "https://git.example.com/acme/infra.git",
			Host: "git.example.com", Ref: "main", Secret: true},
		"ssh://git:secret@git.example.com/acme/infra.git": {URL: "ssh://git@git.example.com/acme/infra.git",
			Host: "git.example.com", Secret: true},
		"https://attacker.example.com/https://github.com/acme/infra": {URL: "https://attacker.example.com/https:",
			Host: "attacker.example.com", Path: "github.com/acme/infra"},
		"git+ssh://git@git.example.com/acme/infra.git": {URL: "ssh://git@git.example.com/acme/infra.git",
			Host: "git.example.com"},
	} {
		got, err := ReadAddress(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for text, want := range map[string]string{
		"terraform-aws-modules/vpc/aws":           "no address of git",
		"s3::https://s3.example.com/bucket/a.zip": "s3:: is no git",
		"./local":     "no address of git",
		"file:///etc": "file:// is not taken",
		"https://git.example.com/acme/infra.git//../etc": "leaves the repository",
		"":                 "no address of git",
		"https://?ref=%zz": "cannot be read",
		"https://":         "cannot be read",
	} {
		if got, err := ReadAddress(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v; want %q", text, got, err, want)
		}
	}
}
