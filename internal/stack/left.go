package stack

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/run"
	states "cairn.dev/cairn/internal/state"
)

// Nothing keeps a user from deleting a Run while its pod applies. The pod goes on until it has saved its state, so the next Run waits for it, and so does
// the end of a Stack that is being deleted.

// LeftPod is a pod of a Run that was deleted.
type LeftPod struct{ Name, Run string }

// leftAgain is when to check again whether a pod has ended whose Run was deleted: its events are not the Stack's.
const leftAgain = 10 * time.Second

// podOutlivesItsRun: two Runs of a Stack do not run at the same time, also when one of them was deleted.
func podOutlivesItsRun(w World) (Decision, bool) {
	if w.Left.Name == "" {
		return Decision{}, false
	}
	d, ok := unready(run.ReasonPodLeaving, "Run %s was deleted, and its pod %s has not ended: the Stack waits for that; if its node is off for good: kubectl delete pod %s --force",
		w.Left.Run, w.Left.Name, w.Left.Name)
	d.RequeueAfter = leftAgain
	return d, ok
}

// gatherLeft finds a pod that has not ended and whose Run was deleted. It asks the API server, just before the next Run is named or the Stack
// goes, and only where the Run that was named last does not exist, or an earlier Stack of this name left a State.
func (r *Reconciler) gatherLeft(ctx context.Context, w *World) error {
	if last := w.Stack.Status.LastRun; w.run(last) != nil || (last == "" && w.State == nil) {
		return nil
	}
	var pods corev1.PodList
	err := r.Live.List(ctx, &pods, client.InNamespace(w.Stack.Namespace), client.MatchingLabels{run.LabelStack: run.LabelValue(w.Stack.Name)})
	if err != nil {
		return fmt.Errorf("list pods of Stack %s: %w", w.Stack.Name, err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		of := metav1.GetControllerOf(pod)
		if of == nil || of.Name != run.Name(w.Stack.Name, run.Number(of.Name)) || states.Ended(pod, true) {
			continue
		}
		if known := w.run(of.Name); known == nil || known.UID != of.UID {
			w.Left = LeftPod{Name: pod.Name, Run: of.Name}
			return nil
		}
	}
	return nil
}
