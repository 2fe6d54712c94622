package scale

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// Load changes Stacks and measures their Runs.
type Load struct {
	i    *Install
	stop func()

	mu      sync.Mutex
	changed map[types.NamespacedName]time.Time
	begun   map[types.UID]time.Time
	news    chan struct{}

	// Made is the time from the change to the Run, and Done from there to its end.
	Made, Done []time.Duration
	// Ends are the times at which Runs finished, and Bad the Runs that did not succeed.
	Ends []time.Time
	Bad  []string
}

// Watch starts to watch Runs. It ignores those that exist.
func (i *Install) Watch() *Load {
	i.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var one v1alpha1.RunList
	if err := i.List(ctx, &one, client.Limit(1)); err != nil {
		i.Fatal(err)
	}
	w, err := i.Cluster.Watch(ctx, &v1alpha1.RunList{},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: one.ResourceVersion}})
	if err != nil {
		i.Fatal(err)
	}
	l := &Load{i: i, changed: map[types.NamespacedName]time.Time{}, begun: map[types.UID]time.Time{},
		news: make(chan struct{}, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range w.ResultChan() {
			if r, ok := event.Object.(*v1alpha1.Run); ok {
				l.saw(r, event.Type == watch.Added, time.Now())
			}
		}
	}()
	l.stop = func() { w.Stop(); cancel(); <-ended }
	return l
}

func (l *Load) saw(r *v1alpha1.Run, added bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := types.NamespacedName{Namespace: r.Namespace, Name: r.Spec.Stack.Name}
	if at, ok := l.changed[of]; ok && added {
		delete(l.changed, of)
		l.Made = append(l.Made, now.Sub(at))
		l.begun[r.UID] = now
	}
	at, ok := l.begun[r.UID]
	if !ok || !r.Status.Phase.Finished() {
		return
	}
	delete(l.begun, r.UID)
	l.Done, l.Ends = append(l.Done, now.Sub(at)), append(l.Ends, now)
	if r.Status.Phase != v1alpha1.PhaseSucceeded {
		l.Bad = append(l.Bad, fmt.Sprintf("%s/%s is %s", r.Namespace, r.Name, r.Status.Phase))
	}
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// Change changes the variables of one Stack.
func (l *Load) Change(i, size int) error {
	key := types.NamespacedName{Namespace: NamespaceOf(i), Name: NameOf(i)}
	// Measured from the request: the Run may exist before the response.
	l.mu.Lock()
	l.changed[key] = time.Now()
	l.mu.Unlock()
	return l.i.Resize(context.Background(), key.Namespace, key.Name, size)
}

// left returns how many changes and Runs are not finished.
func (l *Load) left() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.changed) + len(l.begun)
}

// Wait waits until at most a number are not finished.
func (l *Load) Wait(left int, deadline time.Duration) {
	l.i.Helper()
	timeout := time.After(deadline)
	for l.left() > left {
		select {
		case <-l.news:
		case <-time.After(time.Second):
		case <-timeout:
			l.i.Fatalf("%d of the Runs are not at their end after %s", l.left(), deadline)
		}
	}
}

// Result returns the measurements, after the end of Load.
func (l *Load) Result() *Load {
	l.stop()
	return l
}

// Quantile returns a quantile of durations.
func Quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// Rate returns the number of ends per second, from the first to the last.
func Rate(ends []time.Time) float64 {
	if len(ends) < 2 {
		return 0
	}
	first, last := slices.MinFunc(ends, time.Time.Compare), slices.MaxFunc(ends, time.Time.Compare)
	return float64(len(ends)-1) / last.Sub(first).Seconds()
}
