// Package apiserver gives tests a real API server with Cairn's kinds, and a cache on it that can be waited for.
package apiserver

import (
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/test/leaks"
	"cairn.dev/cairn/test/program"
)

// patience is the time limit of each wait of a test: a wait that ends early costs nothing, and a busy machine takes its
// time.
const patience = 2 * time.Minute

// Config reaches the API server that Main started.
var Config *rest.Config

// Kube reads and writes it without a cache.
var Kube client.WithWatch

// libraries are the goroutines that libraries leave behind, and that cannot be ended.
var libraries = []goleak.Option{
	// A watch of a cache, that was ended with an event on its way.
	goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"),
	// Each cache of the permissions of users; a server has three, for all its life.
	goleak.IgnoreTopFunction("github.com/hashicorp/golang-lru/v2/expirable.NewLRU[...].func1"),
}

// Main is a TestMain: it starts the API server, installs the kinds from the folder crds, runs the tests, and finds what
// they leave behind.
func Main(m *testing.M, crds string) {
	tools, err := dev.BinDir()
	if err != nil {
		panic(err)
	}
	program.CollectLess()
	env, err := start(tools, crds)
	if err != nil {
		panic("start the API server (run make tools first): " + err.Error())
	}
	Config = env.Config
	Config.QPS = -1
	if Kube, err = client.NewWithWatch(Config, client.Options{Scheme: scheme()}); err != nil {
		panic(err)
	}
	code := leaks.Run(m.Run, connections(), libraries...)
	_ = env.Stop() // it ends with this process
	os.Exit(code)
}

// start starts an API server. A busy machine may need more time for it than there is usually, and what waits for the
// first namespace waits for five seconds in any case, so it may need a retry.
func start(tools, crds string) (env *envtest.Environment, err error) {
	for range 3 {
		env = &envtest.Environment{
			BinaryAssetsDirectory: tools, CRDDirectoryPaths: []string{crds}, ErrorIfCRDPathMissing: true,
			ControlPlaneStartTimeout: patience, ControlPlaneStopTimeout: patience,
			CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: patience},
		}
		if _, err = env.Start(); err == nil {
			return env, nil
		}
		_ = env.Stop() // what did start
	}
	return nil, err
}

// connections returns a function that closes the idle connections of all clients and impersonated users. It keeps the
// transports, because a connection of a dropped transport cannot be closed here, and remains until the API server
// closes it.
func connections() func() {
	var shared []http.RoundTripper
	for _, c := range []*rest.Config{Config, rest.AnonymousClientConfig(Config)} {
		transport, err := rest.TransportFor(c)
		if err != nil {
			panic(err)
		}
		shared = append(shared, transport)
	}
	return func() {
		for _, transport := range shared {
			utilnet.CloseIdleConnectionsFor(transport) // also those of wrapped transports
		}
	}
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}

// Env is a new namespace, with a client that reads from a cache and a reader of the API server.
type Env struct {
	*testing.T
	Client    client.Client
	Live      client.Reader
	Namespace string
}

// An Index is a field that the cache is asked by.
type Index struct {
	Of     client.Object
	Field  string
	Values client.IndexerFunc
}

// New creates a namespace, and a cache that runs until the end of the test.
func New(t *testing.T, indexes ...Index) Env {
	t.Helper()
	c, err := cluster.New(Config, func(o *cluster.Options) { o.Scheme, o.NewClient = scheme(), newClient })
	Must(t, err)
	for _, i := range indexes {
		Must(t, c.GetFieldIndexer().IndexField(t.Context(), i.Of, i.Field, i.Values))
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Start(t.Context()) // ends with the test
	}()
	t.Cleanup(func() { <-ended })
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	Must(t, c.GetClient().Create(t.Context(), namespace))
	return Env{T: t, Client: c.GetClient(), Live: c.GetAPIReader(), Namespace: namespace.Name}
}

// newClient makes a client as the operator has it: a read waits until the cache has what was written before it.
func newClient(config *rest.Config, o client.Options) (client.Client, error) {
	wait := true
	o.Cache.EnableReadYourWritesConsistency = &wait
	return client.New(config, o)
}

// Must ends a test that cannot go on.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Make creates objects and waits until the cache has them.
func (r Env) Make(objects ...client.Object) {
	r.Helper()
	for _, o := range objects {
		o.SetNamespace(r.Namespace)
		Must(r.T, r.Client.Create(r.Context(), o))
		r.Seen(o)
	}
}

// Seen reads an object from the API server and waits until the cache has it as it is there, or newer: a controller can
// write it meanwhile. For Secrets and ConfigMaps it waits for their metadata too, which has a cache of its own.
func (r Env) Seen(o client.Object) {
	r.Helper()
	Must(r.T, r.Live.Get(r.Context(), client.ObjectKeyFromObject(o), o))
	current := func(cached client.Object, err error) bool {
		order, wrong := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), o.GetResourceVersion())
		return err == nil && wrong == nil && order >= 0
	}
	r.eventually(o, current)
	switch o.(type) {
	case *corev1.Secret:
		r.eventually(Metadata("Secret", o.GetNamespace(), o.GetName()), current)
	case *corev1.ConfigMap:
		r.eventually(Metadata("ConfigMap", o.GetNamespace(), o.GetName()), current)
	}
}

// Gone waits until the cache has heard that an object is gone.
func (r Env) Gone(o client.Object) {
	r.Helper()
	r.eventually(o, func(_ client.Object, err error) bool { return apierrors.IsNotFound(err) })
}

func (r Env) eventually(o client.Object, ok func(client.Object, error) bool) {
	r.Helper()
	cached := o.DeepCopyObject().(client.Object)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if ok(cached, r.Client.Get(r.Context(), client.ObjectKeyFromObject(o), cached)) {
			return
		}
	}
	r.Fatalf("the cache never heard of %T %s", o, o.GetName())
}

// Metadata is an object of which only the metadata is cached.
func Metadata(kind, namespace, name string) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return m
}
