package operator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// addHealth adds /healthz, which fails when only a restart helps: some reconcile does not come to an end. And
// /readyz, which fails while the process cannot work: its cache has not seen what there is yet, the server does not
// answer, or the bucket cannot be read. That another one is the leader is no reason for either.
func addHealth(_ context.Context, mgr ctrl.Manager, p *parts, o Options) error {
	filled := func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), 100*time.Millisecond)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the cache is not filled yet")
		}
		return nil
	}
	probe := &bucketProbe{check: p.bucket.Reachable, onChange: func(err error) {
		if err != nil {
			p.log.Warn("the bucket cannot be read", "error", err)
		} else {
			p.log.Info("the bucket can be read")
		}
	}}
	err := errors.Join(
		mgr.Add(probe),
		mgr.AddHealthzCheck("reconciles", func(*http.Request) error { return p.watch.stuck(time.Now()) }),
		mgr.AddReadyzCheck("cache", filled),
		mgr.AddReadyzCheck("bucket", func(*http.Request) error { return probe.last() }),
	)
	if err != nil || !o.Server {
		return err
	}
	address, err := url.Parse(o.ServerURL)
	if err != nil {
		return fmt.Errorf("server URL: %w", err)
	}
	return mgr.AddReadyzCheck("server", func(r *http.Request) error {
		return askServer(r.Context(), o.ServerAddress, address.Hostname(), p.keys.Bundle())
	})
}

const (
	// reconcileTime is how long a reconcile may take, which is more than any needs: none waits for a Run, a fetch
	// or a pod. A request that hangs is canceled then, and the reconcile is tried again.
	reconcileTime = 5 * time.Minute
	// longestReconcile is when one has ignored that too, as in a file system that hangs.
	longestReconcile = 15 * time.Minute
)

// watch knows which reconciles are under way.
type watch struct {
	mu    sync.Mutex
	began map[*reconcile.Request]underWay
}

type underWay struct {
	kind  string
	since time.Time
}

// over has the reconciles of a kind watched.
func (w *watch) over(kind string, r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		w.mu.Lock()
		if w.began == nil {
			w.began = map[*reconcile.Request]underWay{}
		}
		w.began[&req] = underWay{kind, time.Now()}
		w.mu.Unlock()
		defer func() {
			w.mu.Lock()
			delete(w.began, &req)
			w.mu.Unlock()
		}()
		return r.Reconcile(ctx, req)
	})
}

// stuck names a reconcile that does not end.
func (w *watch) stuck(now time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for req, one := range w.began {
		if took := now.Sub(one.since); took > longestReconcile {
			return fmt.Errorf("the %s controller has been at %s for %s", one.kind, req, took.Round(time.Second))
		}
	}
	return nil
}

const (
	// checkInterval is the interval of the checks of the bucket, and checkTimeout how long one may take: more than a
	// probe has.
	checkInterval = 5 * time.Second
	checkTimeout  = 4 * time.Second
)

// bucketProbe checks the bucket periodically, so that a probe is answered at once.
type bucketProbe struct {
	check func(context.Context) error
	// onChange is called when the result changes.
	onChange func(error)

	mu      sync.Mutex
	checked bool
	err     error
}

// NeedLeaderElection is false: every process checks for itself.
func (l *bucketProbe) NeedLeaderElection() bool { return false }

// Start checks until ctx is done.
func (l *bucketProbe) Start(ctx context.Context) error {
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		l.once(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// errHangs is the result of a check that does not end.
var errHangs = errors.New("it does not answer")

func (l *bucketProbe) once(ctx context.Context) {
	checkCtx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	// A file system that hangs ignores the ctx, and this waits for it.
	hangs := time.AfterFunc(checkInterval, func() { l.found(ctx, errHangs) })
	err := l.check(checkCtx)
	hangs.Stop()
	l.found(ctx, err)
}

func (l *bucketProbe) found(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock() // also during the call of onChange: one after the other
	changed := (err == nil) != (l.err == nil)
	l.checked, l.err = true, err
	if changed {
		l.onChange(err)
	}
}

func (l *bucketProbe) last() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.checked {
		return errors.New("not checked yet")
	}
	return l.err
}

// askServer sends a request to the server as a runner does, over TLS with the installation's certificate
// authorities.
func askServer(ctx context.Context, address, host string, authorities []byte) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authorities)
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: pool, ServerName: host, MinVersion: tls.VersionTLS13},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/healthz", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		return fmt.Errorf("the server answers %s", answer.Status)
	}
	return nil
}
