package app

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/operator"
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

// A half takes the flags of the other one too, so that both can be started with the same ones, and shows only its own.
func TestTheHalvesShowTheirOwnFlags(t *testing.T) {
	all := processCommand(&cobra.Command{Use: "serve"}, operator.Options{Operator: true, Server: true})
	for _, name := range append(append([]string{}, operatorFlags...), serverFlags...) {
		if all.Flags().Lookup(name) == nil {
			t.Errorf("there is no flag %s", name)
		}
	}
	for _, half := range []*cobra.Command{operatorCommand(), serverCommand()} {
		var usage bytes.Buffer
		half.SetOut(&usage)
		if err := half.Usage(); err != nil {
			t.Fatal(err)
		}
		own, others := operatorFlags, serverFlags
		if half.Name() == "server" {
			own, others = others, own
		}
		for _, name := range own {
			if !strings.Contains(usage.String(), "--"+name+" ") {
				t.Errorf("%s does not show --%s", half.Name(), name)
			}
		}
		for _, name := range others {
			if strings.Contains(usage.String(), "--"+name+" ") || half.Flags().Lookup(name) == nil {
				t.Errorf("%s shows --%s, or does not take it", half.Name(), name)
			}
		}
	}
}
