//go:build envtest

package stack

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
	"cairn.dev/cairn/internal/controller/stack/source"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/test/apiserver"
)

// TestEndOfThePodOfADeletedRunReconcilesTheStack checks that the next Run does not wait longer than for the pod: the
// events of a pod are not the Stack's, and its Run has none any more.
func TestEndOfThePodOfADeletedRunReconcilesTheStack(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	run, pod := firstRun(r), newPod(firstRun(r))
	r.Make(pod)

	mgr, err := ctrl.NewManager(apiserver.Config, ctrl.Options{
		Scheme:  r.Env.Client.Scheme(),
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{r.Namespace: {}}},
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	apiserver.Must(t, err)
	reconciler := &Reconciler{Gatherer: snapshot.Gatherer{Client: mgr.GetClient(),
		Sources: source.NewSources(r.Env.Live, r.bucket)}}
	gone := func(ctx context.Context, o client.Object) bool {
		return apierrors.IsNotFound(r.Env.Live.Get(ctx, client.ObjectKeyFromObject(o),
			o.DeepCopyObject().(client.Object)))
	}
	seen := make(chan [2]bool, 100) // whether the Run and the pod are deleted when the Stack is reconciled
	apiserver.Must(t, reconciler.SetupWithManager(mgr, make(chan repository.Event),
		reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
			seen <- [2]bool{gone(ctx, run), gone(ctx, pod)}
			return ctrl.Result{}, nil
		})))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	until := func(want [2]bool) {
		t.Helper()
		for end := time.After(time.Minute); ; {
			select {
			case got := <-seen:
				if got == want {
					return
				}
			case <-end:
				t.Fatalf("the Stack is not reconciled once the Run and the pod are %v", want)
			}
		}
	}

	until([2]bool{false, false})
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), run))
	until([2]bool{true, false})
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	until([2]bool{true, true})
}

// newPod is a pod of a Run's plan.
func newPod(run *v1alpha1.Run) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:   runinfo.PodName(run.Name, v1alpha1.AttemptPlan, 1),
			Labels: map[string]string{runinfo.LabelStack: run.Spec.Stack.Name, runinfo.LabelRun: run.Name},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("Run"))},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "engine", Image: "tools"}}},
	}
}
