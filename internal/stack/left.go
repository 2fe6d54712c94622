package stack

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
	states "cairn.dev/cairn/internal/state"
)

// Nothing keeps a user from deleting a Run while its pod applies. The pod goes on until it has saved its state, so the next Run waits for it, and so does
// the end of a Stack that is being deleted. So do both for a Run that a former leader created late, after the next one was named: it is superseded.

// Leftover is a Run that is not the Stack's any more and has not ended: one that was created late, or one that was deleted, of which there is a pod.
type Leftover struct{ Run, Pod string }

// leftAgain is when to check again whether a pod has ended whose Run was deleted: its events are not the Stack's.
const leftAgain = 10 * time.Second

// leftoverEndsFirst: two Runs of a Stack do not run at the same time, also when one of them was deleted or created late.
func leftoverEndsFirst(w World) (d Decision, ok bool) {
	switch left := w.Left; {
	case left.Run == "":
		return d, false
	case left.Pod == "":
		d, ok = progressing(v1alpha1.ReasonRunning, "Run %s ends first: it was created late, after Run %s was named", left.Run, w.Stack.Status.LastRun)
	default:
		d, ok = unready(v1alpha1.ReasonPodTerminating, "Run %s was deleted, and its pod %s has not ended: the Stack waits for that; if its node is off for good: kubectl delete pod %s --force",
			left.Run, left.Pod, left.Pod)
	}
	d.RequeueAfter = leftAgain
	return d, ok
}

// gatherLeft finds a Run that was created late, or a pod that has not ended and whose Run was deleted. It asks the API server for pods, just before
// the next Run is named or the Stack goes, and only where the Run that was named last does not exist, or an earlier Stack of this name left a State.
func (r *Reconciler) gatherLeft(ctx context.Context, w *World) error {
	if w.Left.Run = w.Late; w.Late != "" {
		return nil
	}
	if last := w.Stack.Status.LastRun; w.run(last) != nil || (last == "" && w.State == nil) {
		return nil
	}
	var pods corev1.PodList
	err := r.Live.List(ctx, &pods, client.InNamespace(w.Stack.Namespace), client.MatchingLabels{runinfo.LabelStack: runinfo.LabelValue(w.Stack.Name)})
	if err != nil {
		return fmt.Errorf("list pods of Stack %s: %w", w.Stack.Name, err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		of := metav1.GetControllerOf(pod)
		if of == nil || of.Name != runinfo.Name(w.Stack.Name, runinfo.Number(of.Name)) || states.Ended(pod, true) {
			continue
		}
		if known := w.run(of.Name); known == nil || known.UID != of.UID {
			w.Left = Leftover{Run: of.Name, Pod: pod.Name}
			return nil
		}
	}
	return nil
}
