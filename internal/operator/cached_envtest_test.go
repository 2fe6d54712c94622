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
	runtelemetry "cairn.dev/cairn/internal/controller/run/telemetry"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/test/apiserver"
)

// TestCacheDropsFinishedRuns checks that the cache of an operator drops Runs that succeeded, and that of a server alone
// all finished Runs. Reads do not wait for the end of a Run, of which such a cache receives no event.
func TestCacheDropsFinishedRuns(t *testing.T) {
	r := newEnv(t)
	var recorder *runtelemetry.Recorder
	for name, tt := range map[string]struct {
		options Options
		want    string
	}{
		"an operator":               {Options{Operator: true}, "failed planning"},
		"an operator with a server": {Options{Operator: true, Server: true}, "failed planning"},
		"a server":                  {Options{Server: true}, "planning"},
	} {
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
		await := func(want string) {
			t.Helper()
			for has() != want {
				if ctx.Err() != nil {
					t.Fatalf("%s: the cache has %q, want %q", name, has(), want)
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
		runs := map[v1alpha1.RunPhase]*v1alpha1.Run{
			v1alpha1.PhasePlanning:  newRun(r, "planning", "net", v1alpha1.PhasePlanning, "Planning"),
			v1alpha1.PhaseFailed:    newRun(r, "failed", "net", v1alpha1.PhaseApplying, "Applying"),
			v1alpha1.PhaseSucceeded: newRun(r, "succeeded", "net", v1alpha1.PhaseApplying, "Applying"),
		}
		await("failed planning succeeded")
		for phase, run := range runs {
			before := run.DeepCopy()
			run.Status.Phase = phase
			apiserver.Must(t, recorder.WriteStatus(ctx, c, before, run))
		}
		await(tt.want)
		for phase, run := range runs {
			if phase.Finished() { // again, when the cache has dropped it
				before := run.DeepCopy()
				run.Status.Retries++
				apiserver.Must(t, recorder.WriteStatus(ctx, c, before, run))
			}
		}
		await(tt.want) // or it waits for a Run of which the cache receives no event, until ctx is done
		for _, run := range runs {
			apiserver.Must(t, c.Delete(ctx, run, client.DisableReadYourWritesConsistency))
		}
		await("")
		stop()
	}
}

// TestCacheHasNoSucceededPods checks that pods that succeeded are removed from the cache, and others remain.
func TestCacheHasNoSucceededPods(t *testing.T) {
	r := newEnv(t)
	ctx, c, stop := manage(t, Options{})
	defer stop()
	pods := map[corev1.PodPhase]*corev1.Pod{}
	for _, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
		pods[phase] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: strings.ToLower(string(phase)),
				Labels: map[string]string{runinfo.LabelRun: "net-1"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "runner", Image: "runner"}}},
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
		Scheme: o.Scheme, Cache: o.Cache, NewClient: newClient(nil, time.Hour),
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
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
