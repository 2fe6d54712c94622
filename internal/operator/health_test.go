package operator

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestHealthNamesAStuckReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w watch
		begun, end := make(chan struct{}, 2), make(chan struct{})
		slow := w.over("run", reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) {
			begun <- struct{}{}
			<-end
			return ctrl.Result{}, nil
		}))
		done := make(chan struct{})
		go func() {
			_, _ = slow.Reconcile(t.Context(),
				ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "prod", Name: "net-7"}})
			close(done)
		}()
		<-begun
		time.Sleep(longestReconcile) // on the clock of synctest
		if err := w.stuck(time.Now()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if err := w.stuck(time.Now()); err == nil ||
			!strings.Contains(err.Error(), "run controller has been at prod/net-7") {
			t.Errorf("got %v", err)
		}
		close(end)
		<-done
		if err := w.stuck(time.Now()); err != nil {
			t.Errorf("unhealthy after the reconcile ended: %v", err)
		}
	})
}

func TestBucketIsCheckedPeriodically(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space")
		var broken atomic.Bool
		var logged []string
		l := &bucketProbe{check: func(context.Context) error {
			if broken.Load() {
				return full
			}
			return nil
		}, onChange: func(err error) {
			if err == nil {
				logged = append(logged, "well")
			} else {
				logged = append(logged, err.Error())
			}
		}}
		if l.last() == nil {
			t.Error("healthy before the first check")
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- l.Start(ctx) }()
		synctest.Wait()
		if err := l.last(); err != nil {
			t.Error(err)
		}
		broken.Store(true)
		time.Sleep(2*checkInterval + time.Second)
		if err := l.last(); !errors.Is(err, full) {
			t.Errorf("got %v", err)
		}
		broken.Store(false)
		time.Sleep(checkInterval)
		if err := l.last(); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-ended; err != nil || strings.Join(logged, ", ") != "no space, well" {
			t.Errorf("%v, logged %q", err, logged)
		}
	})
}

// TestHangingBucketIsUnhealthy checks a file system that hangs, as NFS without its server: the check ignores its
// timeout.
func TestHangingBucketIsUnhealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		there := make(chan struct{})
		var logged []string
		l := &bucketProbe{check: func(context.Context) error {
			if hangs.Load() {
				<-there
			}
			return nil
		}, onChange: func(err error) {
			if err == nil {
				logged = append(logged, "well")
			} else {
				logged = append(logged, err.Error())
			}
		}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- l.Start(ctx) }()
		synctest.Wait()
		hangs.Store(true)
		time.Sleep(3 * checkInterval)
		if l.last() == nil {
			t.Error("healthy while the check hangs")
		}
		hangs.Store(false)
		close(there)
		synctest.Wait()
		if err := l.last(); err != nil {
			t.Error(err)
		}
		time.Sleep(3 * checkInterval)
		cancel()
		if err := <-ended; err != nil || strings.Join(logged, ", ") != errHangs.Error()+", well" {
			t.Errorf("%v, logged %q", err, logged)
		}
	})
}

// TestHealthOfTheStateServer checks that the server needs a certificate of the installation and a response, not only an
// open port.
func TestHealthOfTheStateServer(t *testing.T) {
	answer := http.StatusNoContent
	store := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			t.Errorf("got a request for %s", r.URL.Path)
		}
		w.WriteHeader(answer)
	}))
	defer store.Close()
	store.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	address, authority := store.Listener.Addr().String(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: store.Certificate().Raw})
	for end := time.Now().Add(time.Minute); ; {
		err := askServer(t.Context(), address, "example.com", authority)
		if err == nil {
			break
		}
		// the check has a second, which may be too short on a busy machine
		if !errors.Is(err, context.DeadlineExceeded) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
	answer = http.StatusServiceUnavailable
	if askServer(t.Context(), address, "example.com", authority) == nil {
		t.Error("healthy with status 503")
	}
	answer = http.StatusNoContent
	if askServer(t.Context(), address, "example.com", nil) == nil {
		t.Error("healthy with a certificate of another CA")
	}
	if askServer(t.Context(), address, "another.name", authority) == nil {
		t.Error("healthy with a certificate for another name")
	}
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if askServer(t.Context(), silent.Addr().String(), "example.com", authority) == nil {
		t.Error("healthy without a response")
	}
}

func TestCanceledIsNotLoggedAtShutdown(t *testing.T) {
	var text bytes.Buffer
	process, end := context.WithCancel(t.Context())
	log := quietOnceDone(process, logr.FromSlogHandler(slog.NewTextHandler(&text, nil)))
	logged := func() string { defer text.Reset(); return text.String() }
	canceled := errors.Join(errors.New("list"), context.Canceled)
	log.Error(canceled, "Reconciler error")
	if !strings.Contains(logged(), "Reconciler error") {
		t.Error("an error is missing before the shutdown")
	}
	end()
	log.WithName("run").WithValues("run", "net-7").Error(canceled, "Reconciler error")
	slog.New(logr.ToSlogHandler(log)).Warn("request refused", "error", canceled)
	if got := logged(); got != "" {
		t.Errorf("at shutdown: %s", got)
	}
	log.Error(errors.New("no space"), "Bucket not closed")
	slog.New(logr.ToSlogHandler(log)).Warn("bucket not closed", "error", errors.New("no space"))
	log.Info("the end", "error", canceled)
	if got := logged(); strings.Count(got, "\n") != 3 || !strings.Contains(got, "level=WARN") {
		t.Errorf("at shutdown: %s", got)
	}
}

func TestWritesAreCountedByResource(t *testing.T) {
	for path, want := range map[string]string{
		"/apis/cairn.dev/v1alpha1/namespaces/prod/runs/net-7/status":  "runs/status",
		"/apis/cairn.dev/v1alpha1/namespaces/prod/runs":               "runs",
		"/apis/cairn.dev/v1alpha1/namespaces/a/pullrequests/x/status": "pullrequests/status",
		"/api/v1/namespaces/prod/pods/runs":                           "pods",
		"/api/v1/namespaces/prod/serviceaccounts/default/token":       "serviceaccounts/token",
		"/api/v1/namespaces/secrets":                                  "other", // a namespace of that name
		"/api/v1/namespaces/prod/secrets/canary":                      "secrets",
		"/apis/authentication.k8s.io/v1/tokenreviews":                 "tokenreviews",
		"/apis/coordination.k8s.io/v1/namespaces/cairn-system/leases": "leases",
		"/apis/example.com/v1/namespaces/prod/canaries/x":             "other",
		"/healthz": "other",
		"/":        "other",
		"":         "other",
		"/api/v1/": "other",
	} {
		if got := resourceIn(path); got != want {
			t.Errorf("%s is a write to %s, want %s", path, got, want)
		}
	}
}
