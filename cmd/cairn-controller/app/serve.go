package app

import (
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"cairn.dev/cairn/internal/engine/policy"
	"cairn.dev/cairn/internal/operator"
)

func serveCommand() *cobra.Command {
	return processCommand(&cobra.Command{
		Use:   "serve",
		Short: "Run the operator and the server in one process",
		Long: `Runs all of Cairn in one process: the operator, which reconciles, and the server, which serves runners, users
and Git providers. To run them separately, see cairn-controller operator and cairn-controller server.`,
	}, operator.Options{Operator: true, Server: true})
}

func operatorCommand() *cobra.Command {
	return processCommand(&cobra.Command{
		Use:   "operator",
		Short: "Run only the operator, which reconciles Stacks and Runs",
		Long: `Runs the operator of Cairn. Active Runs continue without it, and so do reads of users and the commands for
states, which the server answers. Of several operators with --leader-elect one is the leader.

It needs the bucket and the namespace that cairn-controller server has. Flags of the server are accepted and ignored,
so that both can be started with the same flags.`,
	}, operator.Options{Operator: true})
}

func serverCommand() *cobra.Command {
	return processCommand(&cobra.Command{
		Use:   "server",
		Short: "Run only the server, for runners, users and Git providers",
		Long: `Runs the server of Cairn: orders, states, plans and logs for runners, the API for users, webhooks for
Git providers. Several servers may run at once when all of them reach the bucket.

It needs the bucket and the namespace that cairn-controller operator has. Flags of the operator are accepted and
ignored, so that both can be started with the same flags.`,
	}, operator.Options{Server: true})
}

// processCommand completes a command that runs the operator, the server or both, as the options select.
func processCommand(cmd *cobra.Command, o operator.Options) *cobra.Command {
	p := newProcessFlags(o)
	p.addTo(cmd.Flags())
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o, err := p.options()
		if err != nil {
			return err
		}
		loading := clientcmd.NewDefaultClientConfigLoadingRules()
		loading.ExplicitPath = p.kubeconfig
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, nil).ClientConfig()
		if err != nil {
			return err
		}
		if o.Policies, err = policy.NewApart(evaluatePolicies); err != nil {
			return err
		}
		o.Log = logger(p.level, p.json)
		return operator.Run(cmd.Context(), config, o)
	}
	return cmd
}

// logger writes to standard error.
func logger(level slog.Level, json bool) logr.Logger {
	options := &slog.HandlerOptions{Level: level}
	if json {
		return logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, options))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, options))
}
