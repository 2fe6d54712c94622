package bucketgc

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics count the shared objects of the bucket and what garbage collection deletes. A nil one counts nothing.
type Metrics struct {
	objects, bytes               *prometheus.GaugeVec
	deletedObjects, deletedBytes *prometheus.CounterVec
	cycles                       *prometheus.CounterVec
	lastSuccess                  prometheus.Gauge
	oldIdentities                prometheus.Gauge
	reencryption                 *prometheus.GaugeVec
}

// NewMetrics creates Metrics and registers them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	in := promauto.With(r)
	m := &Metrics{
		objects: in.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cairn_bucket_shared_objects",
			Help: "Objects in the bucket that Stacks and Runs share, after the last garbage collection. folder " +
				"is inputs, sources or closures.",
		}, []string{"folder"}),
		bytes: in.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cairn_bucket_shared_bytes",
			Help: "Size of the objects that Stacks and Runs share, after the last garbage collection.",
		}, []string{"folder"}),
		deletedObjects: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_bucket_gc_deleted_objects_total",
			Help: "Objects that garbage collection deleted because nothing refers to them.",
		}, []string{"folder"}),
		deletedBytes: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_bucket_gc_deleted_bytes_total",
			Help: "Size of the objects that garbage collection deleted.",
		}, []string{"folder"}),
		cycles: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_bucket_gc_cycles_total",
			Help: "Garbage collections of the bucket. result is success, failed, or skipped if Kubernetes has no " +
				"Stack, Run or State.",
		}, []string{"result"}),
		lastSuccess: in.NewGauge(prometheus.GaugeOpts{
			Name: "cairn_bucket_gc_last_success_timestamp_seconds",
			Help: "End of the last successful garbage collection; 0 before the first.",
		}),
		oldIdentities: in.NewGauge(prometheus.GaugeOpts{
			Name: "cairn_bucket_old_identities",
			Help: "Old identities with which objects in the bucket may still be encrypted; 0 when none is needed for " +
				"the bucket.",
		}),
		reencryption: in.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cairn_bucket_reencryption_objects",
			Help: "Objects in the bucket after the last pass of a re-encryption. result is current " +
				"(encrypted with the current identity), left (with an old one) or unreadable.",
		}, []string{"result"}),
	}
	for _, result := range []string{collectionSucceeded, collectionSkipped, collectionFailed} {
		m.cycles.WithLabelValues(result) // a counter that first appears with 1 never increased
	}
	return m
}

// Results of a garbage collection.
const (
	collectionSucceeded = "success"
	collectionSkipped   = "skipped"
	collectionFailed    = "failed"
)

func (m *Metrics) count(c Collected, err error) {
	if m == nil {
		return
	}
	for folder, n := range c.Folders {
		m.deletedObjects.WithLabelValues(folder).Add(float64(n.Deleted))
		m.deletedBytes.WithLabelValues(folder).Add(float64(n.DeletedBytes))
	}
	switch {
	case err != nil:
		m.cycles.WithLabelValues(collectionFailed).Inc()
		return
	case c.Skipped:
		m.cycles.WithLabelValues(collectionSkipped).Inc()
		return
	}
	m.cycles.WithLabelValues(collectionSucceeded).Inc()
	m.lastSuccess.SetToCurrentTime()
	for folder, n := range c.Folders {
		m.objects.WithLabelValues(folder).Set(float64(n.Objects))
		m.bytes.WithLabelValues(folder).Set(float64(n.Bytes))
	}
}

func (m *Metrics) oldKeys(n int) {
	if m != nil {
		m.oldIdentities.Set(float64(n))
	}
}

// reencrypted records a pass that saw all objects.
func (m *Metrics) reencrypted(r Reencrypted, err error) {
	if m == nil || err != nil {
		return
	}
	m.reencryption.WithLabelValues("current").Set(float64(r.Current + r.Written))
	m.reencryption.WithLabelValues("left").Set(float64(r.Left))
	m.reencryption.WithLabelValues("unreadable").Set(float64(r.Unreadable))
}
