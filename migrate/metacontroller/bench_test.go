package metacontroller

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkHooks calls the hooks over HTTP as metacontroller does, and a handler that reads the body and returns {}. At
// a thousand calls per second the time of each call includes the wait for a connection.
func BenchmarkHooks(b *testing.B) {
	hooks := NewHandler(HandlerOptions{Log: slog.New(slog.DiscardHandler)})
	empty := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write([]byte("{}"))
	})
	for _, c := range []struct {
		name, path, body string
		handler          http.Handler
	}{
		{"create", "/sync", "composite/create", hooks},
		{"applied", "/sync", "composite/applied", hooks},
		{"finalize", "/finalize", "composite/destroying", hooks},
		{"configmap", "/metacontroller/configmaps/sync", "decorator/applied", hooks},
		{"empty", "/sync", "composite/applied", empty},
	} {
		hook, _, _ := bytes.Cut([]byte(c.body), []byte("/"))
		body := recorded(b, string(hook))["testdata/recorded/"+c.body]
		server := httptest.NewServer(c.handler)
		b.Run("At1000PerSecond/"+c.name, func(b *testing.B) { load(b, server.URL+c.path, body, time.Millisecond) })
		b.Run("Most/"+c.name, func(b *testing.B) { load(b, server.URL+c.path, body, 0) })
		server.Close()
	}
}

// load calls b.N times from as many connections as metacontroller has workers in large installations, one call each
// every, and reports their duration.
func load(b *testing.B, url string, body []byte, every time.Duration) {
	const workers = 32
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
	defer client.CloseIdleConnections()
	elapsed := make([]time.Duration, b.N)
	due := make(chan int, b.N)
	for i := range b.N {
		due <- i
	}
	close(due)
	var group sync.WaitGroup
	began := time.Now()
	for range workers {
		group.Go(func() {
			for i := range due {
				at := time.Now()
				if every > 0 {
					at = began.Add(time.Duration(i) * every)
					time.Sleep(time.Until(at))
				}
				request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				request.Header.Set("Content-Type", "application/json")
				response, err := client.Do(request)
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
				if response.StatusCode != http.StatusOK {
					b.Errorf("%s: %d", url, response.StatusCode)
				}
				elapsed[i] = time.Since(at)
			}
		})
	}
	group.Wait()
	all := time.Since(began)
	slices.Sort(elapsed)
	b.ReportMetric(float64(b.N)/all.Seconds(), "calls/s")
	for name, part := range map[string]float64{"p50-ms": 0.5, "p99-ms": 0.99, "max-ms": 1} {
		b.ReportMetric(elapsed[min(int(float64(b.N)*part), b.N-1)].Seconds()*1000, name)
	}
	b.ReportMetric(0, "ns/op")
}
