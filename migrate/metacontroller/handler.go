package metacontroller

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/jsonsize"
)

const (
	// largest body: a parent and its children, of at most 1.5 MiB each.
	largest = 8 << 20
	// mostValues is how many values a body may have: each takes memory, however short it is.
	mostValues = 250_000
	// timeout of a request, below metacontroller's own of 10 s.
	timeout = 8 * time.Second
	// atOnce is how many requests are worked on; each takes a fraction of a millisecond, and memory some times its
	// body.
	atOnce = 8
)

// Results of requests.
const (
	resultAnswered = "answered" // metacontroller applies the response
	resultRejected = "rejected" // the request is invalid
	resultBusy     = "busy"     // too many at once
)

// HandlerOptions of a Handler.
type HandlerOptions struct {
	// Log gets a line for each request at debug. No body is ever in it.
	Log *slog.Logger
	// Metrics is where the count of requests is registered; nil for nowhere.
	Metrics prometheus.Registerer
}

// Handler answers
//
//	POST /sync, POST /finalize                                                       a CompositeController's hooks, for alustan's Terraforms
//	POST /metacontroller/configmaps/sync, POST /metacontroller/configmaps/finalize   a DecoratorController's hooks, for ConfigMaps
//
// Both paths of a pair are the same: the request contains whether it is to finalize. The parameter apply is spec.apply
// of the Stacks, Manual by default. 200 is an answer; 400 no request of metacontroller, 413 too large, 422 a request or
// a controller that cannot be answered safely, 429 too many at once: all as RFC 9457 has them.
type Handler struct {
	HandlerOptions
	mux   *http.ServeMux
	slots chan struct{}
	hooks *prometheus.CounterVec
}

// NewHandler creates a Handler.
func NewHandler(o HandlerOptions) *Handler {
	h := &Handler{HandlerOptions: o, mux: http.NewServeMux(), slots: make(chan struct{}, atOnce)}
	h.hooks = promauto.With(o.Metrics).NewCounterVec(prometheus.CounterOpts{
		Name: "cairn_metacontroller_hooks_total",
		Help: "Hooks that metacontroller called. hook is composite or decorator; result is answered, " +
			"rejected or busy.",
	}, []string{"hook", "result"})
	composite, decorator := answer(h, "composite", Composite), answer(h, "decorator", Decorator)
	h.mux.Handle("POST /sync", composite)
	h.mux.Handle("POST /finalize", composite)
	h.mux.Handle("POST /metacontroller/configmaps/sync", decorator)
	h.mux.Handle("POST /metacontroller/configmaps/finalize", decorator)
	return h
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

func (h *Handler) count(hook, result string) { h.hooks.WithLabelValues(hook, result).Inc() }

// answer handles the requests of one kind of controller.
func answer[Request, Answer any](h *Handler, hook string, decide func(Request, Options) (Answer, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		select {
		case h.slots <- struct{}{}:
			defer func() { <-h.slots }()
		case <-ctx.Done():
			h.count(hook, resultBusy)
			w.Header().Set("Retry-After", "1")
			problem(w, http.StatusTooManyRequests, "too many requests at once: try again")
			return
		}
		// a connection without deadlines is none of the server's
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout))
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largest))
		if err == nil {
			body, err = respond(body, r.URL.Query().Get("apply"), decide)
		}
		if err != nil {
			h.count(hook, resultRejected)
			// Why is in the answer alone: it may quote the body.
			h.Log.Debug("hook refused", "hook", hook, "path", r.URL.Path, "from", r.RemoteAddr, "status", codeOf(err))
			problem(w, codeOf(err), err.Error())
			return
		}
		h.count(hook, resultAnswered)
		h.Log.Debug("hook answered", "hook", hook, "path", r.URL.Path, "from", r.RemoteAddr, "bytes", len(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) //nolint:gosec // JSON for metacontroller; no browser asks here
	})
}

// respond is the answer to a body, as bytes: the same for the same.
func respond[Request, Answer any](body []byte, apply string, decide func(Request, Options) (Answer, error)) ([]byte,
	error) {
	o := Options{Apply: v1alpha1.ApplyPolicy(cmp.Or(apply, string(v1alpha1.ApplyManual)))}
	switch o.Apply {
	case v1alpha1.ApplyManual, v1alpha1.ApplyAutomatic, v1alpha1.ApplyNever:
	default:
		return nil, requestErrorf("apply is %.100q: Manual, Automatic or Never", apply)
	}
	if jsonsize.HasMoreValues(body, mostValues) {
		return nil, requestErrorf("the body has more than %d values, which is the limit", mostValues)
	}
	var request Request
	if err := kjson.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("the body is not what metacontroller sends: %w", err)
	}
	decided, err := decide(request, o)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	if err := to.Encode(decided); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// codeOf is the status for an error.
func codeOf(err error) int {
	var large *http.MaxBytesError
	var refusal *RequestError
	switch {
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.As(err, &refusal):
		return http.StatusUnprocessableEntity
	}
	return http.StatusBadRequest
}

// problem answers with an error, as RFC 9457 has it. metacontroller shows it in an event of the parent.
func problem(w http.ResponseWriter, code int, detail string) {
	data, _ := json.Marshal(map[string]any{ // strings and a number always can be
		"type": "about:blank", "title": http.StatusText(code), "status": code, "detail": detail,
	})
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(code)
	_, _ = w.Write(data)
}
