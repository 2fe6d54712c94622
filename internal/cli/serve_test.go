package cli

import (
	"io"
	"strings"
	"testing"
)

// What cannot be meant is refused by its name, before anything is looked for: another value would be taken in its place, and nobody told.
func TestFlagsThatMakeNoSense(t *testing.T) {
	for _, flag := range []string{
		"--state-storage=secret", "--state-storage=", "--state-storage=S3",
		"--max-runs=-1", "--max-runs-per-namespace=-1",
		"--drift-interval=-1h", "--drift-interval=9s", "--drift-interval=8761h", "--drift-interval=daily",
		"--runner-patience=0s", "--runner-patience=-10m",
		"--session-lifetime=0s", "--session-lifetime=-1h",
		"--store-url=cairn.cairn-system.svc:8443", "--store-url=http://cairn.cairn-system.svc:8443", "--store-url=https://:8443", "--store-url=",
		"--namespace=", "--namespace=Cairn",
		"--log-level=loud", "--log-level=",
	} {
		t.Run(flag, func(t *testing.T) {
			cmd := operatorCommand()
			cmd.SetArgs([]string{"--kubeconfig=/nowhere", flag})
			cmd.SetOut(io.Discard)
			cmd.SetErr(io.Discard)
			name, _, _ := strings.Cut(flag, "=")
			if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v", err)
			}
		})
	}
}
