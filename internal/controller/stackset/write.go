package stackset

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/internal/controller/stackset/render"
)

const (
	// FieldManager owns what the template has.
	FieldManager = "cairn-stackset"
	// GoneManager owns the suspension of a Stack that is not generated any more: a Stack that a user suspended too
	// stays so when its directory returns.
	GoneManager = "cairn-stackset-gone"
	// mostWrites is how many Stacks are written in one reconcile. Deletions are all in one: what is left of a confirmed
	// list is another list.
	mostWrites = 100
	// mostConflicts is how often a deletion is tried while other writers change the Stack.
	mostConflicts = 5
)

// atOnce is how many Stacks are written at the same time.
var atOnce = 10

// outcome is what was written.
type outcome struct {
	// done are the names of Stacks by action.
	done map[decision.Action][]string
	// restored are the fields that a user had changed, and the manager.
	restored []restored
	failures []decision.Failure
	// again: not everything was written.
	again bool
	err   error
}

// write does the writes of a decision, as far as one reconcile does. A Stack that cannot be written does not hold up
// the others, and is tried again later.
func (r *Reconciler) write(ctx context.Context, w decision.Snapshot, d decision.Decision, k *known) outcome {
	out := outcome{done: map[decision.Action][]string{}}
	waits := func(one decision.Write) bool { return k.waits(w, one) }
	due := slices.DeleteFunc(slices.Clone(d.Writes), waits)
	if due, out.err = r.stillGranted(ctx, &w, due); out.err != nil {
		return out
	}
	removals, writes := split(due, decision.Suspend, decision.Delete)
	if len(removals) > 0 {
		if removals, out.err = r.confirmed(ctx, w, k); out.err != nil {
			writes = nil // the rest was decided from the same
		}
	}
	deletions, suspensions := split(slices.DeleteFunc(removals, waits), decision.Delete)
	writes = append(suspensions, writes...)
	if len(writes) > mostWrites {
		writes, out.again = writes[:mostWrites], true
	}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(atOnce)
	all, unanswered := slices.Concat(deletions, writes), 0
	for _, one := range all {
		group.Go(func() error {
			result, err := r.one(ctx, w.Set, one)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				delete(k.failed, one.Name)
				out.done[one.Action] = append(out.done[one.Action], one.Name)
				out.restored = append(out.restored, result.restored...)
				if result.generation > 0 {
					k.written[one.Stack.UID] = result.generation
				}
			case !k.fail(one, err, w.Now):
				out.again = true
			case !k.failed[one.Name].Rejected:
				unanswered++
			}
			return nil
		})
	}
	_ = group.Wait()
	if unanswered > 0 && unanswered == len(all) { // others would fail too
		out.again = false
	}
	out.failures = k.failures(d.Writes)
	return out
}

// split returns the writes with one of the actions, and the others.
func split(writes []decision.Write, actions ...decision.Action) (of, others []decision.Write) {
	for _, one := range writes {
		if slices.Contains(actions, one.Action) {
			of = append(of, one)
		} else {
			others = append(others, one)
		}
	}
	return of, others
}

// confirmed decides the suspensions and deletions again, from what the API server has: a cache that is late must not
// delete, nor suspend more than spec.maxDeletions because it does not have new Stacks yet.
func (r *Reconciler) confirmed(ctx context.Context, w decision.Snapshot, k *known) ([]decision.Write, error) {
	set := &v1alpha1.StackSet{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(w.Set), set); err != nil {
		return nil, err
	}
	if set.UID != w.Set.UID || set.Generation != w.Set.Generation || set.DeletionTimestamp != nil {
		return nil, conflict(set.Name, "the StackSet changed")
	}
	var stacks []v1alpha1.Stack
	for _, namespace := range watched(w) {
		var list v1alpha1.StackList
		of := client.MatchingLabels{v1alpha1.StackSetLabel: set.Name}
		if err := r.Live.List(ctx, &list, client.InNamespace(namespace), of); err != nil {
			return nil, err
		}
		stacks = append(stacks, list.Items...)
	}
	w.Set = set
	revision := w.Revision
	if err := r.gatherRendered(ctx, &w, k); err != nil {
		return nil, err
	}
	if w.Revision != revision { // a directory may have returned
		return nil, conflict(set.Name, "the commit changed")
	}
	isOwn := func(s v1alpha1.Stack) bool { return set.Owns(&s) }
	isForeign := func(s v1alpha1.Stack) bool { return !isOwn(s) }
	w.Stacks = slices.Concat(slices.DeleteFunc(stacks, isForeign), slices.DeleteFunc(slices.Clone(w.Stacks), isOwn))
	slices.SortFunc(w.Stacks, func(a, b v1alpha1.Stack) int { return cmp.Compare(a.Name, b.Name) })
	removals, _ := split(decision.Decide(w).Writes, decision.Suspend, decision.Delete)
	return removals, nil
}

func conflict(name, why string) error {
	return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("stacks").GroupResource(), name, errors.New(why))
}

// result of a write.
type result struct {
	// restored are the fields that it restored.
	restored []restored
	// generation that a change resulted in.
	generation int64
}

// one does one write.
func (r *Reconciler) one(ctx context.Context, set *v1alpha1.StackSet, one decision.Write) (result, error) {
	if one.Action == decision.Create {
		return result{}, r.create(ctx, set, one)
	}
	live := &v1alpha1.Stack{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(one.Stack), live); err != nil {
		return result{}, err
	}
	if err := isStill(set, one, live); err != nil {
		return result{}, err
	}
	switch one.Action {
	case decision.Change:
		return r.change(ctx, set, one, live)
	case decision.Suspend:
		return result{}, r.suspend(ctx, one, live)
	case decision.Release:
		approval := map[string]any{"requireApprovalFor": []any{string(v1alpha1.ChangeStackDeletion)}}
		return result{}, r.release(ctx, live, approval)
	}
	return result{}, r.delete(ctx, set, one, live)
}

// isStill reports whether the Stack is the one that was decided about.
func isStill(set *v1alpha1.StackSet, one decision.Write, live *v1alpha1.Stack) error {
	switch {
	case live.UID != one.Stack.UID:
		return conflict(live.Name, "it was created again")
	case !set.Owns(live):
		return conflict(live.Name, "it is not of the StackSet any more")
	case (live.DeletionTimestamp != nil) != (one.Action == decision.Release):
		return conflict(live.Name, "its deletion has begun")
	case one.Action == decision.Change && live.Generation != one.Stack.Generation:
		return conflict(live.Name, "it changed")
	}
	return nil
}

// noVersion is the resourceVersion of no object that exists: an apply with it creates the object, and fails if there is
// one.
const noVersion = "1"

// create creates a Stack. One that a user created meanwhile stays as it is.
func (r *Reconciler) create(ctx context.Context, set *v1alpha1.StackSet, one decision.Write) error {
	body, err := BodyOf(set, one)
	if err != nil {
		return err
	}
	body.SetResourceVersion(noVersion)
	return r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(body), client.FieldOwner(FieldManager))
}

// BodyOf is what the template has for a Stack.
func BodyOf(set *v1alpha1.StackSet, one decision.Write) (*unstructured.Unstructured, error) {
	object, err := render.Object(one.Rendered.JSON)
	if err != nil {
		return nil, err
	}
	body := &unstructured.Unstructured{Object: object}
	stack := decision.Locate(set, one.Name)
	identify(body, stack.Namespace, stack.Name)
	labels, annotations := body.GetLabels(), body.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels[v1alpha1.StackSetLabel], annotations[v1alpha1.RenderedAnnotation] = set.Name, one.Rendered.Digest
	if stack.Namespace != set.Namespace {
		labels[v1alpha1.StackSetNamespaceLabel] = set.Namespace
	}
	annotations[v1alpha1.ChangedByAnnotation] = author(set.Name)
	body.SetLabels(labels)
	body.SetAnnotations(annotations)
	return body, nil
}

// author is who changes a Stack, for the rules about approvals of one's own changes.
func author(set string) string { return v1alpha1.ChangedByStackSet + set }

func identify(body *unstructured.Unstructured, namespace, name string) {
	body.SetAPIVersion(v1alpha1.GroupVersion.String())
	body.SetKind("Stack")
	body.SetNamespace(namespace)
	body.SetName(name)
}

// change applies the template to a Stack as it is, and ends the suspension of one whose directory returned.
func (r *Reconciler) change(
	ctx context.Context, set *v1alpha1.StackSet, one decision.Write, live *v1alpha1.Stack,
) (result, error) {
	fields, err := restoredFields(set, one, live)
	if err != nil {
		return result{}, err
	}
	body, err := BodyOf(set, one)
	if err != nil {
		return result{}, err
	}
	if err := keepIgnored(body, append(absentRules(body), set.Spec.Ignore...), live); err != nil {
		return result{}, err
	}
	body.SetUID(live.UID)
	body.SetResourceVersion(live.ResourceVersion)
	apply := client.ApplyConfigurationFromUnstructured(body)
	if err := r.Client.Apply(ctx, apply, client.FieldOwner(FieldManager), client.ForceOwnership); err != nil {
		return result{}, err
	}
	changed := result{restored: fields, generation: body.GetGeneration()}
	if live.Annotations[v1alpha1.ItemGoneAnnotation] == "" {
		return changed, nil
	}
	live.ResourceVersion = body.GetResourceVersion()
	return changed, r.release(ctx, live, map[string]any{})
}

// suspend suspends a Stack that is not generated any more.
func (r *Reconciler) suspend(ctx context.Context, one decision.Write, live *v1alpha1.Stack) error {
	_, err := r.applyGone(ctx, live, map[string]any{"suspend": true},
		map[string]string{v1alpha1.ItemGoneAnnotation: one.Why})
	return err
}

// applyGone applies all that GoneManager has of a Stack.
func (r *Reconciler) applyGone(
	ctx context.Context, live *v1alpha1.Stack, spec map[string]any, annotations map[string]string,
) (*unstructured.Unstructured, error) {
	body := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	identify(body, live.Namespace, live.Name)
	body.SetUID(live.UID)
	body.SetResourceVersion(live.ResourceVersion)
	annotations[v1alpha1.ChangedByAnnotation] = author(live.Labels[v1alpha1.StackSetLabel])
	body.SetAnnotations(annotations)
	apply := client.ApplyConfigurationFromUnstructured(body)
	return body, r.Client.Apply(ctx, apply, client.FieldOwner(GoneManager), client.ForceOwnership)
}

// release ends the suspension by the set: what only GoneManager applied is removed, and what a user set stays. Of a
// Stack that is being deleted it requires an approval of the destroy plan: who confirmed the list saw names, and not
// which resources are destroyed.
func (r *Reconciler) release(ctx context.Context, live *v1alpha1.Stack, spec map[string]any) error {
	body, err := r.applyGone(ctx, live, spec, map[string]string{})
	text := body.GetAnnotations()[v1alpha1.ItemGoneAnnotation]
	if err != nil || text == "" {
		return err
	}
	before := &v1alpha1.Stack{} // a user copied the annotation
	before.Namespace, before.Name, before.ResourceVersion = live.Namespace, live.Name, body.GetResourceVersion()
	before.Annotations = map[string]string{v1alpha1.ItemGoneAnnotation: text}
	after := before.DeepCopy()
	after.Annotations = nil
	return r.Client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// delete deletes a Stack, and ends its suspension so that it can be destroyed. A Stack that another writer changes is
// read again: what is left of a confirmed list would have to be confirmed again.
func (r *Reconciler) delete(
	ctx context.Context, set *v1alpha1.StackSet, one decision.Write, live *v1alpha1.Stack,
) error {
	for range mostConflicts {
		err := r.Client.Delete(ctx, live, client.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion})
		if !apierrors.IsConflict(err) {
			return client.IgnoreNotFound(err) // the event of the deletion releases it
		}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return client.IgnoreNotFound(err)
		}
		if err := isStill(set, one, live); err != nil {
			return err
		}
	}
	return conflict(live.Name, "others change it")
}
