package operator

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/server/pki"
	"cairn.dev/cairn/internal/state"
)

// keysSecret has the installation's keys, in Cairn's namespace.
const keysSecret = "cairn-keys"

// parts are what both halves of Cairn use.
type parts struct {
	// direct reads and writes without a cache.
	direct client.Client
	keys   *pki.Keys
	bucket *bucket.Bucket
	inputs *inputs.Store
	states *state.Store
	log    *slog.Logger
	// telemetry has the process's metrics and traces, and watch which reconciles are under way.
	telemetry *telemetry
	watch     *watch
}

func newParts(ctx context.Context, mgr ctrl.Manager, o Options, t *telemetry) (*parts, error) {
	log := slog.New(logr.ToSlogHandler(o.Log))
	direct, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return nil, err
	}
	keys, err := pki.LoadKeys(ctx, pki.KeysOptions{
		Client: direct, Secret: types.NamespacedName{Namespace: o.Namespace, Name: keysSecret},
		BucketURL: o.BucketURL, Namespaces: o.Namespaces, Now: time.Now, Log: log,
	})
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(keys); err != nil {
		return nil, err
	}
	b, err := bucket.Open(ctx, o.BucketURL, keys.Bucket())
	if err != nil {
		return nil, fmt.Errorf("open bucket: %w", err)
	}
	b.Follow(keys.Bucket, keys.Renew)
	b.Measure(t.bucket)
	states := state.New(direct, direct, b, state.Options{
		Storage: o.StateStorage, Fingerprint: keys.Fingerprint, Log: log,
	})
	return &parts{
		direct: direct, keys: keys, bucket: b, inputs: inputs.NewStore(b), states: states, log: log,
		telemetry: t, watch: &watch{},
	}, nil
}

func (p *parts) close() {
	if err := p.bucket.Close(); err != nil {
		p.log.Warn("bucket not closed", "error", err)
	}
}
