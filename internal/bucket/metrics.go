package bucket

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"gocloud.dev/gcerrors"
)

// Metrics count what is asked of a bucket. A nil one counts nothing.
type Metrics struct {
	operations *prometheus.CounterVec
	took       *prometheus.HistogramVec
}

// What is asked of a bucket.
const (
	opRead   = "read"
	opWrite  = "write"
	opExists = "exists"
	opDelete = "delete"
	opList   = "list"
)

// NewMetrics makes Metrics that a registry has.
func NewMetrics(r prometheus.Registerer) *Metrics {
	in := promauto.With(r)
	return &Metrics{
		operations: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_bucket_operations_total",
			Help: "What was asked of the bucket: read, write, exists, delete, list. result is OK, Missing, Canceled (whoever asked went away) or Failed.",
		}, []string{"operation", "result"}),
		took: in.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cairn_bucket_operation_duration_seconds", Buckets: []float64{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
			Help: "Time that the bucket took; for a read until its first byte.",
		}, []string{"operation"}),
	}
}

// Measure has a bucket counted. It is called before the bucket is used.
func (b *Bucket) Measure(m *Metrics) { b.metrics = m }

func (m *Metrics) count(operation string, began time.Time, err error) {
	if m == nil {
		return
	}
	result := "Failed"
	switch {
	case err == nil:
		result = "OK"
	case errors.Is(err, ErrNotFound):
		result = "Missing"
	case errors.Is(err, context.Canceled), gcerrors.Code(err) == gcerrors.Canceled:
		result = "Canceled"
	}
	m.operations.WithLabelValues(operation, result).Inc()
	m.took.WithLabelValues(operation).Observe(time.Since(began).Seconds())
}
