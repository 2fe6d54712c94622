package operator

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// addHealth adds /healthz, which says that the process answers, and /readyz, which says that it can work: its cache has
// seen what there is, and the store listens.
func addHealth(mgr ctrl.Manager, o Options) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	err := mgr.AddReadyzCheck("cache", func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), 100*time.Millisecond)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the cache is not filled yet")
		}
		return nil
	})
	if err != nil || !o.Server {
		return err
	}
	return mgr.AddReadyzCheck("store", func(r *http.Request) error {
		dialer := net.Dialer{Timeout: time.Second}
		conn, err := dialer.DialContext(r.Context(), "tcp", o.StoreAddress)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}
