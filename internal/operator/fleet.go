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
	"cairn.dev/cairn/internal/lifecycle/kinds"
)

// fleet exports the status of all Stacks, Runs and States, and of other kinds how many objects are Ready, to
// Prometheus: by namespace, and never by name. It reads the cache, so that a deleted namespace is gone from here too.
// Of several processes only the one that reconciles exports it, or sums would count everything several times. What may
// last too long is exported as the time that it began, so that an alert subtracts it from now.
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

	gaugeStates     = fleetDesc("states", "States.", "namespace")
	gaugeStateBytes = fleetDesc("state_bytes", "Size of the current versions of all states, uncompressed.",
		"namespace")
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
)

// gaugeReady counts the objects of a kind whose objects have a Ready condition.
func gaugeReady(k kinds.Kind) *prometheus.Desc {
	return fleetDesc(k.Named().Resource(), kinds.ReadyHelp(k), kinds.ReadyLabels...)
}

// Describe sends all that Collect may send.
func (f *fleet) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		gaugeLeader, gaugeUnreadySince, gaugeDrifted, gaugeDriftSince, gaugeRuns, gaugeRunsSince,
		gaugeStates, gaugeStateBytes, gaugeStateLargest, gaugeResources, gaugeRescued, gaugeLocks, gaugeLocksSince,
	} {
		descs <- d
	}
	for _, k := range kinds.All {
		if k.ConditionsOf() != nil {
			descs <- gaugeReady(k)
		}
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
	for _, count := range []func(context.Context, *gauges) error{f.ready, f.stacks, f.runs, f.states} {
		g := &gauges{values: map[gauge]float64{}}
		if err := count(ctx, g); err != nil {
			return // the cache is not filled yet, or stops: half of it would be wrong
		}
		for of, value := range g.values {
			metrics <- prometheus.MustNewConstMetric(of.desc, prometheus.GaugeValue, value, of.labels[:of.n]...)
		}
	}
}

// ready counts the objects of each kind by their Ready condition.
func (f *fleet) ready(ctx context.Context, g *gauges) error {
	for _, k := range kinds.All {
		conditions := k.ConditionsOf()
		if conditions == nil {
			continue
		}
		desc := gaugeReady(k)
		err := each(ctx, f.cache, k.New(), k.NewList(), func(o client.Object) {
			if f.shard.has(o.GetNamespace()) {
				ready, reason, _ := readyOf(conditions(o), o.GetCreationTimestamp())
				g.add(1, desc, o.GetNamespace(), ready, reason)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) stacks(ctx context.Context, g *gauges) error {
	return each(ctx, f.cache, &v1alpha1.Stack{}, &v1alpha1.StackList{}, func(s *v1alpha1.Stack) {
		ready, reason, since := readyOf(s.Status.Conditions, s.CreationTimestamp)
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

// readyOf is the status of a Ready condition and since when. Its reason is one of those in the API: a user who can
// write a status can write any, and each is a series.
func readyOf(conditions []metav1.Condition, made metav1.Time) (ready, reason string, since time.Time) {
	c := apimeta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	if c == nil {
		return string(metav1.ConditionUnknown), "New", made.Time
	}
	if !isExported(c.Reason) {
		return string(c.Status), "Other", c.LastTransitionTime.Time
	}
	return string(c.Status), c.Reason, c.LastTransitionTime.Time
}

// isExported reports whether a reason is one of Ready conditions.
func isExported(reason string) bool {
	r, _ := v1alpha1.ReasonNamed(reason)
	const all = v1alpha1.InStack | v1alpha1.InRepository | v1alpha1.InPullRequest | v1alpha1.InStackSet |
		v1alpha1.InNotification | v1alpha1.InDriftPause | v1alpha1.InPipeline
	return r.In&all != 0
}
