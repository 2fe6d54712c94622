// Package operator wires Cairn together: the cache, the list of controllers, and the server.
package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/controller/pullrequest"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/controller/run/podspec"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
	"cairn.dev/cairn/internal/controller/stackset"
	"cairn.dev/cairn/internal/engine/policy"
	"cairn.dev/cairn/internal/lifecycle/massdrift"
	"cairn.dev/cairn/internal/server/auth"
)

// Options of an installation.
type Options struct {
	// Namespace that Cairn itself lives in, where its keys are kept.
	Namespace string
	// BucketURL is where plans, logs and sources are kept. Example: file:///var/lib/cairn.
	BucketURL string
	// BucketGCAfter is how long code and inputs stay in the bucket after nothing refers to them; 0 disables garbage
	// collection.
	BucketGCAfter time.Duration
	// CacheDir keeps mirrors of repositories, engines and providers. What is in it can be fetched again.
	CacheDir string
	// Mirrors limit the disk space of mirrors of Repositories.
	Mirrors repository.Limits
	// Downloads configure where engines and providers come from.
	Downloads
	// Policies compiles and asks policies.
	Policies *policy.Apart
	// StateStorage is where states are kept.
	StateStorage v1alpha1.StateStorage
	// ServerAddress is what the runner API listens on. Example: :8443.
	ServerAddress string
	// WebAddress is what the server for Git providers and browsers listens on, plain HTTP; "0" for none.
	WebAddress string
	// SignIn configures how users sign in with a browser.
	SignIn auth.SignIn
	// ServerURL is where runners find the server.
	ServerURL string
	// PublicURL is where users find the server; ServerURL when it is empty.
	PublicURL string
	// PublishEndpoint has the server write that into ConfigMap kube-public/cairn. Only one installation of a
	// cluster can.
	PublishEndpoint bool
	// PublicTrusted: the certificate at PublicURL is one that every client trusts, as an Ingress may have one.
	PublicTrusted bool
	// RunnerPatience is how long a runner keeps trying a server that is away.
	RunnerPatience time.Duration
	// Pods shapes the pods of Runs. Their ServerURL is that above, and their CABundle that of the server's keys.
	Pods podspec.Settings
	// MaxRuns and MaxRunsPerNamespace are how many Runs may have a pod at work at once; 0 is no limit.
	MaxRuns, MaxRunsPerNamespace int
	// DriftInterval is how often Stacks without a setting of their own are checked for drift; 0 for never.
	DriftInterval time.Duration
	// MassDrift is from which number of Stacks of a namespace that begin to drift on no drift is corrected.
	MassDrift massdrift.Limits
	// NotificationHosts are the hosts that messages are sent to; all when empty.
	NotificationHosts []string
	// AllowShell allows users to open shells in runner pods, if RBAC permits it.
	AllowShell bool
	// Namespaces are the only ones whose objects are read; all of the cluster's when empty.
	Namespaces []string
	// Shard is the part of the namespaces that the operator manages; all of them when it is zero.
	Shard Shard
	// RunnerTokens is how runners' tokens are checked.
	RunnerTokens RunnerTokens
	// ClientCertificates lets the server accept certificates of users from the cluster's certificate authority, for
	// which it reads a ConfigMap of kube-system.
	ClientCertificates bool
	// CertDir has tls.crt and tls.key, which the server shows to those who ask for the host of PublicURL; empty for
	// its own.
	CertDir string
	// LeaderElection elects one of several operators as the leader.
	LeaderElection bool
	// MetricsAddress and HealthAddress to listen on; "0" for none.
	MetricsAddress, HealthAddress string
	// PprofAddress to listen on for profiles of the process; "0" for none. A client that reaches it sees all that
	// is in memory.
	PprofAddress string
	// Operator and Server are the halves that this process is.
	Operator, Server bool
	// Log of the process.
	Log logr.Logger

	// again: this process may have run another before, as that of the tests has: the names of its controllers are
	// taken, and klog is in use.
	again bool
}

// Run runs Cairn until ctx is done.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	o.Log = quietOnceDone(ctx, o.Log)
	ctrl.SetLogger(o.Log)
	if !o.again {
		klog.SetLogger(o.Log) // without a lock: nothing may log by then
	}
	if err := errors.Join(checkNamespaces(o.Namespaces), o.Shard.check(o)); err != nil {
		return err
	}
	t, err := newTelemetry(ctx, o, slog.New(logr.ToSlogHandler(o.Log)))
	if err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	config.UserAgent = "cairn-serve/" + version.Version
	config.QPS = -1 // the API server's own fairness is the limit
	countWrites(config, t.registry)
	if err := awaitAPI(ctx, config, apiPatience, o.Log); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, managerOptions(o))
	if err != nil {
		return err
	}
	p, err := newParts(ctx, mgr, o, t)
	if err != nil {
		return err
	}
	defer p.close()
	for _, add := range adders(o) {
		if err := add(ctx, mgr, p, o); err != nil {
			return err
		}
	}
	limitMemory(cgroupMemory)
	asBefore := collectEagerly()
	defer asBefore()
	if err := mgr.Add(memoryReleaser{mgr.GetCache(), func() { asBefore(); debug.FreeOSMemory() }}); err != nil {
		return err
	}
	withdraw, err := t.publish()
	if err != nil {
		return err
	}
	defer withdraw()
	return mgr.Start(ctx)
}

// An adder adds a runnable to the manager.
type adder func(ctx context.Context, mgr ctrl.Manager, p *parts, o Options) error

// adders are those of all that a process is.
func adders(o Options) []adder {
	all := []adder{addIndexes}
	if o.Operator {
		all = append(all, addControllers, addUpkeep)
	}
	if o.Server {
		all = append(all, addServer)
	}
	return append(all, addHealth, addTelemetry)
}

// managerOptions are those of all controllers too.
func managerOptions(o Options) ctrl.Options {
	return ctrl.Options{
		Scheme: scheme(),
		Logger: o.Log,
		Controller: ctrlconfig.Controller{
			MaxConcurrentReconciles: 4, ReconciliationTimeout: reconcileTime, SkipNameValidation: &o.again,
		},
		Cache:                         cachedIn(cacheOptions(o), o.Namespaces),
		NewClient:                     newClient(o.Namespaces, readYourWritesTimeout),
		LeaderElection:                o.LeaderElection && o.Operator,
		LeaderElectionID:              o.Shard.lease(),
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress:        o.HealthAddress,
		PprofBindAddress:              o.PprofAddress,
	}
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

// newClient returns the client of the reconcilers. A read waits until the cache has what was written before it, so
// that no pass acts on a view from before its own last act. It is for Stacks, Runs and pods alone: of a kind that
// is written through it the cache has to receive what is written. Secrets are written through a client without a
// cache.
func newClient(namespaces []string, patience time.Duration) client.NewClientFunc {
	return func(config *rest.Config, o client.Options) (client.Client, error) {
		wait := true
		o.Cache.EnableReadYourWritesConsistency = &wait
		all, err := client.New(config, o)
		if err != nil {
			return nil, err
		}
		c := boundedReadYourWrites{all, patience}
		if len(namespaces) == 0 {
			return c, nil
		}
		return namespacedClient{c, namespaces}, nil
	}
}

// addIndexes has the caches find what is asked for: a server by runners, an operator by its reconcilers.
func addIndexes(ctx context.Context, mgr ctrl.Manager, _ *parts, o Options) error {
	type indexed struct {
		of     client.Object
		field  string
		values client.IndexerFunc
	}
	var all []indexed
	if o.Operator {
		all = []indexed{
			{&v1alpha1.Run{}, index.StackField, index.StackNames},
			{&v1alpha1.Run{}, index.UnfinishedField, index.UnfinishedStackNames},
			{&v1alpha1.Run{}, index.ReasonField, index.Reasons},
			{&v1alpha1.Run{}, index.PullRequestField, index.PullRequestUIDs},
			{&v1alpha1.Stack{}, snapshot.ObjectIndex, snapshot.IndexObjects},
			{&v1alpha1.VariableSet{}, snapshot.ObjectIndex, snapshot.VariableSetObjects},
			{&v1alpha1.StackPolicy{}, snapshot.ObjectIndex, snapshot.StackPolicyObjects},
			{&v1alpha1.Stack{}, snapshot.DependencyIndex, snapshot.IndexDependencies},
			{&v1alpha1.Stack{}, snapshot.UnitIndex, snapshot.IndexUnit},
			{&v1alpha1.Stack{}, snapshot.UnitUserIndex, snapshot.IndexUnitUsers},
			{&v1alpha1.Stack{}, repository.StackIndex, repository.IndexStack},
			{&v1alpha1.Stack{}, stackset.OwnerIndex, stackset.IndexOwner},
			{&v1alpha1.Repository{}, repository.SecretIndex, repository.IndexSecret},
			{&v1alpha1.PullRequest{}, repository.PullRequestIndex, repository.IndexPullRequest},
			{&v1alpha1.PullRequest{}, pullrequest.AppliesIndex, pullrequest.IndexApplies},
			{&v1alpha1.PullRequest{}, snapshot.HoldIndex, snapshot.IndexHolds},
		}
	}
	if o.Server {
		all = append(all, indexed{&v1alpha1.Run{}, index.PodField, index.PodUIDs})
	}
	for _, i := range all {
		if err := mgr.GetFieldIndexer().IndexField(ctx, i.of, i.field, i.values); err != nil {
			return fmt.Errorf("index the cache: %w", err)
		}
	}
	return nil
}
