package process

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/redact"
)

// TestEnvironmentThatIsTooLargeIsRejected checks that an attempt that can never start is not retried.
func TestEnvironmentThatIsTooLargeIsRejected(t *testing.T) {
	cmd := exec.Command("true")
	cmd.Env = []string{"SMALL=1", "TF_VAR_users=" + strings.Repeat("canary", 100_000)}
	_, err := (&Launcher{Secrets: redact.New(), Text: io.Discard}).Run(t.Context(), cmd,
		Options{Name: "OpenTofu", Stop: Interrupt})
	var rejected *engine.Rejection
	if !errors.As(err, &rejected) ||
		!strings.Contains(rejected.Reason, "the largest variable is TF_VAR_users with 600000 bytes") ||
		strings.Contains(rejected.Reason, "canary") {
		t.Errorf("%v", err)
	}
}
