package bucket

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"gocloud.dev/gcerrors"
)

// Metrics count the operations on a bucket. A nil one counts nothing.
type Metrics struct {
	operations *prometheus.CounterVec
	took       *prometheus.HistogramVec
}

// Operations on a bucket.
const (
	opRead   = "read"
	opWrite  = "write"
	opExists = "exists"
	opDelete = "delete"
	opList   = "list"
)

// resultDamaged is the result of a read of an object that is not as it was written.
const resultDamaged = "damaged"

// NewMetrics registers Metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	in := promauto.With(r)
	m := &Metrics{
		operations: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_bucket_operations_total",
			Help: "Operations on the bucket: read, write, exists, delete, list. result is success, not_found, " +
				"canceled or failed; damaged counts objects that were read and are not as Cairn wrote them, in " +
				"addition to the success of the read.",
		}, []string{"operation", "result"}),
		took: in.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "cairn_bucket_operation_duration_seconds",
			Help:    "Duration of operations on the bucket; of a read until its first byte.",
			Buckets: []float64{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"operation"}),
	}
	m.operations.WithLabelValues(opRead, resultDamaged) // so that an alert sees the first one
	return m
}

// Measure has a bucket counted. It is called before the bucket is used.
func (b *Bucket) Measure(m *Metrics) { b.metrics = m }

// result counts an operation on a key, and returns its error as ours.
func (b *Bucket) result(operation, key string, began time.Time, err error) error {
	if err != nil {
		err = explain(operation, key, err)
	}
	b.metrics.count(operation, began, err)
	return err
}

// countDamaged counts an object that was read and is not as it was written under its key.
func (m *Metrics) countDamaged(err error) {
	if m != nil && (errors.Is(err, ErrDamaged) || errors.Is(err, ErrWrongKey)) {
		m.operations.WithLabelValues(opRead, resultDamaged).Inc()
	}
}

func (m *Metrics) count(operation string, began time.Time, err error) {
	if m == nil {
		return
	}
	result := "failed"
	switch {
	case err == nil:
		result = "success"
	case errors.Is(err, ErrNotFound):
		result = "not_found"
	case errors.Is(err, ErrChanged), errors.Is(err, context.Canceled), gcerrors.Code(err) == gcerrors.Canceled:
		result = "canceled"
	}
	m.operations.WithLabelValues(operation, result).Inc()
	m.took.WithLabelValues(operation).Observe(time.Since(began).Seconds())
}
