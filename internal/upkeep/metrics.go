package upkeep

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics tell how much the bucket has of what is shared, and what is done about it. A nil one tells nothing.
type Metrics struct {
	objects, bytes    *prometheus.GaugeVec
	swept, sweptBytes *prometheus.CounterVec
	sweeps            *prometheus.CounterVec
	lastSweep         prometheus.Gauge
}

// NewMetrics makes Metrics that a registry has.
func NewMetrics(r prometheus.Registerer) *Metrics {
	in := promauto.With(r)
	folder := []string{"folder"}
	m := &Metrics{
		objects: in.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cairn_bucket_shared_objects", Help: "Objects of the bucket that no Stack or Run has for itself, after the last sweep: inputs, sources, closures.",
		}, folder),
		bytes: in.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cairn_bucket_shared_bytes", Help: "Their size.",
		}, folder),
		swept: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_bucket_swept_objects_total", Help: "Objects that were deleted because nothing refers to them any more.",
		}, folder),
		sweptBytes: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_bucket_swept_bytes_total", Help: "Their size.",
		}, folder),
		sweeps: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_bucket_sweeps_total", Help: "Sweeps of the bucket. result is Swept, Skipped when there is no object of Cairn's in Kubernetes, or Failed.",
		}, []string{"result"}),
		lastSweep: in.NewGauge(prometheus.GaugeOpts{
			Name: "cairn_bucket_last_sweep_timestamp_seconds", Help: "When the last sweep ended that went well; 0 before the first.",
		}),
	}
	for _, result := range []string{sweepSwept, sweepSkipped, sweepFailed} {
		m.sweeps.WithLabelValues(result) // a counter that is there only from 1 on never increased
	}
	return m
}

// Results of a sweep.
const (
	sweepSwept   = "Swept"
	sweepSkipped = "Skipped"
	sweepFailed  = "Failed"
)

func (m *Metrics) count(s Swept, err error) {
	if m == nil {
		return
	}
	for folder, n := range s.Folders {
		m.swept.WithLabelValues(folder).Add(float64(n.Deleted))
		m.sweptBytes.WithLabelValues(folder).Add(float64(n.DeletedBytes))
	}
	switch {
	case err != nil:
		m.sweeps.WithLabelValues(sweepFailed).Inc()
		return
	case s.Skipped:
		m.sweeps.WithLabelValues(sweepSkipped).Inc()
		return
	}
	m.sweeps.WithLabelValues(sweepSwept).Inc()
	m.lastSweep.SetToCurrentTime()
	for folder, n := range s.Folders {
		m.objects.WithLabelValues(folder).Set(float64(n.Objects))
		m.bytes.WithLabelValues(folder).Set(float64(n.Bytes))
	}
}
