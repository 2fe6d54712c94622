package operator

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
)

// TestStartWaitsForTheAPIServer checks a process that starts before the API server: with each exit the Deployment
// restarts it later, and runners wait for ten minutes.
func TestStartWaitsForTheAPIServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var requests atomic.Int32
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 6 {
			cancel() // that is often enough
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer api.Close()
	err := Run(ctx, &rest.Config{Host: api.URL}, Options{
		Namespace: "cairn-system", BucketURL: "mem://", CacheDir: t.TempDir(), ServerURL: "https://cairn",
		Operator:       true,
		MetricsAddress: "0", HealthAddress: "0", again: true, Log: logr.Discard(),
	})
	if ctx.Err() == nil {
		t.Errorf("it failed after %d requests: %v", requests.Load(), err)
	}
}

func TestWaitEndsWithAForbiddenResponse(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	defer api.Close()
	began := time.Now()
	if err := awaitAPI(t.Context(), &rest.Config{Host: api.URL}, time.Hour, logr.Discard()); err != nil ||
		time.Since(began) > time.Minute {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

// TestWaitForTheAPIServerEnds checks the timeout of the wait. The next request returns the error.
func TestWaitForTheAPIServerEnds(t *testing.T) {
	api := httptest.NewServer(http.NotFoundHandler())
	api.Close()
	if err := awaitAPI(t.Context(), &rest.Config{Host: api.URL}, time.Millisecond, logr.Discard()); err != nil {
		t.Error(err)
	}
}
