// Package servermetrics has the metrics of the server.
package servermetrics

import (
	"cmp"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
)

// Metrics count the requests that a server answers. A nil one counts nothing.
type Metrics struct {
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	flying   prometheus.Gauge
	bytes    *prometheus.CounterVec
	logs     prometheus.Counter
	policies *prometheus.HistogramVec
	webhooks *prometheus.CounterVec
	signIns  *prometheus.CounterVec
	actions  *prometheus.CounterVec
	misuses  prometheus.Counter
}

// New creates Metrics and registers them.
func New(r prometheus.Registerer) *Metrics {
	in := promauto.With(r)
	return &Metrics{
		requests: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_server_requests_total",
			Help: "Requests of runners and users. code is aborted for a response that was cut off.",
		}, []string{"route", "code"}),
		took: in.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cairn_server_request_duration_seconds", Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
				1, 2.5, 5, 10, 30, 60, 300},
			Help: "Duration of requests of runners and users. /v1/order, /v1/interrupt and followed logs are " +
				"long polls.",
		}, []string{"route"}),
		flying: in.NewGauge(prometheus.GaugeOpts{
			Name: "cairn_server_requests_in_flight",
			Help: "Active requests, including open long polls.",
		}),
		bytes: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_server_bytes_total",
			Help: "Bytes of the bodies of requests (direction received) and of responses (direction sent).",
		}, []string{"direction"}),
		logs: in.NewCounter(prometheus.CounterOpts{
			Name: "cairn_log_bytes_total",
			Help: "Bytes of logs received from runners.",
		}),
		policies: in.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cairn_policy_check_duration_seconds", Buckets: []float64{0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
				5, 10, 30, 60},
			Help: "Duration of the evaluation of all policies for a plan. result is allowed, approval_required, " +
				"denied, or failed if they could not be evaluated.",
		}, []string{"result"}),
		webhooks: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_webhooks_total",
			Help: "Webhooks of Git providers. result is accepted, ignored, rejected, busy or failed; " +
				"git_provider is unknown without a valid signature.",
		}, []string{"git_provider", "result"}),
		signIns: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_sign_ins_total",
			Help: "Attempts to sign in with a browser. method is Token, OIDC or Link; result is success or denied.",
		}, []string{"method", "result"}),
		actions: in.NewCounterVec(prometheus.CounterOpts{
			Name: "cairn_user_actions_total",
			Help: "Audited actions of users through the server, including reads of secret values. verb is the " +
				"RBAC verb; result is success or failed.",
		}, []string{"resource", "verb", "result"}),
		misuses: in.NewCounter(prometheus.CounterOpts{
			Name: "cairn_runner_token_misuses_total",
			Help: "Rejected requests with the token of a pod that are not from its runner.",
		}),
	}
}

// Measure wraps a mux and counts its requests.
func (m *Metrics) Measure(mux http.Handler) http.Handler {
	if m == nil {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		rec, body := &counter{Recorder: httpapi.Recorder{ResponseWriter: w}}, &countedBody{ReadCloser: r.Body}
		r.Body = body
		m.flying.Inc()
		code := "aborted"
		defer func() {
			m.flying.Dec()
			route := cmp.Or(r.Pattern, "none") // of the mux, which knows them all
			m.requests.WithLabelValues(route, code).Inc()
			m.took.WithLabelValues(route).Observe(time.Since(began).Seconds())
			m.bytes.WithLabelValues("received").Add(float64(body.n))
			m.bytes.WithLabelValues("sent").Add(float64(rec.n))
		}()
		mux.ServeHTTP(rec, r)
		code = strconv.Itoa(cmp.Or(rec.Code, http.StatusOK))
	})
}

// counter counts the bytes of an answer.
type counter struct {
	httpapi.Recorder
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Recorder.Write(p)
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

// AddLogBytes counts bytes of logs that runners sent.
func (m *Metrics) AddLogBytes(n int) {
	if m != nil {
		m.logs.Add(float64(n))
	}
}

// CountTokenMisuse counts a rejected request with the token of a pod that is not from its runner.
func (m *Metrics) CountTokenMisuse() {
	if m != nil {
		m.misuses.Inc()
	}
}

// PolicyChecked observes an evaluation of policies.
func (m *Metrics) PolicyChecked(began time.Time, said runnerapi.PolicyResult, err error) {
	if m == nil {
		return
	}
	result := "allowed"
	switch {
	case err != nil:
		result = "failed"
	case said.Denied() > 0:
		result = "denied"
	case said.ApprovalRequired() > 0:
		result = "approval_required"
	}
	m.policies.WithLabelValues(result).Observe(time.Since(began).Seconds())
}

// Webhook counts a webhook of a Git provider.
func (m *Metrics) Webhook(gitProvider, result string) {
	if m != nil {
		m.webhooks.WithLabelValues(cmp.Or(gitProvider, "unknown"), result).Inc()
	}
}

// SignIn counts a sign-in with a browser.
func (m *Metrics) SignIn(method, result string) {
	if m != nil {
		m.signIns.WithLabelValues(method, result).Inc()
	}
}

// UserAction counts an action of a user.
func (m *Metrics) UserAction(resource, verb, result string) {
	if m != nil {
		m.actions.WithLabelValues(resource, verb, result).Inc()
	}
}
