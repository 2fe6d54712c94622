package attempt

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
)

// A mounted secret is one before any program has read it, and so is a value that a state marks as sensitive.
func TestAttemptRedactsMountedAndSensitiveValues(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"secret/password": "mounted-canary", "plain/zone": "eu-west-one"} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secrets := redact.New()
	j := &job{
		Executor: &Executor{Options: Options{Inputs: dir,
			Environ: []string{"TOKEN=variable-canary", "ZONE=eu-west-two"}}, secrets: secrets},
		order: runnerapi.Order{SecretDirs: []string{"secret"}, SecretEnv: []string{"TOKEN"}},
	}
	j.learn()
	for text, want := range map[string]bool{
		"mounted-canary": true, "variable-canary": true,
		"eu-west-one": false, "eu-west-two": false,
	} {
		if secrets.Hides(text) != want {
			t.Errorf("%s: hidden is %v", text, !want)
		}
	}
}

// A variable of the engine's in the environment is an expression, as in a variable file, unless the code says that it
// is a text.
func TestSecretsInAnExpressionOfTheEnvironment(t *testing.T) {
	secrets := redact.New()
	j := &job{
		Executor: &Executor{Options: Options{Inputs: t.TempDir(), Environ: []string{
			`TF_VAR_db={ user = "robot-canary", ports = [5432], pin = 12345678, keys = [<<EOT
heredoc-canary
EOT
] }`, "TF_VAR_text=plain canary words", "TF_VAR_call=upper(\"called-canary\")",
		}}, secrets: secrets},
		order: runnerapi.Order{SecretEnv: []string{"TF_VAR_db", "TF_VAR_text", "TF_VAR_call"}},
	}
	j.learn()
	for text, want := range map[string]bool{
		"robot-canary": true, "12345678": true, "heredoc-canary": true, "plain canary words": true,
		"5432": false, "plain": false, "canary": false, "words": false,
	} {
		if secrets.Hides(text) != want {
			t.Errorf("%s: hidden is %v", text, !want)
		}
	}
}

// This holds for an engine of the server too.
func TestHookRunsTheProgramOfTheEngine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	work, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := &workbench{job: &job{Executor: &Executor{work: work}}}
	if bin, err := w.linkEngine(); bin != "" || err != nil {
		t.Errorf("%q, %v", bin, err)
	}
	links := func() map[string]string {
		bin, err := w.linkEngine()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		entries, _ := os.ReadDir(bin)
		for _, entry := range entries {
			found[entry.Name()], _ = os.Readlink(filepath.Join(bin, entry.Name()))
		}
		return found
	}
	terraform := &tool{Engine: engine.Terraform, path: "/usr/bin/terraform"}
	w.engine = tool{Engine: engine.Terragrunt, path: "/engines/terragrunt-1.0.0/terragrunt", under: terraform}
	if diff := cmp.Diff(map[string]string{"terragrunt": "/engines/terragrunt-1.0.0/terragrunt",
		"terraform": "/usr/bin/terraform"}, links()); diff != "" {
		t.Error(diff)
	}
	w.engine = tool{Engine: engine.OpenTofu, path: "/engines/opentofu-1.12.6/tofu"}
	if diff := cmp.Diff(map[string]string{"tofu": "/engines/opentofu-1.12.6/tofu"}, links()); diff != "" {
		t.Error(diff)
	}
}
