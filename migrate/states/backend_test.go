package states

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBackends(t *testing.T) {
	p, err := ReadBackend(`
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
		"bucket": `"b"`, "encrypt": "true", "retries": "3", "endpoints": `{"s3":"https://s3.example.com"}`,
		"assume_role": `{"role_arn":"arn"}`,
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
		if _, err := ReadBackend(text); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "shh") {
			t.Errorf("%.80s: got %v, want %q", text, err, want)
		}
	}
}
