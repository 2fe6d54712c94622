package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"cairn.dev/cairn/migrate/metacontroller"
)

// hooksOptions are the flags of `cairn-migrate hooks`.
type hooksOptions struct {
	listen, metrics string
	level           slog.Level
	json            bool
}

// hooksCommand returns the command that the chart runs for metacontroller. It is no command of cairn.
func hooksCommand() *cobra.Command {
	var o hooksOptions
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "Serve the hooks of metacontroller",
		Long: `Answers the hooks of metacontroller, for Terraforms of alustan and for ConfigMaps, over plain HTTP. It reads
nothing from a cluster and needs no credentials: a response depends on its request alone.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveHooks(cmd.Context(), cmd.ErrOrStderr(), o)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", ":8082", "address for the hooks, plain HTTP")
	f.StringVar(&o.metrics, "metrics-address", "0", "address for Prometheus metrics and for health; 0 disables them")
	f.TextVar(&o.level, "log-level", o.level, "debug, info, warn or error")
	f.BoolVar(&o.json, "log-json", false, "log as JSON")
	return cmd
}

// serveHooks serves the hooks until ctx is done. A failed listener ends it.
func serveHooks(ctx context.Context, out io.Writer, o hooksOptions) error {
	options := &slog.HandlerOptions{Level: o.level}
	log := slog.New(slog.NewTextHandler(out, options))
	if o.json {
		log = slog.New(slog.NewJSONHandler(out, options))
	}
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	hooks := metacontroller.NewHandler(metacontroller.HandlerOptions{Log: log, Metrics: metrics})
	about := http.NewServeMux()
	about.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	about.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended, servers := make(chan error), 1
	go func() { ended <- serve(ctx, log, o.listen, hooks) }()
	if o.metrics != "0" {
		servers++
		go func() { ended <- serve(ctx, log, o.metrics, about) }()
	}
	var err error
	for range servers {
		err = errors.Join(err, <-ended)
		stop()
	}
	return err
}

// serve listens and serves until ctx is done. Then open requests have up to 10 s to end.
func serve(ctx context.Context, log *slog.Logger, address string, handler http.Handler) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	log.Info("listening", "address", l.Addr().String())
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	drained := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		drained <- server.Shutdown(draining)
	})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-drained
}
