package stack

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"cairn.dev/cairn/internal/cli/session"
)

func TestSeveralNames(t *testing.T) {
	s := session.New(genericiooptions.IOStreams{}, "cairn")
	for args, want := range map[string]struct {
		err     string
		changes bool
		done    string
	}{
		"net":              {"", false, "net"},
		"net dns":          {"", false, "net dns"},
		"bad dns worse":    {"bad failed\nworse failed", false, "bad dns worse"},
		"net waits dns":    {"", true, "net waits dns"},
		"waits bad":        {"bad failed", false, "waits bad"},
		"net interrupt no": {"interrupt failed", false, "net interrupt"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var done []string
		cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true,
			RunE: func(_ *cobra.Command, args []string) error {
				name := args[0]
				done = append(done, name)
				switch name {
				case "waits":
					return session.ErrChanges
				case "interrupt":
					cancel()
					fallthrough
				case "bad", "worse":
					return errors.New(name + " failed")
				}
				return nil
			}}
		s.Several(cmd, session.CompleteStacks)
		cmd.SetArgs(strings.Fields(args))
		err := cmd.ExecuteContext(ctx)
		cancel()
		switch {
		case strings.Join(done, " ") != want.done:
			t.Errorf("%s: done are %v", args, done)
		case errors.Is(err, session.ErrChanges) != want.changes:
			t.Errorf("%s: %v", args, err)
		case !want.changes && (err == nil) != (want.err == ""), !want.changes && err != nil && err.Error() != want.err:
			t.Errorf("%s: %v, want %s", args, err, want.err)
		}
	}
	approve := approveCommand(s)
	approve.SilenceErrors, approve.SilenceUsage = true, true
	approve.SetArgs([]string{"net", "dns", "--digest", "sha256:1"})
	if err := approve.ExecuteContext(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "--digest is of the plan of one Run") {
		t.Errorf("one digest for two Runs: %v", err)
	}
}
