package app

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cairn.dev/cairn/internal/operator"
)

// A wrong value is rejected with the flag's name before anything is read: it would silently act as another value.
func TestWrongFlagsAreRejected(t *testing.T) {
	for _, flag := range []string{
		"--state-storage=secret", "--state-storage=", "--state-storage=S3",
		"--max-runs=-1", "--max-runs-per-namespace=-1",
		"--drift-interval=-1h", "--drift-interval=9s", "--drift-interval=8761h", "--drift-interval=daily",
		"--runner-patience=0s", "--runner-patience=-10m",
		"--session-lifetime=0s", "--session-lifetime=-1h",
		"--server-url=cairn.cairn-system.svc:8443", "--server-url=http://cairn.cairn-system.svc:8443",
		"--server-url=https://:8443", "--server-url=",
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

// Operator and server accept each other's flags, so that both can be started with the same ones, and show only their
// own in the help.
func TestHelpShowsOwnFlags(t *testing.T) {
	flags := newProcessFlags(operator.Options{})
	own := map[string]*pflag.FlagSet{"operator": flags.operatorFlags(), "server": flags.serverFlags()}
	for _, cmd := range []*cobra.Command{serveCommand(), operatorCommand(), serverCommand()} {
		var usage bytes.Buffer
		cmd.SetOut(&usage)
		if err := cmd.Usage(); err != nil {
			t.Fatal(err)
		}
		for process, set := range own {
			set.VisitAll(func(f *pflag.Flag) {
				if cmd.Flags().Lookup(f.Name) == nil {
					t.Errorf("%s does not accept --%s", cmd.Name(), f.Name)
				}
				want := !f.Hidden && (cmd.Name() == process || cmd.Name() == "serve")
				if strings.Contains(usage.String(), "--"+f.Name+" ") != want {
					t.Errorf("the help of %s shows --%s: %v, want %v", cmd.Name(), f.Name, !want, want)
				}
			})
		}
	}
}

// Operator and server can be started with the same flags, as by extraArgs of the chart. Only the operator is divided.
func TestServerIgnoresShards(t *testing.T) {
	for process, o := range map[string]operator.Options{"operator": {Operator: true}, "server": {Server: true}} {
		p := newProcessFlags(o)
		f := pflag.NewFlagSet(process, pflag.ContinueOnError)
		p.addTo(f)
		if err := f.Parse([]string{"--runner-patience=10m", "--total-shards=2", "--shard=1"}); err != nil {
			t.Fatal(err)
		}
		got, err := p.options()
		if err != nil {
			t.Fatal(err)
		}
		want := operator.Shard{}
		if o.Operator {
			want = operator.Shard{Index: 1, Total: 2}
		}
		if got.Shard != want {
			t.Errorf("%s is part %+v, want %+v", process, got.Shard, want)
		}
	}
}
