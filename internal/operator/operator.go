// Package operator wires Cairn together: the cache, the list of controllers, and the store.
package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/repository"
	"cairn.dev/cairn/internal/run"
	"cairn.dev/cairn/internal/stack"
	"cairn.dev/cairn/internal/version"
)

// Options say how Cairn is installed.
type Options struct {
	// Namespace that Cairn itself lives in, where its keys are kept.
	Namespace string
	// BucketURL is where plans, logs and sources are kept. Example: file:///var/lib/cairn.
	BucketURL string
	// CacheDir keeps mirrors of repositories, engines and providers. What is in it can be fetched again.
	CacheDir string
	// Downloads say where engines and providers come from.
	Downloads
	// StateHome is where states are kept.
	StateHome v1alpha1.StateHome
	// StoreAddress is what the store listens on. Example: :8443.
	StoreAddress string
	// WebAddress is what the server for forges listens on, plain HTTP; "0" for none.
	WebAddress string
	// StoreURL is where runners find the store.
	StoreURL string
	// PublicURL is where people find the server; StoreURL when it is empty. It is published in ConfigMap kube-public/cairn.
	PublicURL string
	// PublicTrusted says that the certificate at PublicURL is one that everybody trusts, as an Ingress may have one.
	PublicTrusted bool
	// RunnerPatience is how long a runner keeps trying a store that is away.
	RunnerPatience time.Duration
	// RunnerImage, RunnerCommand and EngineImage shape runner pods.
	RunnerImage, RunnerCommand, EngineImage string
	// MaxRuns and MaxRunsPerNamespace are how many Runs may have a pod at work at once; 0 is no limit.
	MaxRuns, MaxRunsPerNamespace int
	// LeaderElection makes one of several operators the active one.
	LeaderElection bool
	// MetricsAddress and HealthAddress to listen on; "0" for none.
	MetricsAddress, HealthAddress string
	// Operator and Server say which halves this process is.
	Operator, Server bool
	// Log of the process.
	Log logr.Logger
}

// Run runs Cairn until ctx is done.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	ctrl.SetLogger(o.Log)
	klog.SetLogger(o.Log)
	config = rest.CopyConfig(config)
	config.UserAgent = "cairn-serve/" + version.Version
	config.QPS = -1 // the API server's own fairness is the limit
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme(),
		Logger:                        o.Log,
		Cache:                         cacheOptions(),
		NewClient:                     newClient,
		LeaderElection:                o.LeaderElection && o.Operator,
		LeaderElectionID:              "cairn-operator",
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress:        o.HealthAddress,
	})
	if err != nil {
		return err
	}
	if err := index(ctx, mgr); err != nil {
		return fmt.Errorf("index the cache: %w", err)
	}
	p, err := makeParts(ctx, mgr, o)
	if err != nil {
		return err
	}
	defer p.close()
	if o.Operator {
		if err := addControllers(mgr, p, o); err != nil {
			return err
		}
	}
	if o.Server {
		if err := addServer(ctx, mgr, p, o); err != nil {
			return err
		}
	}
	if err := addHealth(mgr, o); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // two kinds of one name
		}
	}
	return s
}

// cacheOptions keep in memory what is decided on and no more: of pods only the runners', of Secrets and ConfigMaps only
// the metadata, of none the managed fields.
func cacheOptions() cache.Options {
	ours, err := labels.NewRequirement(run.LabelRun, selection.Exists, nil)
	if err != nil {
		panic(err) // the label is not one
	}
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:           {Label: labels.NewSelector().Add(*ours)},
			metadataOf("Secret"):    {Transform: stripAnnotations},
			metadataOf("ConfigMap"): {Transform: stripAnnotations},
		},
	}
}

// newClient makes the client of the reconcilers. A read waits until the cache has what was written before it, so that no
// pass acts on a view from before its own last act. It is for Stacks, Runs and pods alone: a kind that is written through
// it is watched whole. Secrets are written through a client without a cache.
func newClient(config *rest.Config, o client.Options) (client.Client, error) {
	wait := true
	o.Cache.EnableReadYourWritesConsistency = &wait
	return client.New(config, o)
}

func metadataOf(kind string) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return m
}

// stripAnnotations also because kubectl apply puts whole objects into one.
func stripAnnotations(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetAnnotations(nil)
		m.SetManagedFields(nil)
	}
	return o, nil
}

func index(ctx context.Context, mgr ctrl.Manager) error {
	for _, i := range []struct {
		of     client.Object
		field  string
		values client.IndexerFunc
	}{
		{&v1alpha1.Run{}, run.StackIndex, run.IndexStack},
		{&v1alpha1.Run{}, run.PodIndex, run.IndexPods},
		{&v1alpha1.Run{}, run.WaitingIndex, run.IndexWaiting},
		{&v1alpha1.Stack{}, stack.ObjectIndex, stack.IndexObjects},
		{&v1alpha1.Stack{}, stack.DependencyIndex, stack.IndexDependencies},
		{&v1alpha1.Stack{}, repository.StackIndex, repository.IndexStack},
		{&v1alpha1.Repository{}, repository.SecretIndex, repository.IndexSecret},
	} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, i.of, i.field, i.values); err != nil {
			return err
		}
	}
	return nil
}
