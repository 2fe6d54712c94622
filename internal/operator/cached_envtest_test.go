//go:build envtest

package operator

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
	"cairn.dev/cairn/test/apiserver"
)

// TestCacheOfAnOperatorHasNoSucceededRuns checks that the cache of an operator without a server drops Runs that
// succeeded, and that one with a server has them. Reads do not wait for writes of objects that the cache drops.
func TestCacheOfAnOperatorHasNoSucceededRuns(t *testing.T) {
	r := enter(t)
	for name, tt := range map[string]struct {
		options Options
		want    string
	}{"without a server": {Options{}, "failed planning"}, "with a server": {Options{Server: true}, "failed planning succeeded"}} {
		ctx, c, stop := manage(t, tt.options)
		has := func() string {
			var runs v1alpha1.RunList
			apiserver.Must(t, c.List(ctx, &runs, client.InNamespace(r.Namespace)))
			var names []string
			for _, run := range runs.Items {
				names = append(names, run.Name)
			}
			slices.Sort(names)
			return strings.Join(names, " ")
		}
		runs := []*v1alpha1.Run{
			newRun(r, "planning", "net", v1alpha1.PhasePlanning, "Planning"), newRun(r, "failed", "net", v1alpha1.PhaseFailed, "Failed"),
			newRun(r, "succeeded", "net", v1alpha1.PhaseApplying, "Applying"),
		}
		for has() != "failed planning succeeded" {
			apiserver.Must(t, ctx.Err())
			time.Sleep(10 * time.Millisecond)
		}
		runs[2].Status.Phase = v1alpha1.PhaseSucceeded
		apiserver.Must(t, c.Status().Update(ctx, runs[2], client.DisableReadYourWritesConsistency))
		for has() != tt.want {
			if ctx.Err() != nil {
				t.Fatalf("%s: the cache has %q", name, has())
			}
			time.Sleep(10 * time.Millisecond)
		}
		apiserver.Must(t, c.Delete(ctx, runs[2], client.DisableReadYourWritesConsistency))
		for has() != "failed planning" { // or it waits for the Run, of which the cache never hears, until ctx is done
			apiserver.Must(t, ctx.Err())
			time.Sleep(10 * time.Millisecond)
		}
		for _, run := range runs[:2] {
			apiserver.Must(t, c.Delete(ctx, run))
		}
		stop()
	}
}

// TestCacheHasNoSucceededPods checks that pods that succeeded are removed from the cache, and others remain.
func TestCacheHasNoSucceededPods(t *testing.T) {
	r := enter(t)
	ctx, c, stop := manage(t, Options{})
	defer stop()
	pods := map[corev1.PodPhase]*corev1.Pod{}
	for _, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
		pods[phase] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: strings.ToLower(string(phase)), Labels: map[string]string{runinfo.LabelRun: "net-1"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "runner", Image: "runner"}}},
		}
		apiserver.Must(t, r.Client.Create(ctx, pods[phase]))
	}
	wait := func(want string) {
		t.Helper()
		for {
			var list corev1.PodList
			apiserver.Must(t, c.List(ctx, &list, client.InNamespace(r.Namespace)))
			var has []string
			for _, pod := range list.Items {
				has = append(has, pod.Name+" "+string(pod.Status.Phase))
			}
			slices.Sort(has)
			if strings.Join(has, ", ") == want {
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("the cache has %q, want %q", has, want)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	wait("failed Pending, succeeded Pending")
	for phase, pod := range pods {
		pod.Status.Phase = phase
		apiserver.Must(t, r.Client.Status().Update(ctx, pod))
	}
	wait("failed Failed")
}

// manage starts a manager with Cairn's cache, for at most two minutes.
func manage(t *testing.T, options Options) (ctx context.Context, c client.Client, stop func()) {
	t.Helper()
	o := managerOptions(options)
	mgr, err := ctrl.NewManager(apiserver.Config, ctrl.Options{
		Scheme: o.Scheme, Cache: o.Cache, NewClient: newClient(nil, time.Hour), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
	})
	apiserver.Must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return ctx, mgr.GetClient(), func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
