package operator

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/repository"
	"cairn.dev/cairn/internal/run"
	"cairn.dev/cairn/internal/run/index"
	"cairn.dev/cairn/internal/run/podspec"
	"cairn.dev/cairn/internal/run/scheduler"
	"cairn.dev/cairn/internal/stack"
	"cairn.dev/cairn/internal/stack/snapshot"
	stacksource "cairn.dev/cairn/internal/stack/source"
	"cairn.dev/cairn/internal/state"
)

// addControllers is the one list of Cairn's controllers.
func addControllers(mgr ctrl.Manager, p *parts, o Options) error {
	ask := lookups{mgr.GetClient()}
	mirrors := repository.NewMirrors(filepath.Join(o.CacheDir, "git"))
	mirrors.Metrics = p.telemetry.repositories
	if err := p.telemetry.registry.Register(mirrors); err != nil {
		return err
	}
	if err := mgr.Add(mirrors); err != nil {
		return err
	}
	codes := repository.NewCodes(mirrors)
	sources := stacksource.NewSources(mgr.GetAPIReader(), p.bucket)
	sources.Compile = o.Policies.Compile
	if err := mgr.Add(sources); err != nil {
		return err
	}

	repositories := &repository.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Mirrors: mirrors, Events: mgr.GetEventRecorder("cairn"),
		Traces: p.telemetry.traces, Mine: o.Shard.has,
	}
	if err := repositories.SetupWithManager(mgr, p.watch.over("repository", repositories)); err != nil {
		return err
	}

	stacks := &stack.Reconciler{
		Gatherer: snapshot.Gatherer{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Sources: sources, Code: codes, Inputs: p.inputs, StateReader: p.states,
			VerifiedHistory: snapshot.NewVerifiedHistory(), AllowShell: o.AllowShell, AllowBuild: o.Builds.Allowed, DriftInterval: o.DriftInterval,
		},
		States:          p.states,
		Runs:            run.Kept{Bucket: p.bucket},
		Events:          stack.Recorder{EventRecorder: mgr.GetEventRecorder("cairn")},
		ConflictBackoff: stack.NewConflictBackoff(),
		Reserved:        stack.NewReserved(),
		Traces:          p.telemetry.traces,
	}
	if err := stacks.SetupWithManager(mgr, mirrors.Moved(), p.watch.over("stack", stacks)); err != nil {
		return err
	}

	states := &state.Reconciler{Client: mgr.GetClient(), States: p.states}
	if err := states.SetupWithManager(mgr, p.watch.over("state", states)); err != nil {
		return err
	}

	turns := scheduler.New(scheduler.NewQueue(scheduler.Limits{
		Install: o.Shard.share(o.MaxRuns), Namespace: o.MaxRunsPerNamespace, Repository: ask.limitOf(context.Background()),
	}, time.Now), mgr.GetClient())
	if err := mgr.Add(turns); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("run").
		For(&v1alpha1.Run{}).
		Owns(&corev1.Pod{}).
		WatchesRawSource(source.Channel(turns.Wake(), handler.TypedEnqueueRequestsFromMapFunc(itself))).
		Watches(&v1alpha1.Run{}, handler.EnqueueRequestsFromMapFunc(ask.siblings)).
		Watches(&v1alpha1.Stack{}, handler.EnqueueRequestsFromMapFunc(ask.runsOf)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(ask.runsWithout)).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(ask.runsWithout)).
		Complete(p.watch.over("run", &run.Reconciler{
			Client:    mgr.GetClient(),
			Live:      mgr.GetAPIReader(),
			Inputs:    p.inputs,
			Scheduler: turns,

			Recorder: p.telemetry.witness(mgr, p.log),
			Pods: podspec.Settings{
				StoreURL:        o.StoreURL,
				CABundle:        p.keys.Bundle,
				RunnerImage:     o.RunnerImage,
				RunnerCommand:   o.RunnerCommand,
				EngineHasRunner: o.EngineHasRunner,
				EngineImage:     o.EngineImage,

				RunnerPullPolicy:  o.RunnerPullPolicy,
				EnginePullPolicy:  o.EnginePullPolicy,
				ImagePullSecrets:  o.ImagePullSecrets,
				AllowUnrestricted: o.AllowUnrestrictedRunners,
				TokenAudiences:    o.RunnerTokenAudiences,
				Builds:            o.Builds,
			},
		}))
}

// lookups find in the cache the objects that an event is relevant to.
type lookups struct{ cache client.Reader }

func itself(_ context.Context, key types.NamespacedName) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: key}}
}

// limitOf tells how many Runs of a Repository's Stacks may run at once, by namespace/name; 0 is no limit.
func (l lookups) limitOf(ctx context.Context) func(string) int {
	return func(key string) int {
		ctx, cancel := context.WithTimeout(ctx, time.Second) // the queue waits
		defer cancel()
		namespace, name, _ := strings.Cut(key, "/")
		repo := &v1alpha1.Repository{}
		if err := l.cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, repo); err != nil || repo.Spec.Limits == nil {
			return 0
		}
		return int(repo.Spec.Limits.Runs)
	}
}

// list finds objects in the cache. Only their names are looked at, so they are not copied.
func (l lookups) list(ctx context.Context, list client.ObjectList, opts ...client.ListOption) []reconcile.Request {
	if err := l.cache.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil // only for a cache that is stopping
	}
	var requests []reconcile.Request
	_ = apimeta.EachListItem(list, func(o runtime.Object) error { // fails only for what is no list
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o.(client.Object))})
		return nil
	})
	return requests
}

// runsOf finds the Runs of a Stack that are not finished.
func (l lookups) runsOf(ctx context.Context, o client.Object) []reconcile.Request {
	return l.unfinished(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{index.UnfinishedField: o.GetName()})
}

// siblings finds the Runs that may have waited for a finished one. One that went well is not in the cache any more,
// and neither is one that is gone: of both the event has what they were before.
func (l lookups) siblings(ctx context.Context, o client.Object) []reconcile.Request {
	r := o.(*v1alpha1.Run)
	if !r.Status.Phase.Finished() && r.DeletionTimestamp == nil && l.cache.Get(ctx, client.ObjectKeyFromObject(r), &v1alpha1.Run{}, client.UnsafeDisableDeepCopy) == nil {
		return nil
	}
	return l.unfinished(ctx, client.InNamespace(r.Namespace), client.MatchingFields{index.UnfinishedField: r.Spec.Stack.Name})
}

// runsWithout finds the Runs that wait for an object that is missing.
func (l lookups) runsWithout(ctx context.Context, o client.Object) []reconcile.Request {
	return l.unfinished(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{index.ReasonField: v1alpha1.ReasonInputsNotFound})
}

// unfinished finds Runs by an index that has only those which are not finished.
func (l lookups) unfinished(ctx context.Context, opts ...client.ListOption) []reconcile.Request {
	return l.list(ctx, &v1alpha1.RunList{}, opts...)
}
