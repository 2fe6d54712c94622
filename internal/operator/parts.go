package operator

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/bucket"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/run"
	"cairn.dev/cairn/internal/server"
	"cairn.dev/cairn/internal/state"
)

// keysSecret holds the install's keys, in Cairn's namespace.
const keysSecret = "cairn-keys"

// parts are what both halves of Cairn use.
type parts struct {
	// direct reads and writes without a cache.
	direct client.Client
	keys   *server.Keys
	bucket *bucket.Bucket
	inputs *inputs.Store
	states *state.Store
	log    *slog.Logger
}

func makeParts(ctx context.Context, mgr ctrl.Manager, o Options) (*parts, error) {
	log := slog.New(logr.ToSlogHandler(o.Log))
	direct, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return nil, err
	}
	keys, err := server.LoadKeys(ctx, direct, types.NamespacedName{Namespace: o.Namespace, Name: keysSecret}, time.Now, log)
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
	return &parts{
		direct: direct,
		keys:   keys,
		bucket: b,
		inputs: inputs.NewStore(b),
		states: state.New(direct, direct, b, state.Options{Home: o.StateHome, Fingerprint: keys.Fingerprint, Log: log}),
		log:    log,
	}, nil
}

func (p *parts) close() {
	if err := p.bucket.Close(); err != nil {
		p.log.Warn("bucket not closed", "error", err)
	}
}

// addServer adds the store.
func addServer(ctx context.Context, mgr ctrl.Manager, p *parts, o Options) error {
	orders := run.NewOrders(mgr.GetClient(), p.inputs, o.RunnerPatience, p.keys.Recipient())
	if err := wake(ctx, mgr, orders); err != nil {
		return err
	}
	address, err := url.Parse(o.StoreURL)
	if err != nil {
		return fmt.Errorf("store URL: %w", err)
	}
	engines, mirror, closers, err := o.Downloads.open(o.CacheDir)
	if err != nil {
		return err
	}
	if err := mgr.Add(closers); err != nil {
		return err
	}
	s, err := server.New(server.Options{
		Engines:   engines,
		Providers: mirror,
		Address:   o.StoreAddress,
		Hosts:     []string{address.Hostname()},
		Keys:      p.keys,
		Client:    p.direct,
		Live:      p.direct,
		State:     p.states,
		Bucket:    p.bucket,
		Runs:      runsByPod{mgr.GetClient()},
		Orders:    orders,
		Reports:   run.Reports{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		Inputs:    p.inputs.Get,
		Outputs:   outputsOf(mgr.GetClient()),
		Log:       p.log,
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(s); err != nil || o.WebAddress == "0" {
		return err
	}
	return mgr.Add(server.NewWeb(server.WebOptions{Address: o.WebAddress, Cache: mgr.GetClient(), Client: p.direct, Log: p.log}))
}

// wake tells orders of every event on a Run.
func wake(ctx context.Context, mgr ctrl.Manager, orders *run.Orders) error {
	informer, err := mgr.GetCache().GetInformer(ctx, &v1alpha1.Run{})
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { changed(orders, o) },
		UpdateFunc: func(_, o any) { changed(orders, o) },
		DeleteFunc: func(o any) { changed(orders, o) },
	})
	return err
}

func changed(orders *run.Orders, o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	if r, ok := o.(*v1alpha1.Run); ok {
		orders.Changed(r)
	}
}

// runsByPod finds Runs in the cache.
type runsByPod struct{ client.Reader }

// ByPod finds the Run that names the pod.
func (r runsByPod) ByPod(ctx context.Context, namespace string, pod types.UID) (*v1alpha1.Run, error) {
	return run.ByPod(ctx, r.Reader, namespace, pod)
}

// outputsOf says where a Run's outputs go.
func outputsOf(c client.Reader) func(context.Context, *v1alpha1.Run) (*v1alpha1.Outputs, *v1alpha1.Stack, error) {
	return func(ctx context.Context, r *v1alpha1.Run) (*v1alpha1.Outputs, *v1alpha1.Stack, error) {
		stack, err := run.StackOf(ctx, c, r)
		if err != nil || stack == nil {
			return nil, nil, err
		}
		return stack.Spec.Outputs, stack, nil
	}
}
