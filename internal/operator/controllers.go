package operator

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/repository"
	"cairn.dev/cairn/internal/run"
	"cairn.dev/cairn/internal/run/podspec"
	"cairn.dev/cairn/internal/run/scheduler"
	"cairn.dev/cairn/internal/stack"
	"cairn.dev/cairn/internal/stack/snapshot"
	stacksource "cairn.dev/cairn/internal/stack/source"
	"cairn.dev/cairn/internal/state"
)

// addControllers is the one list of Cairn's controllers.
func addControllers(mgr ctrl.Manager, p *parts, o Options) error {
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
		Runs:            run.Artifacts{Bucket: p.bucket},
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
		Installation: o.Shard.share(o.MaxRuns), Namespace: o.MaxRunsPerNamespace,
		Repository: repositoryLimit(context.Background(), mgr.GetClient()),
	}, time.Now), mgr.GetClient())
	if err := mgr.Add(turns); err != nil {
		return err
	}
	runs := &run.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Inputs: p.inputs, Scheduler: turns, Recorder: p.telemetry.witness(mgr, p.log),
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
	}
	return runs.SetupWithManager(mgr, p.watch.over("run", runs))
}

// repositoryLimit returns how many Runs of a Repository's Stacks may run at once, by namespace/name; 0 is no limit.
func repositoryLimit(ctx context.Context, cache client.Reader) func(string) int {
	return func(key string) int {
		ctx, cancel := context.WithTimeout(ctx, time.Second) // the queue waits
		defer cancel()
		namespace, name, _ := strings.Cut(key, "/")
		repo := &v1alpha1.Repository{}
		if err := cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, repo); err != nil || repo.Spec.Limits == nil {
			return 0
		}
		return int(repo.Spec.Limits.Runs)
	}
}
