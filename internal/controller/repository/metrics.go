package repository

import (
	"cmp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"cairn.dev/cairn/api/v1alpha1"
)

// Metrics count fetches. A nil one counts nothing.
type Metrics struct {
	fetches *prometheus.CounterVec
	took    *prometheus.HistogramVec
}

// NewMetrics registers Metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	in := promauto.With(r)
	return &Metrics{
		fetches: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_repository_fetches_total",
			Help: "Fetches of Repositories. result is Fetched, or the reason of the failure, as in the Ready " +
				"condition.",
		}, []string{"result"}),
		took: in.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cairn_repository_fetch_duration_seconds", Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
				60, 120, 300},
			Help: "Duration of fetches of Repositories, including the wait for other fetches. result is success " +
				"or failed.",
		}, []string{"result"}),
	}
}

// count takes in how a fetch ended.
func (m *Metrics) count(f *Fetch) {
	if m == nil {
		return
	}
	m.fetches.WithLabelValues(cmp.Or(f.Reason, v1alpha1.ReasonFetched)).Inc()
	result := "success"
	if f.Reason != "" {
		result = "failed"
	}
	m.took.WithLabelValues(result).Observe(f.Took.Seconds())
}

var oldestFetch = prometheus.NewDesc("cairn_repository_oldest_fetch_timestamp_seconds",
	"Time of the last successful fetch of the Repository for which it is the longest ago. For a Repository "+
		"without a successful fetch, the time of the first attempt by this process.",
	[]string{"namespace"}, nil)

// Describe and Collect implement prometheus.Collector. When a Repository was last fetched is in no object: it would
// be written each time.
func (m *Mirrors) Describe(descs chan<- *prometheus.Desc) { descs <- oldestFetch }

// Collect sends the oldest fetch of each namespace.
func (m *Mirrors) Collect(metrics chan<- prometheus.Metric) {
	oldest := map[string]time.Time{}
	m.mu.Lock()
	for _, one := range m.all {
		if at, ok := oldest[one.key.Namespace]; !one.fetched.IsZero() && (!ok || one.fetched.Before(at)) {
			oldest[one.key.Namespace] = one.fetched
		}
	}
	m.mu.Unlock()
	for namespace, at := range oldest {
		metrics <- prometheus.MustNewConstMetric(oldestFetch, prometheus.GaugeValue, float64(at.UnixMilli())/1000,
			namespace)
	}
}
