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
	"cairn.dev/cairn/internal/run"
)

// fleet tells how all Stacks, Runs, States and Repositories are, when Prometheus asks: by namespace, and never by name. It
// reads the cache, so a namespace that is gone is gone from here too. Of several processes the one that reconciles tells it,
// or sums would count everything several times. What may last too long is told as the time that it began, for an alert to
// take from now.
type fleet struct {
	cache client.Reader
	// leading is closed once this process reconciles.
	leading <-chan struct{}
	// shard is what the cache has. Repositories it has of all parts.
	shard Shard
}

// scrapeTime bounds a look at the cache, which waits until it is filled.
const scrapeTime = 2 * time.Second

func fleetDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("cairn_"+name, help, labels, nil)
}

var (
	gaugeLeader = fleetDesc("leader", "1 in the operator that reconciles, 0 in one on standby. shard is the part of the namespaces that it is for, 0 where there is one.", "shard")

	gaugeStacks       = fleetDesc("stacks", "Stacks by their Ready condition.", "namespace", "ready", "reason")
	gaugeUnreadySince = fleetDesc("stacks_oldest_unready_timestamp_seconds",
		"Since when the Stack of a namespace is not Ready that is so for the longest time, by the reason that it has now.", "namespace", "reason")
	gaugeDrifted    = fleetDesc("stacks_drifted", "Stacks of which drift is known.", "namespace")
	gaugeDriftSince = fleetDesc("stacks_oldest_drift_timestamp_seconds", "When the drift of a namespace was found that is known for the longest time.", "namespace")

	gaugeRuns      = fleetDesc("runs", "Runs that are kept, by phase. Those of the last four phases are finished.", "namespace", "phase")
	gaugeRunsSince = fleetDesc("runs_oldest_timestamp_seconds", "When the oldest Run of a phase that is not final was made, those left out that wait for a window.", "namespace", "phase")

	gaugeStates       = fleetDesc("states", "States.", "namespace")
	gaugeStateBytes   = fleetDesc("state_bytes", "Size of the current versions of all states, uncompressed.", "namespace")
	gaugeStateLargest = fleetDesc("state_largest_bytes", "Size of the largest current version of a state, uncompressed.", "namespace")
	gaugeResources    = fleetDesc("state_resources", "Resources in all states; those of states that could not be read are not counted.", "namespace")
	gaugeRescued      = fleetDesc("states_rescued", "States whose newest content could not be written when it was made. It becomes a version before the next plan.", "namespace")
	gaugeLocks        = fleetDesc("state_locks", "Locks that are held on states.", "namespace")
	gaugeLocksSince   = fleetDesc("state_locks_oldest_timestamp_seconds", "When the lock was taken that is held for the longest time.", "namespace")
	gaugeRepositories = fleetDesc("repositories", "Repositories by their Ready condition.", "namespace", "ready", "reason")
)

// Describe gives all that Collect may give.
func (f *fleet) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		gaugeLeader, gaugeStacks, gaugeUnreadySince, gaugeDrifted, gaugeDriftSince, gaugeRuns, gaugeRunsSince,
		gaugeStates, gaugeStateBytes, gaugeStateLargest, gaugeResources, gaugeRescued, gaugeLocks, gaugeLocksSince, gaugeRepositories,
	} {
		descs <- d
	}
}

// Collect looks at the cache.
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
	for _, look := range []func(context.Context, *gauges) error{f.stacks, f.runs, f.states, f.repositories} {
		g := &gauges{values: map[gauge]float64{}}
		if err := look(ctx, g); err != nil {
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

// waitsForWindow says that a Run waits because people want it to, which takes as long as it takes.
func waitsForWindow(r *v1alpha1.Run) bool {
	c := apimeta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionSucceeded)
	return c != nil && c.Reason == run.ReasonWindowClosed
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

// each looks at all of a kind in the cache. Of ten thousand a list, even of no copies, is ten megabytes, and there is a scrape every half minute.
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
	if err := from.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // of single namespaces there are several caches
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

// readyOf is what a Ready condition says, since when, its reason being one of those that are known.
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

// knownReasons are those of Ready conditions of Stacks and Repositories that are worth a series: who may write a status can
// write any. A new one counts as Other until it is here.
var knownReasons = func() map[string]bool {
	known := map[string]bool{}
	for _, reason := range []string{
		// Stacks that are, or wait for somebody
		"Applied", "AwaitingApproval", "ChangesPending", "Destroyed", "Drifted", "Suspended", "Protected", "ApplyNever", "RunCanceled", "RunRejected", "WindowClosed",
		// under way
		"Running", "Destroying", "Deleting", "DestroyIsNext", "Canceling", "Retrying", "Queued", "PodPending", "PodLeaving", "DependencyNotReady", "SourceNotReady", "RepositoryNotReady",
		// in trouble
		"RunFailed", "DestroyFailed", "NotDestroyed", "NamespaceEnds", "InputsUnknown", "DependencyCycle", "OutputsConflict", "OutputsFailed", "StateStranded", "StateStays", "RunsStay", "DependentsExist", "PodRefused", "NodeUnreachable", "Overdue", "InputsMissing", "WindowInvalid",
		"SourceMissing", "SourceInvalid", "SecretMissing", "ConfigMapMissing", "ConfigMapKeyMissing", "OutputMissing", "RepositoryMissing",
		"HookInvalid", "CommandInvalid", "PolicyInvalid", "BackendInvalid", "StateElsewhere", "InputsTooLarge", "EngineVersionInvalid", "TemplateInvalid", "ContentInvalid", "TooLarge",
		"BuildNotAllowed", "DockerfileNotFound", "PathNotFound", "NoCode", "ModuleNotFound", "InvalidGlob", "VariableFileNotFound",
		"TerragruntStackNotSupported",
		// Repositories
		"Fetched", "Fetching", "FetchFailed", "AuthenticationFailed", "HostKeyUnknown", "CertificateUntrusted", "Redirected", "RepositoryNotFound",
		"Unreachable", "RefNotFound", "NotFetched", "Timeout", "ConfigurationInvalid", "CredentialsMissing", "CredentialsInvalid",
	} {
		known[reason] = true
	}
	return known
}()
