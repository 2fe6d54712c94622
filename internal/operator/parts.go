package operator

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/bucket"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/listing"
	"cairn.dev/cairn/internal/metacontroller"
	"cairn.dev/cairn/internal/run/dispatch"
	"cairn.dev/cairn/internal/run/index"
	"cairn.dev/cairn/internal/server"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/pki"
	"cairn.dev/cairn/internal/server/policyeval"
	"cairn.dev/cairn/internal/server/webhook"
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

// measure has the parts counted.
func (p *parts) measure(t *telemetry) {
	p.telemetry, p.watch = t, &watch{}
	p.bucket.Measure(t.bucket)
}

func makeParts(ctx context.Context, mgr ctrl.Manager, o Options) (*parts, error) {
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
	return &parts{
		direct: direct,
		keys:   keys,
		bucket: b,
		inputs: inputs.NewStore(b),
		states: state.New(direct, direct, b, state.Options{Storage: o.StateStorage, Fingerprint: keys.Fingerprint, Log: log}),
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
	policies := policyeval.New(policyeval.Options{
		Live: p.direct, Namespace: o.Namespace, Bucket: p.bucket, Inputs: p.inputs.Get, Evaluate: o.Policies.Evaluate, Log: p.log, Metrics: p.telemetry.server,
	})
	orders := &dispatch.Orders{
		Client: mgr.GetClient(), Live: p.direct, Inputs: p.inputs, Patience: o.RunnerPatience, Recipient: p.keys.Recipient(),
		Policy: policies.Asked,
	}
	if err := onRunEvent(ctx, mgr, orders.Changed); err != nil {
		return err
	}
	address, err := url.Parse(o.StoreURL)
	if err != nil {
		return fmt.Errorf("store URL: %w", err)
	}
	engines, mirror, closers, err := o.Downloads.open(o.CacheDir, p.telemetry)
	if err != nil {
		return err
	}
	if err := mgr.Add(closers); err != nil {
		return err
	}
	public, err := publicOf(o)
	if err != nil {
		return err
	}
	certificate, err := certificateOf(o, address, public, p.log)
	if err != nil {
		return err
	}
	if certificate != nil {
		if err := mgr.Add(certificate); err != nil {
			return err
		}
	}
	tokens, gone, err := o.RunnerTokens.open(ctx, mgr.GetConfig(), p.direct)
	if err != nil {
		return err
	}
	authority, err := clientCA(mgr, o)
	if err != nil {
		return err
	}
	catalog := listing.NewCatalog()
	if err := catalog.Fill(ctx, mgr.GetCache()); err != nil {
		return err
	}
	signIn := o.SignIn
	signIn.URL = cmp.Or(signIn.URL, public.URL)
	s, err := server.New(server.Options{
		Engines:   engines,
		Providers: mirror,
		Address:   o.StoreAddress,
		Hosts:     hostsOf(address, public),
		Keys:      p.keys,
		Client:    p.direct,
		Live:      p.direct,
		State:     p.states,
		Bucket:    p.bucket,
		Runs:      runsByPod{mgr.GetClient()},
		Orders:    orders,
		Reports:   dispatch.Reports{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Policies: policies.Result, Recorder: p.telemetry.witness(mgr, p.log)},
		Inputs:    p.inputs.Get,
		Outputs:   outputsOf(mgr.GetClient(), p.direct),
		Policies:  policies,
		Cache:     mgr.GetClient(),
		Catalog:   catalog,
		ClientCA:  authority,
		SignIn:    signIn,
		Events:    mgr.GetEventRecorder("cairn"),
		Public:    publishedEndpoint(o, public),
		Metrics:   p.telemetry.server,
		Log:       p.log,

		Kubernetes:      mgr.GetConfig(),
		HostCertificate: certificate,
		Tokens:          tokens,
		GoneTokens:      gone,
		Namespaces:      o.Namespaces,
	})
	if err != nil {
		return err
	}
	if err := onRunEvent(ctx, mgr, s.RunChanged); err != nil {
		return err
	}
	if err := mgr.Add(s); err != nil {
		return err
	}
	if o.MetacontrollerAddress != "" && o.MetacontrollerAddress != "0" {
		hooks := metacontroller.NewHandler(metacontroller.HandlerOptions{Log: p.log, Record: p.telemetry.server.MetacontrollerHook})
		if err := mgr.Add(&server.Plain{Address: o.MetacontrollerAddress, Handler: hooks, Log: p.log}); err != nil {
			return err
		}
	}
	if o.WebAddress == "0" {
		return nil
	}
	webhooks := webhook.Repositories{
		Cache: mgr.GetClient(), Client: p.direct, Record: p.telemetry.server.Webhook, Traces: p.telemetry.traces, Log: p.log,
	}
	return mgr.Add(&server.Plain{Address: o.WebAddress, Handler: s.WebHandler(webhooks.Handler()), Log: p.log})
}

// clientCA verifies client certificates of users; nil where none are accepted.
func clientCA(mgr ctrl.Manager, o Options) (auth.ClientCA, error) {
	if !o.ClientCertificates {
		return nil, nil
	}
	kube, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return nil, err
	}
	authority, err := auth.NewClusterCA(kube)
	if err != nil {
		return nil, err
	}
	return authority.VerifyOptions, mgr.Add(authority)
}

// publicOf is where users find the server.
func publicOf(o Options) (server.Public, error) {
	public := server.Public{URL: strings.TrimSuffix(cmp.Or(o.PublicURL, o.StoreURL), "/"), OwnCA: !o.PublicTrusted}
	if u, err := url.Parse(public.URL); err != nil || u.Scheme != "https" || u.Host == "" {
		return public, fmt.Errorf("public URL %q: an address with https is needed, as in "+
			"https://cairn.example.com", public.URL)
	}
	return public, nil
}

// publishedEndpoint is what the server publishes of its address to all users of the cluster.
func publishedEndpoint(o Options, public server.Public) server.Public {
	if !o.PublishEndpoint {
		return server.Public{}
	}
	return public
}

// certificateOf is the certificate for the host that users use, where there is one beside the server's own. Runners
// trust the server's own only, so theirs is another host.
func certificateOf(o Options, address *url.URL, public server.Public, log *slog.Logger) (*pki.HostCertificate, error) {
	if o.CertDir == "" {
		return nil, nil
	}
	u, err := url.Parse(public.URL)
	if err != nil {
		return nil, err
	}
	if u.Hostname() == address.Hostname() || net.ParseIP(u.Hostname()) != nil {
		return nil, fmt.Errorf("a certificate in %s is for the host of the public URL, which has to be a name and "+
			"another one than that of the store URL; it is %s", o.CertDir, u.Hostname())
	}
	return pki.NewHostCertificate(o.CertDir, u.Hostname(), log), nil
}

// hostsOf are the names that the server's own certificate has.
func hostsOf(address *url.URL, public server.Public) []string {
	hosts := []string{address.Hostname()}
	if u, err := url.Parse(public.URL); err == nil && public.OwnCA && u.Hostname() != hosts[0] {
		hosts = append(hosts, u.Hostname())
	}
	return hosts
}

// onRunEvent calls changed for every event on a Run.
func onRunEvent(ctx context.Context, mgr ctrl.Manager, changed func(*v1alpha1.Run)) error {
	informer, err := mgr.GetCache().GetInformer(ctx, &v1alpha1.Run{})
	if err != nil {
		return err
	}
	tell := func(o any) {
		if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = gone.Obj
		}
		if r, ok := o.(*v1alpha1.Run); ok {
			changed(r)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, o any) { tell(o) }, DeleteFunc: tell,
	})
	return err
}

// runsByPod finds Runs in the cache.
type runsByPod struct{ client.Reader }

// ByPod finds the Run that names the pod.
func (r runsByPod) ByPod(ctx context.Context, namespace string, pod types.UID) (*v1alpha1.Run, error) {
	return index.ByPod(ctx, r.Reader, namespace, pod)
}

// outputsOf is where a Run's outputs go.
func outputsOf(
	cached, live client.Reader,
) func(context.Context, *v1alpha1.Run) (*v1alpha1.Outputs, *v1alpha1.Stack, error) {
	return func(ctx context.Context, r *v1alpha1.Run) (*v1alpha1.Outputs, *v1alpha1.Stack, error) {
		stack, err := index.StackOf(ctx, cached, live, r)
		if err != nil || stack == nil {
			return nil, nil, err
		}
		return stack.Spec.Outputs, stack, nil
	}
}
