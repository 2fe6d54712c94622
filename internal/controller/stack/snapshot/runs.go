package snapshot

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// gatherRuns has the Runs that went well from the status, and the others from the cache.
func (g *Gatherer) gatherRuns(ctx context.Context, w *decision.Snapshot) error {
	var runs v1alpha1.RunList
	err := g.Client.List(ctx, &runs, client.InNamespace(w.Stack.Namespace),
		client.MatchingFields{index.StackField: w.Stack.Name})
	if err != nil {
		return err
	}
	named := w.Stack.Status.CurrentRun
	runs.Items = slices.DeleteFunc(runs.Items, func(r v1alpha1.Run) bool { // a cache may have more, and that may be old
		return metav1.IsControlledBy(&r, w.Stack) &&
			(decision.InHistory(w.Stack, r.Name) || (r.Status.Phase == v1alpha1.PhaseSucceeded && r.Name != named))
	})
	if w.CurrentRunUncached, err = g.addCurrent(ctx, w.Stack, &runs); err != nil {
		return err
	}
	if err := g.addUnrecorded(ctx, w.Stack, &runs); err != nil {
		return err
	}
	w.Runs = decision.RunsInHistory(w.Stack)
	w.AddRuns(runs.Items)
	return nil
}

// addCurrent adds the Run that the status names, when the cache does not have it: it may have been created a moment
// ago, or have succeeded. A Run of the same name in the cache may be that of an earlier Stack. It is uncached when the
// cache does not have it and it is not finished: if it is deleted while the watch is broken, a new list does not have
// it either, and there is no event of its end.
func (g *Gatherer) addCurrent(ctx context.Context, stack *v1alpha1.Stack, runs *v1alpha1.RunList) (uncached bool,
	err error) {
	named := stack.Status.CurrentRun
	if named == "" || has(runs, stack, named) {
		return false, nil
	}
	var run v1alpha1.Run
	err = g.Live.Get(ctx, client.ObjectKey{Namespace: stack.Namespace, Name: named}, &run)
	switch {
	case apierrors.IsNotFound(err):
		return false, g.refreshUnfinished(ctx, stack, runs)
	case err != nil:
		return false, err
	case !metav1.IsControlledBy(&run, stack): // an earlier Stack's, of which there may be more
		return false, g.addAll(ctx, stack, runs)
	}
	runs.Items = append(runs.Items, run)
	return !run.Status.Phase.Finished(), nil
}

// addAll adds what the API server has of a Stack's Runs, and of those of an earlier Stack of its name.
func (g *Gatherer) addAll(ctx context.Context, stack *v1alpha1.Stack, runs *v1alpha1.RunList) error {
	var all v1alpha1.RunList
	err := g.Live.List(ctx, &all, client.InNamespace(stack.Namespace),
		client.MatchingLabels{runinfo.LabelStack: runinfo.LabelValue(stack.Name)})
	if err != nil {
		return err
	}
	for _, one := range all.Items {
		known := slices.ContainsFunc(runs.Items, func(r v1alpha1.Run) bool { return r.UID == one.UID }) ||
			(metav1.IsControlledBy(&one, stack) && decision.InHistory(stack, one.Name))
		if one.Spec.Stack.Name == stack.Name && one.Spec.PullRequest == nil && !known {
			runs.Items = append(runs.Items, one)
		}
	}
	return nil
}

// has reports that some Runs contain a Stack's Run of a name.
func has(runs *v1alpha1.RunList, stack *v1alpha1.Stack, name string) bool {
	return slices.ContainsFunc(runs.Items, func(r v1alpha1.Run) bool {
		return r.Name == name && metav1.IsControlledBy(&r, stack)
	})
}

// refreshUnfinished reads those Runs again that are not finished in the cache. A Run is named when all before it are
// finished: where one is named and not created yet, a cache with an unfinished one is behind, and would set the status
// back to a Run that has ended.
func (g *Gatherer) refreshUnfinished(ctx context.Context, stack *v1alpha1.Stack, runs *v1alpha1.RunList) error {
	var known []v1alpha1.Run
	for _, one := range runs.Items {
		if !one.Status.Phase.Finished() && metav1.IsControlledBy(&one, stack) {
			err := g.Live.Get(ctx, client.ObjectKeyFromObject(&one), &one)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
		}
		known = append(known, one)
	}
	runs.Items = known
	return nil
}

// addUnrecorded adds all Runs of a Stack if the status has no record of its newest Run: a user deleted that Run, or the
// history.
func (g *Gatherer) addUnrecorded(ctx context.Context, stack *v1alpha1.Stack, runs *v1alpha1.RunList) error {
	newest := stack.Status.LastRun
	if newest == "" || decision.InHistory(stack, newest) || newest == stack.Status.CurrentRun ||
		has(runs, stack, newest) {
		return nil
	}
	var run v1alpha1.Run
	err := g.Live.Get(ctx, client.ObjectKey{Namespace: stack.Namespace, Name: newest}, &run)
	if err != nil || !metav1.IsControlledBy(&run, stack) {
		return client.IgnoreNotFound(err)
	}
	return g.addAll(ctx, stack, runs)
}

// GatherLeftover finds a Run that was created late, or a pod that has not ended and whose Run was deleted. It asks the
// API server for pods, just before the next Run is named or the Stack goes, and only where the Run that was named last
// does not exist, or there is a State that the Stack never applied. It also asks for that State: the cache may have one
// from before the Stack applied it, which would be left behind.
func (g *Gatherer) GatherLeftover(ctx context.Context, w *decision.Snapshot) error {
	if w.TakesOverState() {
		if err := g.gatherLiveState(ctx, w); err != nil {
			return err
		}
	}
	if w.Leftover.Run = w.LateRun; w.LateRun != "" {
		return nil
	}
	if last := w.Stack.Status.LastRun; w.RunNamed(last) != nil || (last == "" && w.State == nil) {
		return nil
	}
	var pods corev1.PodList
	err := g.Live.List(ctx, &pods, client.InNamespace(w.Stack.Namespace),
		client.MatchingLabels{runinfo.LabelStack: runinfo.LabelValue(w.Stack.Name)})
	if err != nil {
		return fmt.Errorf("list pods of Stack %s: %w", w.Stack.Name, err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		of := metav1.GetControllerOf(pod)
		if of == nil || of.Name != runinfo.Name(w.Stack.Name, runinfo.Number(of.Name)) || runinfo.PodEnded(pod, true) {
			continue
		}
		if known := w.RunNamed(of.Name); known == nil || known.UID != of.UID {
			w.Leftover = decision.Leftover{Run: of.Name, Pod: pod.Name}
			return nil
		}
	}
	return nil
}
