package operator

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// apiPatience is how long a process that starts waits for the API server: less than the two minutes that the
	// startup probe of the chart allows.
	apiPatience = 90 * time.Second
	// askAPIEvery is how often it asks, and askAPIFor how long an answer may take.
	askAPIEvery = 500 * time.Millisecond
	askAPIFor   = 5 * time.Second
)

// awaitAPI waits until the API server answers, or until patience is over: then the next step reports the error.
//
// A leader that loses its Lease ends, and so does a process that runs alone while the API server is away. If it
// ended at once on each restart, it would be restarted later and later, up to five minutes apart, and the server be
// away for as much longer than the API server: longer than runners wait, so that their states would be stranded.
func awaitAPI(ctx context.Context, config *rest.Config, patience time.Duration, log logr.Logger) error {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	until, said := time.Now().Add(patience), false
	for {
		err := kube.Discovery().RESTClient().Get().AbsPath("/readyz").MaxRetries(0).Timeout(askAPIFor).Do(ctx).Error()
		if refusal := apierrors.APIStatus(nil); err == nil ||
			errors.As(err, &refusal) && refusal.Status().Code < http.StatusInternalServerError {
			return nil // a denial is an answer too
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(until) {
			return nil
		}
		if !said {
			said = true
			log.Info("waiting for the API server", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(askAPIEvery):
		}
	}
}
