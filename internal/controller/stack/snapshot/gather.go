// Package snapshot reads the facts that decisions about a Stack need: Runs, State, code, scripts, dependencies and
// other inputs.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/podspec"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/controller/stack/source"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/lifecycle/massdrift"
	"cairn.dev/cairn/internal/lifecycle/variableset"
	"cairn.dev/cairn/internal/lifecycle/window"
	statedecision "cairn.dev/cairn/internal/state/decision"
)

// StateReader reads what the State object alone does not have.
type StateReader interface {
	// Promote restores the backup of a State when the State object was rolled back.
	Promote(ctx context.Context, key client.ObjectKey) error
	// Unsaved lists the addresses that exist according to the journal of a state without resources.
	Unsaved(ctx context.Context, key client.ObjectKey) ([]string, error)
}

// Gatherer reads all facts that decisions about a Stack need.
type Gatherer struct {
	Client client.Client
	// Live reads from the API server, where an outdated cache could cause a loss.
	Live        client.Reader
	Sources     *source.Sources
	Code        *code.Sources
	Inputs      *inputs.Store
	StateReader StateReader
	// AllowShell is whether the installation allows shells.
	AllowShell bool
	// AllowBuild is whether the installation builds images.
	AllowBuild bool
	// DriftInterval is the installation's default for spec.drift.interval; 0 for no checks.
	DriftInterval time.Duration
	// MassDrift is from which number of Stacks that begin to drift on no drift is corrected.
	MassDrift massdrift.Limits
	// Clock returns the time; time.Now when nil.
	Clock func() time.Time
}

// Gather returns a snapshot of a Stack, with the Run that this process reserved for it and did not create yet.
func (g *Gatherer) Gather(ctx context.Context, stack *v1alpha1.Stack, reserved decision.Reservation) (decision.Snapshot,
	error) {
	w := g.newSnapshot(stack)
	w.Reserved = reserved
	if err := g.gatherState(ctx, &w); err != nil {
		return w, err
	}
	if err := g.gatherRuns(ctx, &w); err != nil {
		return w, err
	}
	if stack.DeletionTimestamp != nil {
		// The last check of a state before it is deleted reads the state itself: the cache may be old.
		if w.ActiveRun() != nil {
			return w, nil
		}
		if err := g.gatherDependents(ctx, &w); err != nil {
			return w, err
		}
		if w.StateIsEmpty() || w.LastRunDestroyed() {
			if err := g.promote(ctx, &w); err != nil {
				return w, err
			}
			if err := g.gatherLiveState(ctx, &w); err != nil {
				return w, err
			}
			if err := g.gatherUnsaved(ctx, &w); err != nil {
				return w, err
			}
		}
		return w, g.gatherNamespace(ctx, &w)
	}
	if err := g.gatherSelecting(ctx, &w); err != nil {
		return w, err
	}
	if err := g.gatherHold(ctx, &w); err != nil {
		return w, err
	}
	doc, err := g.gatherDeclared(ctx, &w, g.Code.Own()) // the code has what the Stack depends on
	if err != nil {
		return w, err
	}
	if w.Problem != nil && w.Source != nil { // a request on the Repository tries again
		g.Code.Forget(stack)
	}
	if err := g.gatherCycle(ctx, &w); err != nil {
		return w, err
	}
	if err := g.gatherValues(ctx, &w, doc, g.dependency); err != nil {
		return w, err
	}
	if decision.NeedsDependencies(w) {
		if err := g.gatherDependencies(ctx, &w); err != nil {
			return w, err
		}
	}
	switch last := w.LastMutatingRun(); {
	case last == nil:
	case last.Spec.InputsDigest == w.Digest: // so that a start reads none of ten thousand from the bucket
		w.LastInputs = &w.Inputs
	default:
		if doc, err := g.Inputs.Get(ctx, last.Spec.InputsDigest); err == nil { // it only words a cause
			w.LastInputs = &doc
		}
	}
	if err := g.gatherOutputs(ctx, &w); err != nil {
		return w, err
	}
	return w, g.gatherAsked(ctx, &w)
}

// newSnapshot returns a snapshot of a Stack with what is known without a read: all snapshots begin here, so that a
// setting of the installation is the same for each.
func (g *Gatherer) newSnapshot(stack *v1alpha1.Stack) decision.Snapshot {
	return decision.Snapshot{
		Now: g.Now(), Stack: stack, Effective: stack, AllowShell: g.AllowShell, AllowBuild: g.AllowBuild,
		DriftInterval: g.DriftInterval, IgnoredEnv: ignoredEnv(stack),
		Claims: decision.Claims{Hold: stack.Status.Hold}, EndedHold: stack.Status.EndedHold,
	}
}

// ignoredEnv returns the variables of spec.env, and of VariableSets, that the engine does not get, each with the
// reason.
func ignoredEnv(stack *v1alpha1.Stack) (ignored []string) {
	for _, e := range stack.Spec.Env {
		if why := engine.Withheld(e.Name, stack.Spec.Backend != nil); why != "" {
			ignored = append(ignored, fmt.Sprintf("%s%s (%s)", e.Name, ofSet(variableset.EnvFrom(stack, e.Name)), why))
		}
	}
	return ignored
}

func (g *Gatherer) gatherState(ctx context.Context, w *decision.Snapshot) error {
	state := &v1alpha1.State{}
	err := g.Client.Get(ctx, client.ObjectKeyFromObject(w.Stack), state)
	if err == nil {
		w.State = state
	}
	return client.IgnoreNotFound(err)
}

// promote has a state count that Kubernetes has forgotten, unless all is left as it is: it may be of what is to be
// destroyed.
func (g *Gatherer) promote(ctx context.Context, w *decision.Snapshot) error {
	if w.Stack.Spec.DeletionPolicy == v1alpha1.DeletionOrphan {
		return nil
	}
	err := g.StateReader.Promote(ctx, client.ObjectKeyFromObject(w.Stack))
	if never := w.State == nil || w.State.Status.Version == 0; never && statedecision.ReasonOf(err) ==
		statedecision.Stale {
		w.UnclaimedState = err.Error() // what there is was another Stack's of that name
		return nil
	}
	return unreadable(w, err)
}

// unreadable records why the state cannot be read, if a retry would fail in the same way. It returns all other errors.
func unreadable(w *decision.Snapshot, err error) error {
	rejection, ok := errors.AsType[*statedecision.Rejection](err)
	if !ok {
		return err
	}
	w.StateUnreadable = rejection.Message
	return nil
}

func (g *Gatherer) gatherLiveState(ctx context.Context, w *decision.Snapshot) error {
	state := &v1alpha1.State{}
	err := g.Live.Get(ctx, client.ObjectKeyFromObject(w.Stack), state)
	if apierrors.IsNotFound(err) {
		w.State = nil
		return nil
	}
	w.State = state
	return err
}

// gatherUnsaved reads the journal of a state without resources, and of one that its engine encrypts, once it is
// destroyed. A state with resources is destroyed anyway, and its destroy reads the journal; a Stack that is orphaned
// does not need it.
func (g *Gatherer) gatherUnsaved(ctx context.Context, w *decision.Snapshot) (err error) {
	if w.State == nil || w.State.Status.Resources > 0 || w.Stack.Spec.DeletionPolicy == v1alpha1.DeletionOrphan {
		return nil
	}
	w.Unsaved, err = g.StateReader.Unsaved(ctx, client.ObjectKeyFromObject(w.Stack))
	return unreadable(w, err)
}

func (g *Gatherer) gatherNamespace(ctx context.Context, w *decision.Snapshot) error {
	meta, err := code.Metadata(ctx, g.Live, "", "Namespace", w.Stack.Namespace)
	w.NamespaceTerminating = meta != nil && meta.DeletionTimestamp != nil
	return err
}

func (g *Gatherer) gatherOutputs(ctx context.Context, w *decision.Snapshot) error {
	for _, ref := range outputObjects(w.Stack.Spec.Outputs) {
		meta, err := g.metadata(ctx, w.Stack.Namespace, ref.Kind, ref.Name)
		if err == nil && meta == nil { // or created a moment ago
			meta, err = code.Metadata(ctx, g.Live, w.Stack.Namespace, ref.Kind, ref.Name)
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

func (g *Gatherer) metadata(ctx context.Context, namespace, kind, name string) (*metav1.PartialObjectMetadata, error) {
	return code.Metadata(ctx, g.Client, namespace, kind, name)
}

// Now returns the time.
func (g *Gatherer) Now() time.Time {
	if g.Clock != nil {
		return g.Clock()
	}
	return time.Now()
}

// gatherAsked adds what only a destroy that is asked for has to know.
func (g *Gatherer) gatherAsked(ctx context.Context, w *decision.Snapshot) error {
	q, ok := decision.PendingRequest(*w)
	if !ok || q.Operation != v1alpha1.OperationDestroy || w.Stack.DeletionTimestamp != nil {
		return nil
	}
	return g.gatherDependents(ctx, w)
}

// InputsOf returns a snapshot of a Stack with nothing but its inputs, with the code of a proposal. The State is not in
// it: a proposal is planned with a copy, and without the backend.
func (g *Gatherer) InputsOf(ctx context.Context, stack *v1alpha1.Stack, proposal code.Source) (decision.Snapshot,
	error) {
	w := g.newSnapshot(stack)
	doc, err := g.gatherSource(ctx, &w, proposal)
	if err != nil {
		return w, err
	}
	return w, g.gatherValues(ctx, &w, doc, g.dependency)
}

// gatherSource begins the document with the spec and the code, unless a problem is known.
func (g *Gatherer) gatherSource(ctx context.Context, w *decision.Snapshot, from code.Source) (inputs.Document, error) {
	spec := w.Effective.Spec
	doc := inputs.Document{
		Engine: spec.Engine, Variables: spec.Variables, VariableFiles: spec.VariableFiles,
		Env: spec.Env, EnvFrom: spec.EnvFrom, Outputs: spec.Outputs, Versions: map[string]string{},
		ModuleCredentials: spec.ModuleCredentials,
		Image:             spec.Runner.Image, ServiceAccountName: spec.Runner.ServiceAccountName,
		Resources: spec.Runner.Resources,
		Template:  spec.Runner.Template, Workspace: spec.Workspace, Backend: spec.Backend,
	}
	if doc.Workspace == engine.DefaultWorkspace {
		doc.Workspace = ""
	}
	if w.Problem != nil {
		return doc, nil
	}
	if w.Problem = checkBackend(w); w.Problem != nil {
		return doc, nil
	}
	if w.Problem = checkNumbers(w.Effective); w.Problem != nil {
		return doc, nil
	}
	if err := podspec.CheckTemplate(doc); err != nil {
		w.Problem = &decision.Problem{Reason: v1alpha1.ReasonTemplateInvalid, Message: err.Error()}
		return doc, nil
	}
	if _, err := window.Parse(window.List{Windows: spec.Windows}); err != nil {
		w.Problem = &decision.Problem{Reason: v1alpha1.ReasonWindowInvalid, Message: err.Error()}
		return doc, nil
	}
	if b := spec.Runner.Build; b != nil && !b.Optional { // the code decides whether there is an optional one
		if w.Problem = buildIsAllowed(w); w.Problem != nil {
			return doc, nil
		}
	}
	return doc, g.gatherCode(ctx, w, &doc, from)
}

// gatherValues completes the document with what comes from other objects, unless a problem is known.
func (g *Gatherer) gatherValues(
	ctx context.Context, w *decision.Snapshot, doc inputs.Document, read readDependency,
) error {
	if w.Problem != nil {
		return nil
	}
	if err := g.gatherGrants(ctx, w); err != nil || w.Problem != nil {
		return err
	}
	stack := *w.Effective
	if doc.Build == nil {
		stack.Spec.Runner.Build = nil // nor are its credentials needed
	}
	var err error
	if w.Problem, err = namesState(&stack.Spec); err != nil || w.Problem != nil {
		return err
	}
	refs := references(&stack)
	w.OfSets = ofSets(refs, references(w.Stack))
	for _, ref := range refs {
		meta, err := g.metadata(ctx, w.Stack.Namespace, ref.Kind, ref.Name)
		switch {
		case err != nil:
			return err
		case meta != nil && (ref.Credential || ref.Text):
		case meta != nil:
			doc.Versions[ref.key()] = code.VersionOf(meta)
		case !ref.Optional:
			w.Problem = ref.problem()
			return nil
		}
	}
	if err := g.gatherScripts(ctx, w, &doc); err != nil || w.Problem != nil {
		return err
	}
	if err := g.gatherUsedOutputs(ctx, w, &doc, read); err != nil || w.Problem != nil {
		return err
	}
	data, digest, err := doc.Encode()
	if len(data) > inputs.MaxSize {
		w.Problem = &decision.Problem{Reason: v1alpha1.ReasonInputsTooLarge, Message: fmt.Sprintf(
			"the inputs have %d bytes with the text of spec.hooks, spec.commands and spec.policies, and at most %d "+
				"are kept: leave out what is not needed", len(data), inputs.MaxSize)}
		return nil
	}
	w.Inputs, w.Digest = doc, digest
	return err
}
