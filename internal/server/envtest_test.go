//go:build envtest

package server_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/engine/policy"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/listing"
	"cairn.dev/cairn/internal/server/pki"
	"cairn.dev/cairn/internal/server/policyeval"
	"cairn.dev/cairn/internal/server/runnerhandler"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/test/apiserver"
)

func binaries() string {
	dir, err := dev.BinDir()
	if err != nil {
		panic(err)
	}
	return dir
}

func TestMain(m *testing.M) { apiserver.Main(m, "../../charts/cairn/files/crds") }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// evaluate asks policies in this process.
func evaluate(ctx context.Context, modules []policy.Module, plan []byte) (runnerapi.PolicyResult, error) {
	set, err := policy.Compile(modules)
	if err != nil {
		return runnerapi.PolicyResult{}, err
	}
	return set.Check(ctx, plan, func(string) {})
}

// env is a namespace with a Stack and a server that serves it over TLS.
type env struct {
	*testing.T
	namespace string
	system    string // Cairn's own namespace
	stack     *v1alpha1.Stack
	bucket    *bucket.Bucket
	dir       string // of the bucket
	state     *state.Store
	keys      *pki.Keys
	url       string
	http      *http.Client
	fakes     *fakes
	stop      func()
	source    string // digest of the code
	inputs    string // digest of the inputs
	documents *inputs.Store
	events    *events.FakeRecorder
}

// fakes are the Runs' side. ByPod is as live as can be, or as blind as a cache that just began.
type fakes struct {
	// backend is what all inputs say of the engine's own.
	backend   *v1alpha1.Backend
	blind     bool
	asked     chan struct{}
	order     chan runnerapi.Order
	interrupt chan runnerapi.Interrupt
	reports   chan runnerapi.Report
	outputs   *v1alpha1.Outputs
	stack     *v1alpha1.Stack
}

func (f *fakes) ByPod(ctx context.Context, pod types.NamespacedName, uid types.UID) (*v1alpha1.Run, error) {
	runs := &v1alpha1.RunList{}
	if err := apiserver.Kube.List(ctx, runs, client.InNamespace(pod.Namespace)); err != nil || f.blind {
		return nil, err
	}
	for i := range runs.Items {
		if runinfo.NamesPod(&runs.Items[i], uid) {
			return &runs.Items[i], nil
		}
	}
	return nil, nil
}

func (f *fakes) Next(ctx context.Context, _ types.NamespacedName, _ types.UID, _ int32) (runnerapi.Order, error) {
	f.asked <- struct{}{}
	select {
	case o := <-f.order:
		return o, nil
	case <-ctx.Done():
		return runnerapi.Order{Kind: runnerapi.OrderWait}, nil
	}
}

func (f *fakes) Interrupt(ctx context.Context, _ types.NamespacedName, _ types.UID, _ int32) (runnerapi.Interrupt,
	error) {
	f.asked <- struct{}{}
	select {
	case i := <-f.interrupt:
		return i, nil
	case <-ctx.Done():
		return runnerapi.Interrupt{}, nil
	}
}

func (f *fakes) Report(_ context.Context, _ types.NamespacedName, _ types.UID, _ int32, r runnerapi.Report) error {
	f.reports <- r
	return nil
}

// keysOptions are those of an installation for the namespace of the env alone, which has the keys too.
func (e *env) keysOptions(bucketURL string) pki.KeysOptions {
	return pki.KeysOptions{
		Client: apiserver.Kube, Secret: types.NamespacedName{Namespace: e.namespace, Name: "cairn-keys"},
		BucketURL: bucketURL, Namespaces: []string{e.namespace}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
}

func newEnv(t *testing.T) *env {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "server-"}}
	must(t, apiserver.Kube.Create(t.Context(), ns))
	must(t, apiserver.Kube.Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "default"}}))
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "system-"}}
	must(t, apiserver.Kube.Create(t.Context(), system))
	e := &env{T: t, namespace: ns.Name, system: system.Name}
	e.stack = e.newStack("net")
	e.fakes = &fakes{
		asked: make(chan struct{}, 100), order: make(chan runnerapi.Order, 10),
		interrupt: make(chan runnerapi.Interrupt, 10),
		reports:   make(chan runnerapi.Report, 100), stack: e.stack,
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))

	var err error
	e.dir = t.TempDir()
	e.keys, err = pki.LoadKeys(t.Context(), e.keysOptions("file://"+e.dir))
	must(t, err)
	e.bucket, err = bucket.Open(t.Context(), "file://"+e.dir, e.keys.Bucket())
	must(t, err)
	e.state = state.New(apiserver.Kube, apiserver.Kube, e.bucket,
		state.Options{Log: log, Fingerprint: e.keys.Fingerprint})
	documents := inputs.NewStore(e.bucket)
	e.documents = documents
	e.source = inputs.Digest([]byte("the code"))
	must(t, e.bucket.Put(t.Context(), "sources/"+e.source, []byte("the code")))
	e.inputs, err = documents.Put(t.Context(), inputs.Document{Source: e.source})
	must(t, err)

	o := e.options(log)
	o.Inputs = func(ctx context.Context, digest string) (inputs.Document, error) {
		doc, err := documents.Get(ctx, digest)
		doc.Backend = e.fakes.backend
		return doc, err
	}
	e.events = events.NewFakeRecorder(1000)
	o.Events = e.events
	o.GoneTokens = auth.NewDeletedPods(apiserver.Config, time.Now)
	s, err := server.New(o)
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	e.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	t.Cleanup(e.stop)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(e.keys.Bundle())
	e.url = "https://" + l.Addr().String()
	e.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots},
		ForceAttemptHTTP2: true}}
	t.Cleanup(e.http.CloseIdleConnections)
	return e
}

// options are those of a server that requires neither certificates nor deleted pods.
func (e *env) options(log *slog.Logger) server.Options {
	return server.Options{Hosts: []string{"127.0.0.1"}, Keys: e.keys, Options: runnerhandler.Options{
		Client: apiserver.Kube, Live: apiserver.Kube, Catalog: listing.NewCatalog(), State: e.state, Bucket: e.bucket,
		Fingerprint: e.keys.Fingerprint,
		Runs:        e.fakes, Orders: e.fakes, Reports: e.fakes, Inputs: e.documents.Get, Log: log,
		Policies: policyeval.New(policyeval.Options{
			Live: apiserver.Kube, Namespace: e.system, Bucket: e.bucket, Inputs: e.documents.Get, Evaluate: evaluate,
			Log: log,
		}),
		Outputs: func(context.Context, *v1alpha1.Run) (*v1alpha1.Outputs, *v1alpha1.Stack, error) {
			return e.fakes.outputs, e.fakes.stack, nil
		},
	}}
}

func (e *env) newStack(name string) *v1alpha1.Stack {
	e.Helper()
	stack := &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name},
		Spec:       v1alpha1.StackSpec{Source: v1alpha1.Source{Inline: map[string]string{"main.tf": ""}}},
	}
	must(e.T, apiserver.Kube.Create(e.Context(), stack))
	return stack
}

// newRun makes a Run of a Stack that applies.
func (e *env) newRun(stack *v1alpha1.Stack, name string) *v1alpha1.Run {
	e.Helper()
	return e.newRunTo(v1alpha1.OperationApply, stack, name)
}

// newRunTo makes a Run of a Stack.
func (e *env) newRunTo(do v1alpha1.Operation, stack *v1alpha1.Stack, name string) *v1alpha1.Run {
	e.Helper()
	run := &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: e.namespace, Name: name,
			Labels: map[string]string{runinfo.LabelStack: runinfo.LabelValue(stack.Name)},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(stack, v1alpha1.GroupVersion.WithKind("Stack"))},
		},
		Spec: v1alpha1.RunSpec{
			Stack: v1alpha1.ObjectRef{Name: stack.Name}, Operation: do,
			Cause: v1alpha1.Cause{Type: v1alpha1.CauseSpec}, InputsDigest: e.inputs,
		},
	}
	must(e.T, apiserver.Kube.Create(e.Context(), run))
	return run
}
