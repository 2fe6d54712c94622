package operator

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/client-go/rest"

	"cairn.dev/cairn/api/v1alpha1"
)

// countWrites has the writes to the API server counted that go through a config.
func countWrites(config *rest.Config, r prometheus.Registerer) {
	writes := promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "cairn_api_writes_total",
		Help: "Writes to the Kubernetes API, including reviews of tokens and permissions. result is success, " +
			"conflict, rejected (another 4xx) or failed.",
	}, []string{"verb", "resource", "result"})
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &countingTransport{next, writes} })
}

type countingTransport struct {
	next   http.RoundTripper
	writes *prometheus.CounterVec
}

// RoundTrip counts what is no read.
func (t *countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if verb, ok := writeVerbs[r.Method]; ok {
		t.writes.WithLabelValues(verb, resourceIn(r.URL.Path), resultOf(answer, err)).Inc()
	}
	return answer, err
}

// WrappedRoundTripper lets client-go unwrap it.
func (t *countingTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

var writeVerbs = map[string]string{
	http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

func resultOf(answer *http.Response, err error) string {
	switch {
	case err != nil || answer.StatusCode >= 500:
		return "failed"
	case answer.StatusCode == http.StatusConflict:
		return "conflict"
	case answer.StatusCode >= 400:
		return "rejected"
	}
	return "success"
}

// written are the resources that Cairn writes beside its own. Any other one is other.
var written = map[string]bool{
	"pods": true, "secrets": true, "configmaps": true, "events": true, "leases": true, "serviceaccounts/token": true,
	"tokenreviews": true, "subjectaccessreviews": true, "localsubjectaccessreviews": true,
}

// resourceIn finds the resource in the path of a request: /api/v1/namespaces/prod/pods/x, or
// /apis/cairn.dev/v1alpha1/...
func resourceIn(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	own := len(parts) > 1 && parts[1] == v1alpha1.GroupVersion.Group
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return "other"
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	resource := parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	if !own && !written[resource] {
		return "other"
	}
	return resource
}
