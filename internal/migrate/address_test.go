package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

func nameOf(s v1alpha1.Stack) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]address{
		"https://git.example.com/acme/infra.git":                      {URL: "https://git.example.com/acme/infra.git", Host: "git.example.com"},
		"https://git.example.com/acme/infra.git//net?ref=v1":          {URL: "https://git.example.com/acme/infra.git", Host: "git.example.com", Path: "net", Ref: "v1"},
		"git::https://git.example.com/acme/infra//a/b/?ref=x&depth=1": {URL: "https://git.example.com/acme/infra", Host: "git.example.com", Path: "a/b", Ref: "x", More: []string{"depth"}},
		"git@git.example.com:acme/infra.git//net?ref=main":            {URL: "git@git.example.com:acme/infra.git", Host: "git.example.com", Path: "net", Ref: "main"},
		"git::git@git.example.com:acme/infra.git":                     {URL: "git@git.example.com:acme/infra.git", Host: "git.example.com"},
		"git::ssh://git@git.example.com:2222/acme/infra.git//net":     {URL: "ssh://git@git.example.com:2222/acme/infra.git", Host: "git.example.com", Path: "net"},
		"git::git.example.com:acme/infra.git":                         {URL: "git@git.example.com:acme/infra.git", Host: "git.example.com"},
		"github.com/acme/infra//net":                                  {URL: "https://github.com/acme/infra", Host: "github.com", Path: "net"},
		"https://github.com/acme/infra/net/prod":                      {URL: "https://github.com/acme/infra", Host: "github.com", Path: "net/prod"},
		"https://me:secret@git.example.com/acme/infra.git?ref=main":   {URL: "https://git.example.com/acme/infra.git", Host: "git.example.com", Ref: "main", Secret: true},
		"ssh://git:secret@git.example.com/acme/infra.git":             {URL: "ssh://git@git.example.com/acme/infra.git", Host: "git.example.com", Secret: true},
		"https://attacker.example.com/https://github.com/acme/infra":  {URL: "https://attacker.example.com/https:", Host: "attacker.example.com", Path: "github.com/acme/infra"},
		"git+ssh://git@git.example.com/acme/infra.git":                {URL: "ssh://git@git.example.com/acme/infra.git", Host: "git.example.com"},
	} {
		got, err := readAddress(text)
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
		if got, err := readAddress(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v; want %q", text, got, err, want)
		}
	}
}

func TestBackends(t *testing.T) {
	p, err := readBackend(`
terraform {
  required_version = ">= 1.0"
  backend "s3" {
    bucket  = "b"
    encrypt = true
    retries = 3
    secret_key = "shh"
    endpoints  = { s3 = "https://s3.example.com" }
    assume_role {
      role_arn = "arn"
    }
  }
}`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, value := range p.Config {
		got[name] = string(value.Raw)
	}
	want := map[string]string{
		"bucket": `"b"`, "encrypt": "true", "retries": "3", "endpoints": `{"s3":"https://s3.example.com"}`, "assume_role": `{"role_arn":"arn"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" || p.Type != "s3" || !cmp.Equal(p.Secrets, []string{"secret_key"}) {
		t.Error(diff, p.Type, p.Secrets)
	}
	for text, want := range map[string]string{
		`backend "s3" {}` + "\n" + `backend "gcs" {}`: "2 backend blocks",
		`terraform {}`:                    "0 backend blocks",
		`backend "local" {}`:              "gone with its pod",
		`backend "remote" {}`:             "runs the engine elsewhere",
		"terraform {\n cloud {}\n}":       "runs the engine elsewhere",
		`backend "s3" { bucket = var.b }`: "the value of bucket is no plain value",
		`backend "s3" { bucket = `:        "not HCL",
		`backend "s3" { bucket = "` + strings.Repeat("a", 20_000) + `" }`: "the value of bucket is no plain value",
		"backend \"s3\" {\n assume_role {\n password = \"shh\"\n }\n}":    "the secret password in it",
	} {
		if _, err := readBackend(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "shh") {
			t.Errorf("%.80s: got %v, want %q", text, err, want)
		}
	}
}

// What people paste into a shell has names in it that others chose.
func TestCommandsAreSafeToPaste(t *testing.T) {
	got := makeSecret("n", "a; rm -rf /", "identity", fromKey("n", "it's $(x)", "key\"}}"), "known_hosts", knownHosts("-o ProxyCommand=x"))
	want := `kubectl -n n create secret generic 'a; rm -rf /' --from-file=identity=<(kubectl -n n get secret 'it'\''s $(x)' -o go-template='{{index .data "key\"}}" | base64decode}}') --from-file=known_hosts=<(ssh-keyscan '-o ProxyCommand=x')`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
