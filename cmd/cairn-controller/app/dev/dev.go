// Package dev runs Cairn on this machine, without a cluster: `cairn dev` and `cairn demo`.
package dev

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/signinlink"
)

// options say how a cluster on this machine is started.
type options struct {
	// data is kept; a temporary folder when empty.
	data string
	// kubeconfig is where to write it; in the data folder when empty.
	kubeconfig string
	// bin has the programs; what dev.BinDir says when empty.
	bin string
	// serveArgs are further arguments for Cairn's processes.
	serveArgs []string
	// split runs operator and server as processes of their own.
	split bool
	// namespaces are the only ones that Cairn looks at and has Roles in; empty is all.
	namespaces []string
	// bare leaves out the node and Cairn's processes.
	bare bool
	// auditReads also notes what is only read.
	auditReads bool
	level      slog.Level
	log        logr.Logger
}

// processes of Cairn, as subcommands.
func (o options) processes() []string {
	if o.split {
		return []string{"operator", "server"}
	}
	return []string{"serve"}
}

// link says where the page is, with a link that signs in there once as the cluster's administrator.
func (c *cluster) link() (string, error) {
	if c.page == "" {
		return "", nil
	}
	path, err := signinlink.New(c.links, c.plane.AdminToken())
	return fmt.Sprintf("In a browser, once and within ten minutes:\n  %s%s\n", c.page, path), err
}

func devCommand() *cobra.Command {
	o := options{level: slog.LevelWarn}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run Cairn with a control plane on this machine, without a cluster",
		Long: `Starts a real Kubernetes API server and etcd, a pretend kubelet that runs pods as processes of this machine, and
Cairn itself, with accounts that may do what the chart's roles allow. It says where the page is, with a link that signs in there
once. Everything listens on 127.0.0.1 only. It stays until
Ctrl-C. What follows -- goes to cairn-controller serve or, with --split, to cairn-controller operator and cairn-controller server. Their process IDs are in the
data folder: serve.pid, or operator.pid and server.pid.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.log, o.serveArgs = textLogger(o.level), args
			return withCluster(cmd.Context(), o, func(ctx context.Context, cluster *cluster) error {
				link, err := cluster.link()
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "Cairn is ready. In another terminal:\n  export KUBECONFIG=%s PATH=%s:$PATH\n  cairn get, cairn describe STACK, cairn help; kubectl works too\n%sCtrl-C stops it.\n",
					cluster.kubeconfig, cluster.path(), link)
				<-ctx.Done()
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "folder that keeps everything between two starts; default: a temporary one")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "where to write the kubeconfig; default: kubeconfig in the data folder")
	f.BoolVar(&o.split, "split", false, "run cairn-controller operator and cairn-controller server as processes of their own in place of cairn-controller serve")
	f.StringSliceVar(&o.namespaces, "namespaces", nil, "the only namespaces that Cairn looks at, with Roles in them in place of ClusterRoles; they are made if they are not there")
	f.BoolVar(&o.bare, "bare", false, "run neither a node nor Cairn, for those who bring their own: the API server with Cairn's kinds, and in the data folder a kubeconfig for each process's account")
	f.BoolVar(&o.auditReads, "audit-reads", false, "note every request to the API server in controlplane/audit.log of the data folder, in place of writes alone")
	f.StringVar(&o.bin, "bin", "", "folder with etcd, kube-apiserver, kube-controller-manager and tofu, as make tools builds them; default: CAIRN_BIN, or cairn/bin in your cache folder")
	f.TextVar(&o.level, "log-level", o.level, "debug, info, warn or error")
	return cmd
}

// Commands are the commands that run Cairn on this machine.
func Commands() []*cobra.Command { return []*cobra.Command{devCommand(), demoCommand()} }

// textLogger writes to standard error.
func textLogger(level slog.Level) logr.Logger {
	return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}
