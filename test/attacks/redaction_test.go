package attacks

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os/exec"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/engine/redact"
)

// A hook prints a private key with the programs of its image. Nothing of it that is
// longer than what also is in other texts may be in the log.
func TestEncodedSecretIsMaskedInLogs(t *testing.T) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	secret := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	secrets := redact.New()
	secrets.Add(secret)
	around := strings.NewReplacer(redact.Mask, "", "null_resource.a (local-exec): ", "", "2026-11-25T15:24:47Z ", "",
		"  | ", "")
	for _, script := range []string{
		"cat", "base64", "base64 -w 64", "base64 -w 0", "{ echo user; cat; } | base64", "base64 | tr '+/' '-_'",
		"base32", "base32 -w 0",
		"od -An -v -tx1", "od -An -v -tx1 | tr -d ' '", "od -An -v -tx1 | tr -d ' \\n' | fold -w 60",
		"od -An -v -tx1 | tr ' a-f' ':A-F'",
		"base64 | sed 's/^/null_resource.a (local-exec): /'", "base64 | sed 's/^/  | /'",
		"base64 | sed 's/^/2026-11-25T15:24:47Z /'",
		`od -An -v -tx1 | tr -d '\n' | sed 's/ /%/g'`, `od -An -v -tx1 | tr -d '\n' | sed 's/ /\\x/g'`,
		`od -An -v -tx1 | tr -d '\n' | sed 's/ \(..\)/\&#x\1;/g'`,
		"tr '\\n' ' '", "base64 -w 20 | tr '\\n' '\\r'",
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		cmd.Stdin = strings.NewReader(secret)
		var log strings.Builder
		w := secrets.Writer(&log)
		cmd.Stdout = w
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if rest := around.Replace(log.String()); len(rest) > 16 {
			t.Errorf("%s: the log has %q", script, log.String())
		}
	}
}
