package run

import (
	"k8s.io/utils/ptr"

	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
)

// endsEarly reports whether a Run ends and another attempt might have begun instead.
func endsEarly(s *v1alpha1.RunStatus) bool {
	return s.Phase == v1alpha1.PhaseCanceled || s.Phase == v1alpha1.PhaseSuperseded
}

// deleteLeftover deletes a pod that was created for an attempt which then did not begin: the Run was canceled between the
// creation of the pod and the report of it, or the operator ended there. No attempt names it, so it receives no order, and
// would wait for one as long as the Run is kept.
func (r *Reconciler) deleteLeftover(ctx context.Context, run *v1alpha1.Run) error {
	for _, phase := range []v1alpha1.AttemptPhase{v1alpha1.AttemptBuild, v1alpha1.AttemptPlan, v1alpha1.AttemptApply, v1alpha1.AttemptShell} {
		pod := &metav1.PartialObjectMetadata{}
		pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: runinfo.PodName(run.Name, phase, runinfo.NextNumber(&run.Status))}, pod)
		if apierrors.IsNotFound(err) || (err == nil && !metav1.IsControlledBy(pod, run)) {
			continue
		}
		if err == nil {
			err = r.Client.Delete(ctx, pod, client.Preconditions{UID: ptr.To(pod.UID)})
		}
		if err := client.IgnoreNotFound(ignoreConflict(err)); err != nil {
			return err
		}
	}
	return nil
}
