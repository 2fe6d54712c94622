package main

import (
	"os"
	"strings"
	"testing"
)

func TestLiteralsAreCode(t *testing.T) {
	for text, want := range map[string]string{
		"Needs --local and spec.env, or *.tfvars; <none> [x": "Needs `--local` and `spec.env`, or " +
			"`*.tfvars`; \\<none> \\[x",
		"Default: none. Example: [{name: net}].": "Default: none. Example: " +
			"`[{name: net}]`.",
		"Example: net-7.":                      "Example: `net-7`.",
		"already `code --x {y}`":               "already `code --x {y}`",
		"see docs/how-to/state.md#a-b, please": "see [how-to/state.md](../how-to/state.md#a-b), please",
		"(https://github.com/cairn-dev/cairn/blob/main/docs/how-to/state.md)": "([how-to/" +
			"state.md](../how-to/state.md))",
		"not {{ closed": `not \{\{ closed`,
	} {
		if got := prose(text); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// TestPagesAreComplete checks what each page is for: `make verify` compares all of it with the files in docs/reference.
func TestPagesAreComplete(t *testing.T) {
	for name, wants := range map[string][]string{
		"api.md": {
			"### StackSpec", "| `apply` | string |", "One of `Manual`, `Automatic`, `Never`.", "### StackStatus",
			"### RepositorySpec",
			"list of EnvVar of Kubernetes", "Maximum: 100.", "the name of a Stack can have at most 200 characters",
		},
		"cli.md": {
			"### cairn apply", "#### cairn state pull", "### cairn dev", "| `--split` |",
			"| `-n`, `--namespace` | string |",
			"cairn approve net-7 --digest",
		},
		"environment.md": {"| `--drift-interval` | duration |", "| `--web-listen` |", "`CAIRN_PLAN_FILE`"},
		"helm.md":        {"| `mode` | string | `\"serve\"` |", "| `bucket.persistence.size` |", "## oidc"},
		"http-api.md": {"`POST /api/v1/namespaces/{namespace}/runs/{name}/approve`", "[Approval](#approval)",
			"### Approval"},
		"metrics.md": {"| `cairn_runs_finished_total` | counter | cause, class, operation, result |"},
	} {
		text, err := page(os.DirFS("../.."), name, pages[name])
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
		if strings.Contains(text, "--signin-links") {
			t.Errorf("%s has a hidden flag", name)
		}
	}
}
