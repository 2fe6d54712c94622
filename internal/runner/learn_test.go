package runner

import (
	"os"
	"path/filepath"
	"testing"

	"cairn.dev/cairn/internal/redact"
	"cairn.dev/cairn/internal/store"
)

// What is mounted as a secret is one before any program has seen it, and so is what a state marks as sensitive.
func TestWhatAnAttemptLearns(t *testing.T) {
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
	a := &attempt{
		runner: &runner{Options: Options{Inputs: dir, Environ: []string{"TOKEN=variable-canary", "ZONE=eu-west-two"}}, secrets: secrets},
		order:  store.Order{SecretDirs: []string{"secret"}, SecretEnv: []string{"TOKEN"}},
	}
	a.learn()
	(&proxy{secrets: secrets}).learn([]byte(`{"serial":1,"lineage":"x","outputs":{"a":{"value":"output-canary","sensitive":true},"b":{"value":"eu-west-six"}},
		"resources":[{"instances":[{"attributes":{"password":"attribute-canary","name":"eu-west-ten"},"sensitive_attributes":[[{"type":"get_attr","value":"password"}]]}]}]}`))
	for text, want := range map[string]bool{
		"mounted-canary": true, "variable-canary": true, "output-canary": true, "attribute-canary": true,
		"eu-west-one": false, "eu-west-two": false, "eu-west-six": false, "eu-west-ten": false,
	} {
		if secrets.Hides(text) != want {
			t.Errorf("%s: hidden is %v", text, !want)
		}
	}
}

// A variable of the engine's in the environment is an expression, as in a variable file, unless the code says that it is a text.
func TestSecretsInAnExpressionOfTheEnvironment(t *testing.T) {
	secrets := redact.New()
	a := &attempt{
		runner: &runner{Options: Options{Inputs: t.TempDir(), Environ: []string{
			`TF_VAR_db={ user = "robot-canary", ports = [5432], pin = 12345678, keys = [<<EOT
heredoc-canary
EOT
] }`, "TF_VAR_text=plain canary words", "TF_VAR_call=upper(\"called-canary\")",
		}}, secrets: secrets},
		order: store.Order{SecretEnv: []string{"TF_VAR_db", "TF_VAR_text", "TF_VAR_call"}},
	}
	a.learn()
	for text, want := range map[string]bool{
		"robot-canary": true, "12345678": true, "heredoc-canary": true, "plain canary words": true,
		"5432": false, "plain": false, "canary": false, "words": false,
	} {
		if secrets.Hides(text) != want {
			t.Errorf("%s: hidden is %v", text, !want)
		}
	}
}
