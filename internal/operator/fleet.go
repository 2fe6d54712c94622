package operator

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// fleet exports the status of all Stacks, Runs, States and Repositories to Prometheus: by namespace, and never by
// name. It reads the cache, so that a deleted namespace is gone from here too. Of several processes only the one
// that reconciles exports it, or sums would count everything several times. What may last too long is exported as
// the time that it began, so that an alert subtracts it from now.
type fleet struct {
	cache client.Reader
	// leading is closed once this process reconciles.
	leading <-chan struct{}
	// shard is what the cache has. Repositories it has of all parts.
	shard Shard
}

// scrapeTime bounds a read of the cache, which waits until it is filled.
const scrapeTime = 2 * time.Second

func fleetDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("cairn_"+name, help, labels, nil)
}

var (
	gaugeLeader = fleetDesc("leader",
		"1 in the operator that reconciles, 0 in one on standby. shard is the value of --shard, 0 "+
			"without shards.", "shard")

	gaugeStacks = fleetDesc("stacks",
		"Stacks by their Ready condition. An unknown reason is Other.", "namespace", "ready", "reason")
	gaugeUnreadySince = fleetDesc("stacks_oldest_unready_timestamp_seconds",
		"Time at which the Stack that has not been Ready for the longest time became unready, by its "+
			"current reason.", "namespace", "reason")
	gaugeDrifted = fleetDesc("stacks_drifted",
		"Stacks with known drift.", "namespace")
	gaugeDriftSince = fleetDesc("stacks_oldest_drift_timestamp_seconds",
		"Time at which the oldest known drift of the namespace was detected.", "namespace")

	gaugeRuns = fleetDesc("runs",
		"Runs in the cluster, including finished ones.", "namespace", "phase")
	gaugeRunsSince = fleetDesc("runs_oldest_timestamp_seconds",
		"Time of the creation of the oldest Run in a phase that is not final. Runs that wait for a "+
			"window do not count.", "namespace", "phase")

	gaugeStates       = fleetDesc("states", "States.", "namespace")
	gaugeStateBytes   = fleetDesc("state_bytes", "Size of the current versions of all states, uncompressed.", "namespace")
	gaugeStateLargest = fleetDesc("state_largest_bytes",
		"Size of the largest current version of a state, uncompressed.", "namespace")
	gaugeResources = fleetDesc("state_resources",
		"Resources in all states, except states that Cairn cannot read.", "namespace")
	gaugeRescued = fleetDesc("states_rescued",
		"Rescued states, which become versions before the next plan.", "namespace")
	gaugeLocks = fleetDesc("state_locks",
		"Locks that are held on states.", "namespace")
	gaugeLocksSince = fleetDesc("state_locks_oldest_timestamp_seconds",
		"Time at which the oldest lock was acquired.", "namespace")
	gaugeRepositories = fleetDesc("repositories",
		"Repositories by their Ready condition.", "namespace", "ready", "reason")
)

// Describe sends all that Collect may send.
func (f *fleet) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		gaugeLeader, gaugeStacks, gaugeUnreadySince, gaugeDrifted, gaugeDriftSince, gaugeRuns, gaugeRunsSince,
		gaugeStates, gaugeStateBytes, gaugeStateLargest, gaugeResources, gaugeRescued, gaugeLocks, gaugeLocksSince,
		gaugeRepositories,
	} {
		descs <- d
	}
}

// Collect reads the cache.
func (f *fleet) Collect(metrics chan<- prometheus.Metric) {
	shard := strconv.Itoa(f.shard.Index)
	select {
	case <-f.leading:
	default:
		metrics <- prometheus.MustNewConstMetric(gaugeLeader, prometheus.GaugeValue, 0, shard)
		return
	}
	metrics <- prometheus.MustNewConstMetric(gaugeLeader, prometheus.GaugeValue, 1, shard)
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	for _, count := range []func(context.Context, *gauges) error{f.stacks, f.runs, f.states, f.repositories} {
		g := &gauges{values: map[gauge]float64{}}
		if err := count(ctx, g); err != nil {
			return // the cache is not filled yet, or stops: half of it would be wrong
		}
		for of, value := range g.values {
			metrics <- prometheus.MustNewConstMetric(of.desc, prometheus.GaugeValue, value, of.labels[:of.n]...)
		}
	}
}

func (f *fleet) stacks(ctx context.Context, g *gauges) error {
	return each(ctx, f.cache, &v1alpha1.Stack{}, &v1alpha1.StackList{}, func(s *v1alpha1.Stack) {
		ready, reason, since := readyOf(s.Status.Conditions, s.CreationTimestamp)
		g.add(1, gaugeStacks, s.Namespace, ready, reason)
		if ready != string(metav1.ConditionTrue) {
			g.oldest(since, gaugeUnreadySince, s.Namespace, reason)
		}
		if d := s.Status.Drift; d != nil && d.Since != nil {
			g.add(1, gaugeDrifted, s.Namespace)
			g.oldest(d.Since.Time, gaugeDriftSince, s.Namespace)
		}
	})
}

// runs counts those that went well by what their Stacks have of them: an operator alone has no others.
func (f *fleet) runs(ctx context.Context, g *gauges) error {
	err := each(ctx, f.cache, &v1alpha1.Stack{}, &v1alpha1.StackList{}, func(s *v1alpha1.Stack) {
		if n := len(s.Status.History); n > 0 {
			g.add(float64(n), gaugeRuns, s.Namespace, string(v1alpha1.PhaseSucceeded))
		}
	})
	if err != nil {
		return err
	}
	return each(ctx, f.cache, &v1alpha1.Run{}, &v1alpha1.RunList{}, func(r *v1alpha1.Run) {
		phase := r.Status.Phase
		if phase == v1alpha1.PhaseSucceeded {
			return
		}
		if phase == "" {
			phase = v1alpha1.PhaseQueued
		}
		g.add(1, gaugeRuns, r.Namespace, string(phase))
		if !phase.Finished() && !waitsForWindow(r) {
			g.oldest(r.CreationTimestamp.Time, gaugeRunsSince, r.Namespace, string(phase))
		}
	})
}

// waitsForWindow reports whether a Run waits because its users want that, which takes as long as it takes.
func waitsForWindow(r *v1alpha1.Run) bool {
	c := apimeta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionSucceeded)
	return c != nil && c.Reason == v1alpha1.ReasonWindowClosed
}

func (f *fleet) states(ctx context.Context, g *gauges) error {
	return each(ctx, f.cache, &v1alpha1.State{}, &v1alpha1.StateList{}, func(s *v1alpha1.State) {
		g.add(1, gaugeStates, s.Namespace)
		g.add(float64(s.Status.Size), gaugeStateBytes, s.Namespace)
		g.most(float64(s.Status.Size), gaugeStateLargest, s.Namespace)
		g.add(float64(max(s.Status.Resources, 0)), gaugeResources, s.Namespace)
		if s.Status.Rescued != nil {
			g.add(1, gaugeRescued, s.Namespace)
		}
		if l := s.Status.Lock; l != nil {
			g.add(1, gaugeLocks, s.Namespace)
			g.oldest(l.Since.Time, gaugeLocksSince, s.Namespace)
		}
	})
}

func (f *fleet) repositories(ctx context.Context, g *gauges) error {
	return each(ctx, f.cache, &v1alpha1.Repository{}, &v1alpha1.RepositoryList{}, func(r *v1alpha1.Repository) {
		if f.shard.has(r.Namespace) {
			ready, reason, _ := readyOf(r.Status.Conditions, r.CreationTimestamp)
			g.add(1, gaugeRepositories, r.Namespace, ready, reason)
		}
	})
}

// each visits all objects of a kind in the cache. Of ten thousand a list, even of no copies, is ten megabytes, and
// there is a scrape every half minute.
func each[T client.Object](ctx context.Context, from client.Reader, kind T, list client.ObjectList, do func(T)) error {
	if informers, ok := from.(cache.Informers); ok {
		informer, err := informers.GetInformer(ctx, kind)
		if err != nil {
			return err
		}
		if kept, ok := informer.(interface{ GetStore() toolscache.Store }); ok {
			for _, o := range kept.GetStore().List() {
				do(o.(T))
			}
			return nil
		}
	}
	// Of single namespaces there are several caches.
	if err := from.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	return apimeta.EachListItem(list, func(o runtime.Object) error {
		do(o.(T))
		return nil
	})
}

// gauges are values by what they are of.
type gauges struct{ values map[gauge]float64 }

type gauge struct {
	desc   *prometheus.Desc
	labels [3]string
	n      int
}

func of(desc *prometheus.Desc, labels []string) gauge {
	g := gauge{desc: desc, n: len(labels)}
	copy(g.labels[:], labels)
	return g
}

func (g *gauges) add(value float64, desc *prometheus.Desc, labels ...string) {
	g.values[of(desc, labels)] += value
}

func (g *gauges) most(value float64, desc *prometheus.Desc, labels ...string) {
	g.values[of(desc, labels)] = max(g.values[of(desc, labels)], value)
}

func (g *gauges) oldest(at time.Time, desc *prometheus.Desc, labels ...string) {
	key := of(desc, labels)
	seconds := float64(at.Unix())
	if was, ok := g.values[key]; !ok || seconds < was {
		g.values[key] = seconds
	}
}

// readyOf is the status of a Ready condition and since when; its reason is one of the known ones.
func readyOf(conditions []metav1.Condition, made metav1.Time) (ready, reason string, since time.Time) {
	c := apimeta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	if c == nil {
		return string(metav1.ConditionUnknown), "New", made.Time
	}
	reason = c.Reason
	if !knownReasons[reason] {
		reason = "Other"
	}
	return string(c.Status), reason, c.LastTransitionTime.Time
}

// knownReasons are those of Ready conditions of Stacks and Repositories that are worth a series: who may write a
// status can write any. A new one counts as Other until it is here.
var knownReasons = func() map[string]bool {
	known := map[string]bool{}
	for _, reason := range []string{
		// Stacks that are, or wait for a user
		v1alpha1.ReasonApplied, v1alpha1.ReasonAwaitingApproval, v1alpha1.ReasonChangesPending,
		v1alpha1.ReasonDestroyed, v1alpha1.ReasonDrifted, v1alpha1.ReasonSuspended,
		v1alpha1.ReasonDeletionProtected, v1alpha1.ReasonApplyNever, v1alpha1.ReasonRunCanceled,
		v1alpha1.ReasonRunRejected, v1alpha1.ReasonWindowClosed,
		// under way
		v1alpha1.ReasonRunning, v1alpha1.ReasonDestroying, v1alpha1.ReasonDeleting, v1alpha1.ReasonDestroyPending,
		v1alpha1.ReasonCanceling, v1alpha1.ReasonRetrying, v1alpha1.ReasonQueued, v1alpha1.ReasonPodPending,
		v1alpha1.ReasonPodTerminating, v1alpha1.ReasonDependencyNotReady, v1alpha1.ReasonSourceNotReady,
		v1alpha1.ReasonRepositoryNotReady,
		// in trouble
		v1alpha1.ReasonRunFailed, v1alpha1.ReasonDestroyFailed, v1alpha1.ReasonDestroyIncomplete,
		v1alpha1.ReasonNamespaceTerminating, v1alpha1.ReasonAppliedInputsUnknown, v1alpha1.ReasonDependencyCycle, v1alpha1.ReasonDependencyNotFound,
		v1alpha1.ReasonOutputsConflict, v1alpha1.ReasonOutputsFailed, v1alpha1.ReasonStateNotSaved,
		v1alpha1.ReasonStateCleanupFailed, v1alpha1.ReasonRunsCleanupFailed, v1alpha1.ReasonDependentsExist,
		v1alpha1.ReasonPodCreateFailed, v1alpha1.ReasonNodeUnreachable, v1alpha1.ReasonTimeoutExceeded,
		v1alpha1.ReasonInputsNotFound, v1alpha1.ReasonWindowInvalid, v1alpha1.ReasonSourceNotFound,
		v1alpha1.ReasonSourceInvalid, v1alpha1.ReasonSecretNotFound, v1alpha1.ReasonConfigMapNotFound,
		v1alpha1.ReasonConfigMapKeyNotFound, v1alpha1.ReasonOutputNotFound, v1alpha1.ReasonRepositoryNotFound,
		v1alpha1.ReasonHookInvalid, v1alpha1.ReasonCommandInvalid, v1alpha1.ReasonPolicyInvalid,
		v1alpha1.ReasonBackendInvalid, v1alpha1.ReasonBackendMigrationRequired, v1alpha1.ReasonInputsTooLarge,
		v1alpha1.ReasonEngineVersionInvalid, v1alpha1.ReasonTemplateInvalid, v1alpha1.ReasonContentInvalid,
		v1alpha1.ReasonSourceTooLarge, v1alpha1.ReasonBuildNotAllowed, v1alpha1.ReasonDockerfileNotFound,
		v1alpha1.ReasonPathNotFound, v1alpha1.ReasonCodeNotFound, v1alpha1.ReasonModuleNotFound,
		v1alpha1.ReasonTriggerInvalid, v1alpha1.ReasonVariableFileNotFound, v1alpha1.ReasonVariableInvalid,
		v1alpha1.ReasonTerragruntStackNotSupported,
		// Repositories
		v1alpha1.ReasonFetched, v1alpha1.ReasonFetching, v1alpha1.ReasonFetchFailed,
		v1alpha1.ReasonAuthenticationFailed, v1alpha1.ReasonHostKeyUnknown, v1alpha1.ReasonCertificateUntrusted,
		v1alpha1.ReasonRedirected, v1alpha1.ReasonAddressDenied, v1alpha1.ReasonMirrorTooLarge, v1alpha1.ReasonRemoteNotFound, v1alpha1.ReasonUnreachable,
		v1alpha1.ReasonRefNotFound, v1alpha1.ReasonNotFetched, v1alpha1.ReasonTimeout,
		v1alpha1.ReasonConfigurationInvalid, v1alpha1.ReasonCredentialsNotFound, v1alpha1.ReasonCredentialsInvalid,
	} {
		known[reason] = true
	}
	return known
}()
