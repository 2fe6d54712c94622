package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/run"
	"cairn.dev/cairn/internal/run/runinfo"
	states "cairn.dev/cairn/internal/state"
)

func (r *Reconciler) gather(ctx context.Context, stack *v1alpha1.Stack) (World, error) {
	w := World{Now: r.now(), Stack: stack, AllowShell: r.AllowShell, AllowBuild: r.AllowBuild, DriftInterval: r.DriftInterval, Reserved: r.Reserved.of(stack)}
	state := &v1alpha1.State{}
	switch err := r.Client.Get(ctx, client.ObjectKeyFromObject(stack), state); {
	case err == nil:
		w.State = state
	case !apierrors.IsNotFound(err):
		return w, err
	}
	if err := r.gatherRuns(ctx, &w); err != nil {
		return w, err
	}
	if stack.DeletionTimestamp != nil {
		// The last look at a state before it is let go is at the state itself, not at a view of it that may be old.
		if w.active() != nil {
			return w, nil
		}
		if err := r.gatherDependents(ctx, &w); err != nil {
			return w, err
		}
		if w.empty() || w.destroyed() {
			if err := r.promote(ctx, &w); err != nil {
				return w, err
			}
			if err := r.gatherLiveState(ctx, &w); err != nil {
				return w, err
			}
			if err := r.gatherUnsaved(ctx, &w); err != nil {
				return w, err
			}
		}
		return w, r.gatherNamespace(ctx, &w)
	}
	doc, err := r.gatherSource(ctx, &w) // the code says what the Stack depends on
	if err != nil {
		return w, err
	}
	if err := r.gatherDependencies(ctx, &w); err != nil {
		return w, err
	}
	if err := r.gatherValues(ctx, &w, doc); err != nil {
		return w, err
	}
	switch last := w.decisive(); {
	case last == nil:
	case last.Spec.InputsDigest == w.Digest: // so that a start reads none of ten thousand from the bucket
		w.Last = &w.Inputs
	default:
		if doc, err := r.Inputs.Get(ctx, last.Spec.InputsDigest); err == nil { // it only words a cause
			w.Last = &doc
		}
	}
	return w, r.gatherOutputs(ctx, &w)
}

// promote has a state count that Kubernetes has forgotten, unless all is left as it is: it may be of what is to be destroyed.
func (r *Reconciler) promote(ctx context.Context, w *World) error {
	if w.Stack.Spec.DeletionPolicy == v1alpha1.DeletionOrphan {
		return nil
	}
	err := r.States.Promote(ctx, client.ObjectKeyFromObject(w.Stack))
	var refused *states.Refusal
	if never := w.State == nil || w.State.Status.Version == 0; never && errors.As(err, &refused) && refused.Reason == states.Stale {
		return nil // what there is was another Stack's of that name
	}
	return w.unless(err)
}

// unless notes why nobody can tell what there is: that would be the same the next time. Other errors are its caller's.
func (w *World) unless(err error) error {
	var refused *states.Refusal
	if !errors.As(err, &refused) {
		return err
	}
	w.Unreadable = refused.Message
	return nil
}

func (r *Reconciler) gatherLiveState(ctx context.Context, w *World) error {
	state := &v1alpha1.State{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(w.Stack), state)
	if apierrors.IsNotFound(err) {
		w.State = nil
		return nil
	}
	w.State = state
	return err
}

// gatherUnsaved looks into the journal of a state without resources, and of one that its engine encrypts, once it is destroyed. One with
// some is destroyed anyway, and its destroy looks; and of a Stack that leaves all as it is nobody asks.
func (r *Reconciler) gatherUnsaved(ctx context.Context, w *World) (err error) {
	if w.State == nil || w.State.Status.Resources > 0 || w.Stack.Spec.DeletionPolicy == v1alpha1.DeletionOrphan {
		return nil
	}
	w.Unsaved, err = r.States.Unsaved(ctx, client.ObjectKeyFromObject(w.Stack))
	return w.unless(err)
}

func (r *Reconciler) gatherNamespace(ctx context.Context, w *World) error {
	meta, err := metadata(ctx, r.Live, "", "Namespace", w.Stack.Namespace)
	w.NamespaceTerminating = meta != nil && meta.DeletionTimestamp != nil
	return err
}

// gatherRuns has the Runs that went well from the status, and the others from the cache.
func (r *Reconciler) gatherRuns(ctx context.Context, w *World) error {
	var runs v1alpha1.RunList
	err := r.Client.List(ctx, &runs, client.InNamespace(w.Stack.Namespace), client.MatchingFields{run.StackIndex: w.Stack.Name})
	if err != nil {
		return err
	}
	named := w.Stack.Status.CurrentRun
	runs.Items = slices.DeleteFunc(runs.Items, func(r v1alpha1.Run) bool { // a cache may have more, and that may be old
		return metav1.IsControlledBy(&r, w.Stack) && (recorded(w.Stack, r.Name) || (r.Status.Phase == v1alpha1.PhaseSucceeded && r.Name != named))
	})
	if w.Unheard, err = r.addNamed(ctx, w.Stack, &runs); err != nil {
		return err
	}
	if err := r.addUntold(ctx, w.Stack, &runs); err != nil {
		return err
	}
	w.Runs = past(w.Stack)
	w.addRuns(runs.Items)
	return nil
}

// addNamed adds the Run that the status names, when the cache has not heard of it or has it no more: it may have been made a moment ago, or
// gone well. One of the same name that the cache has may be that of an earlier Stack. It is unheard when the cache does not have it and it is
// not finished: if it is deleted while the watch is broken, a new list does not have it either, and no event tells its end.
func (r *Reconciler) addNamed(ctx context.Context, stack *v1alpha1.Stack, runs *v1alpha1.RunList) (unheard bool, err error) {
	named := stack.Status.CurrentRun
	if named == "" || has(runs, stack, named) {
		return false, nil
	}
	var run v1alpha1.Run
	err = r.Live.Get(ctx, client.ObjectKey{Namespace: stack.Namespace, Name: named}, &run)
	switch {
	case apierrors.IsNotFound(err):
		return false, r.lookAgain(ctx, stack, runs)
	case err != nil:
		return false, err
	case !metav1.IsControlledBy(&run, stack): // an earlier Stack's, of which there may be more
		return false, r.addAll(ctx, stack, runs)
	}
	runs.Items = append(runs.Items, run)
	return !run.Status.Phase.Finished(), nil
}

// addAll adds what the API server has of a Stack's Runs, and of those of an earlier Stack of its name.
func (r *Reconciler) addAll(ctx context.Context, stack *v1alpha1.Stack, runs *v1alpha1.RunList) error {
	var all v1alpha1.RunList
	err := r.Live.List(ctx, &all, client.InNamespace(stack.Namespace), client.MatchingLabels{runinfo.LabelStack: runinfo.LabelValue(stack.Name)})
	if err != nil {
		return err
	}
	for _, one := range all.Items {
		known := slices.ContainsFunc(runs.Items, func(r v1alpha1.Run) bool { return r.UID == one.UID }) ||
			(metav1.IsControlledBy(&one, stack) && recorded(stack, one.Name))
		if one.Spec.Stack.Name == stack.Name && !known {
			runs.Items = append(runs.Items, one)
		}
	}
	return nil
}

// has says that a Stack's Run of a name is among some.
func has(runs *v1alpha1.RunList, stack *v1alpha1.Stack, name string) bool {
	return slices.ContainsFunc(runs.Items, func(r v1alpha1.Run) bool { return r.Name == name && metav1.IsControlledBy(&r, stack) })
}

// lookAgain reads those Runs anew that are not finished as far as the cache knows. A Run is named when all before it are: where one is
// named and not made yet, a cache that says otherwise is behind, and would have the status go back to a Run that is over.
func (r *Reconciler) lookAgain(ctx context.Context, stack *v1alpha1.Stack, runs *v1alpha1.RunList) error {
	var known []v1alpha1.Run
	for _, one := range runs.Items {
		if !one.Status.Phase.Finished() && metav1.IsControlledBy(&one, stack) {
			err := r.Live.Get(ctx, client.ObjectKeyFromObject(&one), &one)
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

// gatherInputs makes the document of what decides a result now, or says why it cannot be made.
func (r *Reconciler) gatherInputs(ctx context.Context, w *World) error {
	doc, err := r.gatherSource(ctx, w)
	if err != nil {
		return err
	}
	return r.gatherValues(ctx, w, doc)
}

// gatherSource begins the document with the spec and the code.
func (r *Reconciler) gatherSource(ctx context.Context, w *World) (inputs.Document, error) {
	spec := w.Stack.Spec
	doc := inputs.Document{
		Engine: spec.Engine, Variables: spec.Variables, VariableFiles: spec.VariableFiles,
		Env: spec.Env, EnvFrom: spec.EnvFrom, Outputs: spec.Outputs, Versions: map[string]string{},
		ModuleCredentials: spec.ModuleCredentials,
		Image:             spec.Runner.Image, ServiceAccountName: spec.Runner.ServiceAccountName, Resources: spec.Runner.Resources,
		Template: spec.Runner.Template, Backend: spec.Backend,
	}
	if w.Problem = checkBackend(w); w.Problem != nil {
		return doc, nil
	}
	if err := run.CheckTemplate(doc); err != nil {
		w.Problem = &Problem{Reason: v1alpha1.ReasonTemplateInvalid, Message: err.Error()}
		return doc, nil
	}
	if _, err := run.ParseWindows(spec.Windows); err != nil {
		w.Problem = &Problem{Reason: v1alpha1.ReasonWindowInvalid, Message: err.Error()}
		return doc, nil
	}
	if b := spec.Runner.Build; b != nil && !b.Optional { // whether there is an optional one the code says
		if w.Problem = buildIsAllowed(w); w.Problem != nil {
			return doc, nil
		}
	}
	return doc, r.gatherCode(ctx, w, &doc)
}

// gatherValues completes the document with what comes from other objects, unless a problem is known.
func (r *Reconciler) gatherValues(ctx context.Context, w *World, doc inputs.Document) error {
	if w.Problem != nil {
		return nil
	}
	spec := w.Stack.Spec
	if doc.Build == nil {
		spec.Runner.Build = nil // nor are its credentials needed
	}
	for _, ref := range references(&spec) {
		meta, err := r.metadata(ctx, w.Stack.Namespace, ref.Kind, ref.Name)
		switch {
		case err != nil:
			return err
		case meta != nil && (ref.Credential || ref.Text):
		case meta != nil:
			doc.Versions[ref.key()] = versionOf(meta)
		case !ref.Optional:
			w.Problem = ref.problem()
			return nil
		}
	}
	if err := r.gatherScripts(ctx, w, &doc); err != nil || w.Problem != nil {
		return err
	}
	if err := r.gatherUsedOutputs(ctx, w, &doc); err != nil || w.Problem != nil {
		return err
	}
	data, digest, err := doc.Encode()
	if len(data) > inputs.MaxSize {
		w.Problem = &Problem{Reason: v1alpha1.ReasonInputsTooLarge, Message: fmt.Sprintf(
			"the inputs have %d bytes with the text of spec.hooks, spec.commands and spec.policies, and at most %d are kept: leave out what is not needed", len(data), inputs.MaxSize)}
		return nil
	}
	w.Inputs, w.Digest = doc, digest
	return err
}

func (r *Reconciler) gatherOutputs(ctx context.Context, w *World) error {
	for _, ref := range outputObjects(w.Stack.Spec.Outputs) {
		meta, err := r.metadata(ctx, w.Stack.Namespace, ref.Kind, ref.Name)
		if err == nil && meta == nil { // or made a moment ago
			meta, err = metadata(ctx, r.Live, w.Stack.Namespace, ref.Kind, ref.Name)
		}
		switch name := ref.Kind + " " + ref.Name; {
		case err != nil:
			return err
		case meta == nil:
			w.Outputs.Missing = name
		case !isOwnedBy(meta, w.Stack):
			w.Outputs.Foreign = name
		}
	}
	return nil
}

func isOwnedBy(meta *metav1.PartialObjectMetadata, stack *v1alpha1.Stack) bool {
	return slices.ContainsFunc(meta.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == stack.UID })
}

func (r *Reconciler) metadata(ctx context.Context, namespace, kind, name string) (*metav1.PartialObjectMetadata, error) {
	return metadata(ctx, r.Client, namespace, kind, name)
}

// metadata of a core object, never its values; nil when it is not there.
func metadata(ctx context.Context, c client.Reader, namespace, kind, name string) (*metav1.PartialObjectMetadata, error) {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, meta)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("metadata of %s %s: %w", kind, name, err)
	}
	return meta, nil
}

func (r *Reconciler) now() time.Time {
	if r.Clock != nil {
		return r.Clock()
	}
	return time.Now()
}
