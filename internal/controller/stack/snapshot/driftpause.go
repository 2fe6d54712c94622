package snapshot

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/lifecycle/massdrift"
)

// stacksPerPage is how many Stacks a request past the cache returns.
const stacksPerPage = 500

// GatherDriftPause adds whether drift is corrected in the namespace. The cache can only prevent a correction: it may
// not have the pause yet, or the drift of others. So a correction needs the answer of the API server, in which the
// Stack itself is as in the snapshot, since its drift may not be written yet.
func (g *Gatherer) GatherDriftPause(ctx context.Context, w *decision.Snapshot) error {
	for _, from := range []stackSource{{g.Client, 0}, {g.Live, stacksPerPage}} {
		pause, err := g.pause(ctx, from, w)
		if err != nil {
			return err
		}
		if w.DriftPause = pause; pause.Why != "" {
			return nil
		}
	}
	return nil
}

// stackSource reads Stacks, some at a time; a cache, with 0, returns all at once.
type stackSource struct {
	client.Reader
	page int64
}

// pause is why no drift is corrected in the namespace of a Stack, from a source.
func (g *Gatherer) pause(ctx context.Context, from stackSource, w *decision.Snapshot) (decision.Pause, error) {
	object := &v1alpha1.DriftPause{}
	err := from.Get(ctx, client.ObjectKey{Namespace: w.Stack.Namespace, Name: v1alpha1.DriftPauseName}, object)
	switch {
	case apierrors.IsNotFound(err):
		object = nil
	case err != nil:
		return decision.Pause{}, err
	case massdrift.Paused(object):
		return decision.Pause{Why: paused(int(object.Status.Drifted), int(object.Status.Checked), w.Stack.Namespace),
			Recorded: true}, nil
	}
	if g.MassDrift.Percent <= 0 {
		return decision.Pause{}, nil
	}
	stacks, err := driftOf(ctx, from, w)
	if err != nil {
		return decision.Pause{}, err
	}
	if f, is := massdrift.Find(stacks, massdrift.ResumedAt(object), w.Now, g.MassDrift); is {
		return decision.Pause{Why: paused(f.Drifted, f.Checked, w.Stack.Namespace)}, nil
	}
	return decision.Pause{}, nil
}

// paused describes a pause, and how it ends.
func paused(drifted, checked int, namespace string) string {
	return fmt.Sprintf("%d of %d Stacks of the namespace that were checked began to drift within an hour; find the "+
		"cause, then cairn drift resume -n %s", drifted, checked, namespace)
}

// driftOf returns what is known of the drift of the Stacks of the namespace, page by page: there may be thousands.
func driftOf(ctx context.Context, from stackSource, w *decision.Snapshot) (known []massdrift.Stack, err error) {
	own := *w.Stack
	own.Status = decision.Status(*w, decision.Decision{})
	known = append(known, massdrift.Of(&own))
	for next := ""; ; {
		var page v1alpha1.StackList
		err := from.List(ctx, &page, client.InNamespace(w.Stack.Namespace), client.UnsafeDisableDeepCopy,
			client.Limit(from.page), client.Continue(next))
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if s := &page.Items[i]; s.Name != w.Stack.Name {
				known = append(known, massdrift.Of(s))
			}
		}
		if next = page.Continue; next == "" || from.page == 0 {
			return known, nil
		}
	}
}
