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
