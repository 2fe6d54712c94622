package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/dispatch"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/server"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/listing"
	"cairn.dev/cairn/internal/server/pki"
	"cairn.dev/cairn/internal/server/policyeval"
	"cairn.dev/cairn/internal/server/runnerhandler"
	"cairn.dev/cairn/internal/server/webhook"
)

// addServer adds the server for runners and users, and the one for Git providers and browsers.
func addServer(ctx context.Context, mgr ctrl.Manager, p *parts, o Options) error {
	at, err := endpointsOf(o, p.log)
	if err != nil {
		return err
	}
	engines, mirror, closers, err := o.Downloads.open(o.CacheDir, p.telemetry)
	if err != nil {
		return err
	}
	tokens, gone, err := o.RunnerTokens.open(ctx, mgr.GetConfig(), p.direct)
	if err != nil {
		return err
	}
	authority, err := clientCA(mgr, o)
	if err != nil {
		return err
	}
	policies := policyeval.New(policyeval.Options{
		Live: p.direct, Namespace: o.Namespace, Bucket: p.bucket, Inputs: p.inputs.Get, Evaluate: o.Policies.Evaluate,
		Log: p.log, Metrics: p.telemetry.server,
	})
	runs := dispatch.NewRunsByPod(mgr.GetClient(), p.direct)
	orders := &dispatch.Orders{
		Runs: runs, Client: mgr.GetClient(), Live: p.direct, Inputs: p.inputs, Patience: o.RunnerPatience,
		Recipient: p.keys.Recipient, Policy: policies.Asked,
	}
	reports := dispatch.Reports{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Runs: runs, Policies: policies.Result,
		Recorder: p.telemetry.witness(mgr, p.log),
	}
	watches, err := client.NewWithWatch(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return err
	}
	catalog := listing.NewCatalog()
	catalog.Mirror(watches, o.Namespaces)
	s, err := server.New(server.Options{
		Options: runnerhandler.Options{
			Namespaces: o.Namespaces, Client: p.direct, Live: p.direct, Catalog: catalog, State: p.states,
			Bucket:      p.bucket,
			Fingerprint: p.keys.Fingerprint,
			Runs:        runs, Orders: orders, Reports: reports, Policies: policies, Inputs: p.inputs.Get,
			Outputs: outputsOf(mgr.GetClient(), p.direct), Engines: engines, Providers: mirror,
			Events: recorder(mgr), Metrics: p.telemetry.server, Log: p.log,
		},
		Address: o.ServerAddress, Hosts: at.hosts, Public: at.published, HostCertificate: at.certificate, Keys: p.keys,
		Tokens: tokens, GoneTokens: gone, Cache: mgr.GetClient(), ClientCA: authority, Kubernetes: mgr.GetConfig(),
		SignIn: at.signIn,
	})
	if err != nil {
		return err
	}
	err = errors.Join(
		onRunEvent(ctx, mgr, orders.Changed), onRunEvent(ctx, mgr, s.RunChanged), mgr.Add(catalog),
		mgr.AddReadyzCheck("catalog", func(*http.Request) error { return catalog.CheckFilled() }),
		mgr.Add(closers), mgr.Add(s),
	)
	if at.certificate != nil {
		err = errors.Join(err, mgr.Add(at.certificate))
	}
	return errors.Join(err, addPlain(mgr, p, o, s))
}

// addPlain adds the server without TLS: for Git providers and browsers.
func addPlain(mgr ctrl.Manager, p *parts, o Options, s *server.Server) error {
	if o.WebAddress == "0" {
		return nil
	}
	webhooks := webhook.Repositories{
		Cache: mgr.GetClient(), Client: p.direct, Record: p.telemetry.server.Webhook, Traces: p.telemetry.traces,
		Log: p.log,
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

// endpoints are where runners and users find the server.
type endpoints struct {
	// hosts are the names that the server's own certificate has.
	hosts []string
	// published is what all users of the cluster can read; nothing is published of the zero value.
	published server.Public
	// certificate for the host that users use; nil for the server's own.
	certificate *pki.HostCertificate
	// signIn has the address of the web UI.
	signIn auth.SignIn
}

func endpointsOf(o Options, log *slog.Logger) (endpoints, error) {
	own, err := url.Parse(o.ServerURL)
	if err != nil {
		return endpoints{}, fmt.Errorf("server URL: %w", err)
	}
	public := server.Public{URL: strings.TrimSuffix(cmp.Or(o.PublicURL, o.ServerURL), "/"), OwnCA: !o.PublicTrusted}
	u, err := url.Parse(public.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return endpoints{}, fmt.Errorf("public URL %q: an address with https is needed, as in "+
			"https://cairn.example.com", public.URL)
	}
	at := endpoints{hosts: []string{own.Hostname()}, signIn: o.SignIn}
	at.signIn.URL = cmp.Or(o.SignIn.URL, public.URL)
	if public.OwnCA && u.Hostname() != own.Hostname() {
		at.hosts = append(at.hosts, u.Hostname())
	}
	if o.PublishEndpoint {
		at.published = public
	}
	// Runners trust the server's own certificate only, so theirs is another host.
	switch {
	case o.CertDir == "":
	case u.Hostname() == own.Hostname() || net.ParseIP(u.Hostname()) != nil:
		return endpoints{}, fmt.Errorf("a certificate in %s is for the host of the public URL, which has to be "+
			"a name and another one than that of --server-url; it is %s", o.CertDir, u.Hostname())
	default:
		at.certificate = pki.NewHostCertificate(o.CertDir, u.Hostname(), log)
	}
	return at, nil
}

// onRunEvent calls changed for every event on a Run. That it is finished is the event of its deletion where the cache
// has no such Runs: what changed reads it.
func onRunEvent(ctx context.Context, mgr ctrl.Manager, changed func(*v1alpha1.Run)) error {
	informer, err := mgr.GetCache().GetInformer(ctx, &v1alpha1.Run{})
	if err != nil {
		return err
	}
	notify := func(o any) {
		if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = gone.Obj
		}
		if r, ok := o.(*v1alpha1.Run); ok {
			changed(r)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: notify, UpdateFunc: func(_, o any) { notify(o) }, DeleteFunc: notify,
	})
	return err
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
