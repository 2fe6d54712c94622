package download

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/base/egress/egresstest"
)

func TestTransferProgress(t *testing.T) {
	var all Transfers
	if got := all.Of("a"); got != (Transfer{}) {
		t.Errorf("before it begins: %+v", got)
	}
	first := all.Begin("a", "https://x/sums")
	_, _ = first.Write(make([]byte, 7))
	second := all.Begin("a", "https://x/zip")
	all.Begin("b", "https://y")
	second.Expect(100)
	_, _ = second.Write(make([]byte, 30))
	_, _ = second.Write(make([]byte, 3))
	if diff := cmp.Diff(Transfer{From: "https://x/zip", Received: 33, Total: 100}, all.Of("a")); diff != "" {
		t.Error(diff)
	}
	second.Expect(-1)
	all.End("b")
	if a, b := all.Of("a"), all.Of("b"); a.Total != 0 || b != (Transfer{}) {
		t.Errorf("%+v %+v", a, b)
	}
}

// serve gives a server that answers its head after one time and the rest of its body after another.
func serve(t *testing.T, head, body time.Duration) *httptest.Server {
	t.Helper()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		wait := func(d time.Duration) {
			select {
			case <-time.After(d):
			case <-over:
			}
		}
		wait(head)
		_, _ = w.Write([]byte("some"))
		_ = http.NewResponseController(w).Flush()
		wait(body)
		_, _ = w.Write([]byte("more"))
	}))
	t.Cleanup(func() { close(over); server.Close() })
	return server
}

func TestUnresponsiveServerTimesOut(t *testing.T) {
	server := serve(t, time.Hour, 0)
	began := time.Now()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: Transport(egresstest.Loopback(), 50*time.Millisecond)}).Do(request)
	if err == nil {
		answer.Body.Close()
		t.Fatal("it answered")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestStalledResponseFails(t *testing.T) {
	for name, test := range map[string]struct {
		pause time.Duration
		want  string
		err   error
	}{
		"for long":            {time.Hour, "some", ErrStalled},
		"for a moment":        {10 * time.Millisecond, "somemore", nil},
		"not, and then it is": {0, "somemore", nil},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, through, _ := watch(t.Context(), 300*time.Millisecond)
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, serve(t, 0, test.pause).URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := (&http.Client{Transport: Transport(egresstest.Loopback(), 0)}).Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body := through(answer.Body)
			defer body.Close()
			got, err := io.ReadAll(body)
			if string(got) != test.want || !errors.Is(err, test.err) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
