package server

import (
	"cmp"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"cairn.dev/cairn/internal/store"
)

// Metrics count what a server is asked. A nil one counts nothing.
type Metrics struct {
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	flying   prometheus.Gauge
	bytes    *prometheus.CounterVec
	logs     prometheus.Counter
	policies *prometheus.HistogramVec
	webhooks *prometheus.CounterVec
	hooks    *prometheus.CounterVec
	signIns  *prometheus.CounterVec
	actions  *prometheus.CounterVec
}

// NewMetrics makes Metrics that a registry has.
func NewMetrics(r prometheus.Registerer) *Metrics {
	in := promauto.With(r)
	return &Metrics{
		requests: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_store_requests_total",
			Help: "Requests of runners and people, by route. The code is Aborted for an answer that was broken off.",
		}, []string{"route", "code"}),
		took: in.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cairn_store_request_duration_seconds", Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300},
			Help: "Time that requests of runners and people took. /v1/order, /v1/interrupt and logs that are followed are held until there is something to say.",
		}, []string{"route"}),
		flying: in.NewGauge(prometheus.GaugeOpts{
			Name: "cairn_store_requests_in_flight",
			Help: "Requests that are being answered or held now.",
		}),
		bytes: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_store_bytes_total",
			Help: "Bytes of the bodies of requests (Received) and answers (Sent).",
		}, []string{"direction"}),
		logs: in.NewCounter(prometheus.CounterOpts{
			Name: "cairn_log_bytes_total",
			Help: "Bytes of logs that were taken from runners.",
		}),
		policies: in.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cairn_policy_check_duration_seconds", Buckets: []float64{0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
			Help: "Time that all policies of a plan took. result is Allowed, ApprovalRequired, Denied, or Failed when they could not be asked.",
		}, []string{"result"}),
		webhooks: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_webhooks_total",
			Help: "Webhooks of forges. result is Accepted, Ignored, Repeated, Refused, Busy or Failed; the forge is unknown unless it is signed well.",
		}, []string{"forge", "result"}),
		hooks: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_metacontroller_hooks_total",
			Help: "Hooks that metacontroller called. hook is composite or decorator; result is Answered, Refused or Busy.",
		}, []string{"hook", "result"}),
		signIns: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_sign_ins_total",
			Help: "People who wanted to sign in with a browser. method is Token, OIDC or Link; result is SignedIn or Refused.",
		}, []string{"method", "result"}),
		actions: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_people_actions_total",
			Help: "What people did, or read in clear, through the server, by resource and the verb that it takes. result is Done, or Refused for whatever reason.",
		}, []string{"resource", "verb", "result"}),
	}
}

// measure counts the requests that a mux gets.
func (m *Metrics) measure(mux http.Handler) http.Handler {
	if m == nil {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		rec, body := &counter{recorder: recorder{ResponseWriter: w}}, &countedBody{ReadCloser: r.Body}
		r.Body = body
		m.flying.Inc()
		code := "Aborted"
		defer func() {
			m.flying.Dec()
			route := cmp.Or(r.Pattern, "none") // of the mux, which knows them all
			m.requests.WithLabelValues(route, code).Inc()
			m.took.WithLabelValues(route).Observe(time.Since(began).Seconds())
			m.bytes.WithLabelValues("Received").Add(float64(body.n))
			m.bytes.WithLabelValues("Sent").Add(float64(rec.n))
		}()
		mux.ServeHTTP(rec, r)
		code = strconv.Itoa(cmp.Or(rec.code, http.StatusOK))
	})
}

// counter counts the bytes of an answer.
type counter struct {
	recorder
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.recorder.Write(p)
	c.n += int64(n)
	return n, err
}

// countedBody counts the bytes of a request.
type countedBody struct {
	io.ReadCloser
	n int64
}

func (c *countedBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n += int64(n)
	return n, err
}

func (m *Metrics) logged(n int) {
	if m != nil {
		m.logs.Add(float64(n))
	}
}

func (m *Metrics) checked(began time.Time, said store.Verdict, err error) {
	if m == nil {
		return
	}
	result := "Allowed"
	switch {
	case err != nil:
		result = "Failed"
	case said.Denied() > 0:
		result = "Denied"
	case said.ApprovalRequired() > 0:
		result = "ApprovalRequired"
	}
	m.policies.WithLabelValues(result).Observe(time.Since(began).Seconds())
}

func (m *Metrics) webhook(forge, result string) {
	if m != nil {
		m.webhooks.WithLabelValues(cmp.Or(forge, "unknown"), result).Inc()
	}
}

func (m *Metrics) hooked(hook, result string) {
	if m != nil {
		m.hooks.WithLabelValues(hook, result).Inc()
	}
}

func (m *Metrics) signedIn(method, result string) {
	if m != nil {
		m.signIns.WithLabelValues(method, result).Inc()
	}
}

func (m *Metrics) acted(need right, result string) {
	if m != nil {
		m.actions.WithLabelValues(need.resource, need.verb, result).Inc()
	}
}
