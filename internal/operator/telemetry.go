package operator

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/tracing"
	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/controller/bucketgc"
	"cairn.dev/cairn/internal/controller/repository"
	runtelemetry "cairn.dev/cairn/internal/controller/run/telemetry"
	"cairn.dev/cairn/internal/server/servermetrics"
)

// telemetry has a process's metrics, for Prometheus, and traces. Each metric is defined beside what it counts, and
// no label is ever the name of a Stack, Run, repository or user: a series stays until the process ends. Namespaces
// are labels only where the cache is read, see fleet.
type telemetry struct {
	// registry has all metrics of Cairn's own. Those of controller-runtime are in one that is the process's.
	registry     *prometheus.Registry
	bucket       *bucket.Metrics
	repositories *repository.Metrics
	runs         *runtelemetry.Metrics
	server       *servermetrics.Metrics
	bucketgc     *bucketgc.Metrics
	downloads    *prometheus.CounterVec
	// traces is nil when no collector is configured.
	traces *tracing.Tracer
}

func newTelemetry(ctx context.Context, o Options, log *slog.Logger) (*telemetry, error) {
	traces, err := tracing.FromEnvironment(ctx, "cairn-"+half(o), version.Version)
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces not sent", "error", err) }))
	r := prometheus.NewRegistry()
	in := promauto.With(r)
	in.NewGaugeVec(prometheus.GaugeOpts{
		Name: "cairn_build_info", Help: "1 while the process runs. process is serve, operator or server.",
	}, []string{"version", "process"}).WithLabelValues(version.Version, half(o)).Set(1)
	return &telemetry{
		registry: r, bucket: bucket.NewMetrics(r), repositories: repository.NewMetrics(r),
		runs:   runtelemetry.NewMetrics(r),
		server: servermetrics.New(r), bucketgc: bucketgc.NewMetrics(r),
		downloads: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_downloads_total",
			Help: "Downloads that runners requested. artifact is engine, or provider for the archive of a " +
				"provider; result is hit (cached already), downloaded or failed.",
		}, []string{"artifact", "result"}),
		traces: traces,
	}, nil
}

// half is the half of Cairn that a process is.
func half(o Options) string {
	switch {
	case o.Operator && o.Server:
		return "serve"
	case o.Operator:
		return "operator"
	default:
		return "server"
	}
}

// addTelemetry adds what collects metrics to the manager. publish, after that, adds the metrics to its metrics server.
func addTelemetry(_ context.Context, mgr ctrl.Manager, p *parts, o Options) error {
	t := p.telemetry
	if o.Operator {
		if err := t.registry.Register(&fleet{cache: mgr.GetCache(), leading: mgr.Elected(),
			shard: o.Shard}); err != nil {
			return err
		}
	}
	if t.traces.On() {
		return mgr.Add(t.traces)
	}
	return nil
}

// publish puts the metrics beside those of controller-runtime, until withdraw is called.
func (t *telemetry) publish() (withdraw func(), err error) {
	if err := metrics.Registry.Register(t.registry); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return func() { metrics.Registry.Unregister(t.registry) }, nil
}

// witness records what becomes of Runs.
func (t *telemetry) witness(mgr ctrl.Manager, log *slog.Logger) *runtelemetry.Recorder {
	return &runtelemetry.Recorder{Metrics: t.runs, Traces: t.traces, Cache: mgr.GetClient(), Log: log}
}

// download counts what runners asked for.
func (t *telemetry) download(artifact string) func(hit bool, err error) {
	return func(hit bool, err error) {
		result := "downloaded"
		switch {
		case err != nil:
			result = "failed"
		case hit:
			result = "hit"
		}
		t.downloads.WithLabelValues(artifact, result).Inc()
	}
}
