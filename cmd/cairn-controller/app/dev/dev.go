// Package dev runs Cairn on this machine, without a cluster: `cairn dev` and `cairn demo`.
package dev

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// options are the options of a cluster on this machine.
type options struct {
	// data is the directory for all data; empty for a temporary one.
	data string
	// kubeconfig is the file to write; empty for kubeconfig in the data directory.
	kubeconfig string
	// bin is the directory of the programs; empty for that of dev.BinDir.
	bin string
	// serveArgs are additional arguments for Cairn's processes.
	serveArgs []string
	// split runs operator and server as separate processes.
	split bool
	// namespaces are those in which Cairn reconciles Stacks and has Roles; empty for all.
	namespaces []string
	// bare starts neither the node nor Cairn's processes.
	bare bool
	// auditReads adds reads to the audit log.
	auditReads bool
	level      slog.Level
	log        logr.Logger
}

// addFlags adds the flags that dev and demo share.
func (o *options) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.data, "data", "",
		"directory for all data, which the next start uses again; default: a temporary one")
	f.StringVar(&o.bin, "bin", "",
		"`directory` with etcd, kube-apiserver, kube-controller-manager and tofu, as `make tools` builds "+
			"them; default: CAIRN_BIN, or cairn/bin in your cache directory")
}

// processes returns Cairn's processes, as subcommands of cairn-controller.
func (o options) processes() []string {
	if o.split {
		return []string{"operator", "server"}
	}
	return []string{"serve"}
}

// link returns a text with a link to the web UI that signs in once, as the cluster's administrator.
func (c *cluster) link() (string, error) {
	if c.webURL == "" {
		return "", nil
	}
	link, err := signIn{c.webURL, c.plane.AdminToken()}.link(c.links)
	return fmt.Sprintf("In a browser, once and within ten minutes:\n  %s\nAfter that: cairn dev link\n", link), err
}

func devCommand() *cobra.Command {
	o := options{level: slog.LevelWarn}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run Cairn with a control plane on this machine, without a cluster",
		Long: `Starts a real Kubernetes API server and etcd, a simulated kubelet that runs pods as processes of this
machine, and Cairn itself, with ServiceAccounts that have the chart's roles. It prints a link to the web UI that signs
you in once. Everything listens on 127.0.0.1 only, until Ctrl-C.

Arguments after -- are passed to cairn-controller serve or, with --split, to cairn-controller operator and
cairn-controller server. Their process IDs are in the data directory: serve.pid, or operator.pid and server.pid.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.log, o.serveArgs = textLogger(o.level), args
			return withCluster(cmd.Context(), o, func(ctx context.Context, cluster *cluster) error {
				link, err := cluster.link()
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), `Cairn is ready. In another terminal:
  export KUBECONFIG=%s PATH=%s:$PATH
  cairn get, cairn describe STACK, cairn help; kubectl works too
%sCtrl-C stops it.
`, cluster.kubeconfig, cluster.path(), link)
				<-ctx.Done()
				return nil
			})
		},
	}
	f := cmd.Flags()
	o.addFlags(f)
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "file for the kubeconfig; default: kubeconfig in the data directory")
	f.BoolVar(&o.split, "split", false, "run the operator and the server as separate processes")
	f.StringSliceVar(&o.namespaces, "namespaces", nil,
		"namespaces of the Stacks that Cairn reconciles, with Roles in them in place of ClusterRoles; creates "+
			"those that do not exist; default: all")
	f.BoolVar(&o.bare, "bare", false,
		"run only the API server with Cairn's CRDs, without a node and Cairn, and write a kubeconfig for the "+
			"ServiceAccount of each process to the data directory")
	f.BoolVar(&o.auditReads, "audit-reads", false,
		"record all requests to the API server in controlplane/audit.log of the data directory, in place of "+
			"writes alone")
	f.TextVar(&o.level, "log-level", o.level, "debug, info, warn or error")
	cmd.AddCommand(linkCommand())
	return cmd
}

// Commands returns the commands that run Cairn on this machine.
func Commands() []*cobra.Command { return []*cobra.Command{devCommand(), demoCommand()} }

// textLogger writes to standard error.
func textLogger(level slog.Level) logr.Logger {
	return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}
