package operator

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/download"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/driftpause"
	"cairn.dev/cairn/internal/controller/notification"
	"cairn.dev/cairn/internal/controller/pipeline"
	"cairn.dev/cairn/internal/controller/pullrequest"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/run"
	"cairn.dev/cairn/internal/controller/run/scheduler"
	"cairn.dev/cairn/internal/controller/stack"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
	stacksource "cairn.dev/cairn/internal/controller/stack/source"
	"cairn.dev/cairn/internal/controller/stackset"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/state"
)

// addControllers is the one list of Cairn's controllers.
func addControllers(_ context.Context, mgr ctrl.Manager, p *parts, o Options) error {
	mirrors := repository.NewMirrors(filepath.Join(o.CacheDir, "git"))
	mirrors.Metrics, mirrors.Egress, mirrors.Limits = p.telemetry.repositories, o.Egress, o.Mirrors
	mirrors.Log = p.log
	sources := stacksource.NewSources(mgr.GetAPIReader(), p.bucket)
	sources.Compile = o.Policies.Compile
	turns := scheduler.New(scheduler.NewQueue(scheduler.Limits{
		Installation: o.Shard.share(o.MaxRuns), Namespace: o.MaxRunsPerNamespace,
		Repository: repositoryLimit(context.Background(), mgr.GetClient()),
	}, time.Now), mgr.GetClient())
	pods := o.Pods
	pods.ServerURL, pods.CABundle = o.ServerURL, p.keys.Bundle

	repositories := &repository.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Mirrors: mirrors, Events: recorder(mgr),
		Traces: p.telemetry.traces, Mine: o.Shard.has,
	}
	codes := code.NewCodes(mirrors)
	stacks := &stack.Reconciler{
		Gatherer: snapshot.Gatherer{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Sources: sources,
			Code:   code.NewSources(mgr.GetClient(), mgr.GetAPIReader(), codes),
			Inputs: p.inputs, StateReader: p.states,
			AllowShell: o.AllowShell, AllowBuild: o.Pods.Builds.Allowed, DriftInterval: o.DriftInterval,
			MassDrift: o.MassDrift,
		},
		States: p.states, Runs: run.Artifacts{Bucket: p.bucket}, Reserved: stack.NewReserved(),
		Events:          stack.Recorder{EventRecorder: recorder(mgr)},
		ConflictBackoff: stack.NewConflictBackoff(), Traces: p.telemetry.traces,
	}
	states := &state.Reconciler{Client: mgr.GetClient(), States: p.states}
	runs := &run.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Inputs: p.inputs, Scheduler: turns,
		Recorder: p.telemetry.witness(mgr, p.log), Pods: pods,
	}
	providers := &pullrequest.Providers{Live: mgr.GetAPIReader(), Web: func(trusted *x509.CertPool) *http.Client {
		return &http.Client{Transport: download.Trusting(o.Egress, providerTimeout, trusted), Timeout: providerTimeout}
	}}
	discovery := &pullrequest.Discovery{Client: mgr.GetClient(), Provider: providers.Of, Mine: o.Shard.has}
	units := closure.New(closure.Options{CacheBytes: knownUnits})
	access := pullrequest.RBAC{Client: p.direct}
	pulls := &pullrequest.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Access: access, Provider: providers.Of,
		Merger: &pullrequest.Gatherer{
			Client: mgr.GetClient(), Codes: codes, Stacks: &stacks.Gatherer, Units: units, Inputs: p.inputs,
			Access: access,
			Writer: p.direct,
		},
		Runs: run.Artifacts{Bucket: p.bucket}, Plans: storedPlans{p.bucket}, WebURL: cmp.Or(o.SignIn.URL, o.PublicURL),
	}
	sets := &stackset.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Mirrors: mirrors, Events: recorder(mgr),
		Units: units, Watches: o.watches,
	}
	notifications := &notification.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: recorder(mgr), Hosts: o.NotificationHosts,
		WebURL: cmp.Or(o.SignIn.URL, o.PublicURL), Installation: o.installation(),
		Web: func(trusted *x509.CertPool) *http.Client {
			return &http.Client{Transport: download.Trusting(o.Egress, notification.Timeout, trusted),
				Timeout: notification.Timeout}
		},
	}
	pauses := &driftpause.Reconciler{Client: mgr.GetClient(), Limits: o.MassDrift, Events: recorder(mgr)}
	pipelines := &pipeline.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Codes: codes, Inputs: p.inputs, Events: recorder(mgr),
	}
	return errors.Join(
		p.telemetry.registry.Register(mirrors),
		mgr.Add(mirrors), mgr.Add(sources), mgr.Add(turns),
		repositories.SetupWithManager(mgr, p.watch.over("repository", repositories)),
		stacks.SetupWithManager(mgr, mirrors.Moved(), p.watch.over("stack", stacks)),
		sets.SetupWithManager(mgr, mirrors.Subscribe(), p.watch.over("stackset", sets)),
		states.SetupWithManager(mgr, p.watch.over("state", states)),
		runs.SetupWithManager(mgr, p.watch.over("run", runs)),
		discovery.SetupWithManager(mgr, p.watch.over("discovery", discovery)),
		pulls.SetupWithManager(mgr, p.watch.over("pullrequest", pulls)),
		notifications.SetupWithManager(mgr, p.watch.over("notification", notifications)),
		pauses.SetupWithManager(mgr, p.watch.over("driftpause", pauses)),
		pipelines.SetupWithManager(mgr, mirrors.Subscribe(), p.watch.over("pipeline", pipelines)),
	)
}

// installation is the namespace whose Notifications can be about Stacks of others; empty if this process does not have
// it, or has only a part of the Stacks.
func (o Options) installation() string {
	if !o.watches(o.Namespace) || o.Shard.Total > 1 {
		return ""
	}
	return o.Namespace
}

// knownUnits is the memory for what is known of the Terragrunt units of StackSets, at most: some 5,000 of them.
const knownUnits = 32 << 20

// providerTimeout is the maximum duration of a request to a Git provider.
const providerTimeout = 15 * time.Second

// storedPlans reads plans from the bucket.
type storedPlans struct{ bucket *bucket.Bucket }

// JSON implements pullrequest.Plans.
func (p storedPlans) JSON(ctx context.Context, namespace string, uid types.UID, digest string, limit int64) ([]byte,
	error) {
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, UID: uid}}
	return p.bucket.Get(ctx, artifact.PlanJSONKey(artifact.PlanFolder(run)+"/"+digest), limit)
}

// Parts implements pullrequest.Plans.
func (p storedPlans) Parts(
	ctx context.Context, namespace string, uid types.UID, digest string,
) (parts map[string]string, err error) {
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, UID: uid}}
	data, err := p.bucket.Get(ctx, artifact.PlanPartsKey(artifact.PlanFolder(run)+"/"+digest), artifact.MaxPlanParts)
	if bucket.IsLost(err) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &parts)
	}
	return parts, err
}

// repositoryLimit returns how many Runs of a Repository's Stacks may run at once, by namespace/name; 0 is no limit.
func repositoryLimit(ctx context.Context, cache client.Reader) func(string) int {
	return func(key string) int {
		ctx, cancel := context.WithTimeout(ctx, time.Second) // the queue waits
		defer cancel()
		namespace, name, _ := strings.Cut(key, "/")
		repo := &v1alpha1.Repository{}
		err := cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, repo)
		if err != nil || repo.Spec.Limits == nil {
			return 0
		}
		return int(repo.Spec.Limits.Runs)
	}
}
