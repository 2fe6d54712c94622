package snapshot

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/stack/decision"
)

// gatherCycle finds a way over dependencies back to the Stack.
func (g *Gatherer) gatherCycle(ctx context.Context, w *decision.Snapshot) error {
	self := current(w)
	path, err := decision.DependencyPath(self, client.ObjectKeyFromObject(self), g.lookup(ctx))
	if err != nil {
		return err
	}
	for _, key := range path {
		known, err := g.isGranted(ctx, self.Namespace, key)
		if err != nil {
			return err
		}
		name := self.NameOf(key)
		if !known {
			name = "a Stack of another namespace"
		}
		w.Cycle = append(w.Cycle, name)
	}
	return nil
}

// isGranted reports whether Stacks of a namespace may depend on a Stack, and so know of it.
func (g *Gatherer) isGranted(ctx context.Context, from string, stack client.ObjectKey) (bool, error) {
	if stack.Namespace == from {
		return true, nil
	}
	grants := &v1alpha1.StackGrantList{}
	err := g.Client.List(ctx, grants, client.InNamespace(stack.Namespace), client.UnsafeDisableDeepCopy)
	return grants.Allow(v1alpha1.GrantStack, from, stack), err
}

// gatherGrants finds a dependency that no StackGrant allows.
func (g *Gatherer) gatherGrants(ctx context.Context, w *decision.Snapshot) error {
	for _, name := range w.Stack.Dependencies() {
		key := w.Stack.KeyOf(name)
		if granted, err := g.isGranted(ctx, w.Stack.Namespace, key); err != nil || granted {
			if err != nil {
				return err
			}
			continue
		}
		w.Problem = &decision.Problem{
			Reason: v1alpha1.ReasonDependencyNotGranted, Message: decision.UngrantedDependency(w.Stack.Namespace, key),
		}
		return nil
	}
	return nil
}

// current is the Stack with the units of its code as that is now, which its status may not have yet.
func current(w *decision.Snapshot) *v1alpha1.Stack {
	self := *w.Stack
	self.Status.Units = w.CodeUnits()
	return &self
}

// gatherDependencies reads what the Stack depends on until one of them waits, those that it names first. It follows the
// chain: one commit may change both ends of it, and nothing of what is in between.
func (g *Gatherer) gatherDependencies(ctx context.Context, w *decision.Snapshot) error {
	// A step goes from a Stack to one that it names. shown is what the Stack that is decided on may know of that one.
	type step struct {
		by          *v1alpha1.Stack
		name, shown string
	}
	self, lookup := current(w), g.lookup(ctx)
	var steps []step
	for _, name := range self.Dependencies() {
		steps = append(steps, step{self, name, name})
	}
	seen := map[client.ObjectKey]bool{client.ObjectKeyFromObject(self): true}
	for indirect := false; len(steps) > 0; indirect = true {
		var next []step
		for _, s := range steps {
			key := s.by.KeyOf(s.name)
			if seen[key] {
				continue
			}
			other, err := lookup(s.by, key)
			if err != nil {
				return err
			}
			known, err := g.isGranted(ctx, self.Namespace, key)
			if err != nil {
				return err
			}
			// only the Stack that names it waits for it to be created, or granted
			if other == nil && (indirect || !known) {
				continue
			}
			seen[key] = true
			d, err := g.dependency(ctx, self.NameOf(key), other)
			if err != nil {
				return err
			}
			if d.Unwatched = d.Unwatched || indirect; !known {
				d = decision.Dependency{Name: s.shown, Waits: behindAnother(d.Waits), Unwatched: true, Hold: d.Hold}
			}
			if w.Dependencies = append(w.Dependencies, d); d.Missing || d.Waits != "" {
				return nil
			}
			for _, name := range other.Dependencies() {
				next = append(next, step{other, name, d.Name})
			}
		}
		steps = next
	}
	return nil
}

// behindAnother is why a dependency is waited for whose own dependency waits and must not be named; empty if it does
// not wait.
func behindAnother(waits string) string {
	if waits == "" {
		return ""
	}
	return "a Stack of another namespace, which it depends on, is not Ready"
}

// dependency is whether Stacks that depend on another one, nil if it does not exist, wait for it. Its status may be
// from before a change that affects both: then it is about to be reconciled.
func (g *Gatherer) dependency(ctx context.Context, name string, other *v1alpha1.Stack) (decision.Dependency, error) {
	d := reported(name, other)
	if d.Missing || d.Waits != "" {
		return d, nil
	}
	now := g.newSnapshot(other)
	if err := g.gatherState(ctx, &now); err != nil {
		return d, err
	}
	if err := g.gatherSelecting(ctx, &now); err != nil {
		return d, err
	}
	doc, err := g.gatherDeclared(ctx, &now, g.Code)
	if err != nil {
		return d, err
	}
	// What it waits for itself is in its status, so that two which wait for each other are not read for ever.
	if err := g.gatherValues(ctx, &now, doc,
		func(_ context.Context, name string, other *v1alpha1.Stack) (decision.Dependency, error) {
			return reported(name, other), nil
		}); err != nil {
		return d, err
	}
	switch {
	case now.Problem != nil && now.Problem.Transient:
		d.Waits, d.Unwatched = "what it reads is not known yet", true
		if name == other.Name { // the objects of another namespace are not named
			d.Waits += ": " + now.Problem.Message
		}
	case now.Problem != nil, now.Digest != other.Status.InputsDigest:
		d.Waits, d.Unwatched = "what it reads has changed", true
	}
	return d, nil
}

// reported is a dependency by its status alone.
func reported(name string, other *v1alpha1.Stack) decision.Dependency {
	if other == nil {
		return decision.Dependency{Name: name, Missing: true}
	}
	return decision.Dependency{Name: name, Waits: decision.WaitReason(other), Hold: other.Status.Hold}
}

// readDependency returns whether Stacks that depend on another one wait for it.
type readDependency func(ctx context.Context, name string, other *v1alpha1.Stack) (decision.Dependency, error)

// lookup returns a Stack that another one names as a dependency; nil for one that is not found, or not granted.
func (g *Gatherer) lookup(ctx context.Context) decision.Lookup {
	return func(by *v1alpha1.Stack, key client.ObjectKey) (*v1alpha1.Stack, error) {
		if granted, err := g.isGranted(ctx, by.Namespace, key); err != nil || !granted {
			return nil, err
		}
		other := &v1alpha1.Stack{}
		err := g.Client.Get(ctx, key, other)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return other, err
	}
}

// gatherDependents finds the Stacks that have to be destroyed before this one: a Stack of another namespace only if a
// StackGrant allows it to depend on this one, so that no stranger prevents a deletion.
func (g *Gatherer) gatherDependents(ctx context.Context, w *decision.Snapshot) error {
	var stacks v1alpha1.StackList
	self := client.ObjectKeyFromObject(w.Stack)
	if err := g.Client.List(ctx, &stacks, client.MatchingFields{DependencyIndex: self.String()}); err != nil {
		return err
	}
	for i := range stacks.Items {
		other := &stacks.Items[i]
		if granted, err := g.isGranted(ctx, other.Namespace, self); err != nil || !granted {
			if err != nil {
				return err
			}
			continue
		}
		back, err := decision.DependencyPath(w.Stack, client.ObjectKeyFromObject(other), g.lookup(ctx))
		if err != nil {
			return err
		}
		its := g.newSnapshot(other)
		if err := g.gatherState(ctx, &its); err != nil {
			return err
		}
		d := decision.NewDependent(other, its.State)
		d.Name, d.Circular = w.Stack.NameOf(client.ObjectKeyFromObject(other)), back != nil
		w.Dependents = append(w.Dependents, d)
	}
	return nil
}

// gatherUsedOutputs puts the fingerprints of the outputs that variables use into the document: the values are not seen
// here.
func (g *Gatherer) gatherUsedOutputs(
	ctx context.Context, w *decision.Snapshot, doc *inputs.Document, read readDependency,
) error {
	for _, v := range w.Stack.Spec.Variables {
		if v.ValueFrom == nil || v.ValueFrom.Stack == nil {
			continue
		}
		ref, state := v.ValueFrom.Stack, &v1alpha1.State{}
		name := w.Stack.NameOf(ref.Key())
		key := w.Stack.KeyOf(name)
		err := g.Client.Get(ctx, key, state)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		fingerprint, ok := state.Status.Outputs[ref.Output]
		if !ok {
			other, err := g.lookup(ctx)(w.Stack, key)
			if err != nil {
				return err
			}
			d, err := read(ctx, name, other)
			if err != nil {
				return err
			}
			problem := outputProblem(d, ref.Output, state.Status)
			if !isComplete(state.Status) { // another plan of that Stack adds no output that can be used
				w.Problem, w.MissingOutputs = problem, nil
				return nil
			}
			if w.Problem == nil {
				w.Problem = problem
			}
			w.MissingOutputs = append(w.MissingOutputs, decision.MissingOutput{Stack: key, Output: ref.Output})
			continue
		}
		doc.Versions[decision.OutputKey(name, ref.Output)] = fingerprint
	}
	if w.Problem != nil {
		return nil
	}
	return g.gatherUnitOutputs(ctx, w, doc)
}

// isComplete reports whether a State has a fingerprint of each output.
func isComplete(st v1alpha1.StateStatus) bool {
	return st.Resources >= 0 && len(st.Outputs) < v1alpha1.MostOutputs
}

// A Terragrunt unit depends on other units by their paths. The Stacks that run these are dependencies (decision 50):
//
//	code of Stack app ──► status.units: {path: live/vpc, stacks: [vpc]} ──► Stack.Dependencies
//	                                             ▲
//	                                             │ UnitIndex
//	Stack vpc, whose folder is live/vpc ─────────┘
//
// Later steps read the names from the status, and are the same for all dependencies.
//
// gatherUnits finds the Stacks that run the units which a Stack's code depends on.
func (g *Gatherer) gatherUnits(
	ctx context.Context, stack *v1alpha1.Stack, found code.Code,
) ([]v1alpha1.Unit, error) {
	var units []v1alpha1.Unit
	for _, d := range found.Dependencies {
		unit := v1alpha1.Unit{Path: cmp.Or(d.Path, "."), Outputs: d.Outputs}
		var stacks v1alpha1.StackList
		err := g.Client.List(ctx, &stacks, client.InNamespace(stack.Namespace),
			client.MatchingFields{UnitIndex: unitKey(client.ObjectKeyFromObject(found.Repository), unit.Path)},
			client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, err
		}
		unit.Stacks = runUnit(found.Repository, stacks.Items, stack)
		units = append(units, unit)
	}
	return units, nil
}

// gatherUnitOutputs puts a fingerprint of the outputs of each unit that the code reads into the document.
func (g *Gatherer) gatherUnitOutputs(ctx context.Context, w *decision.Snapshot, doc *inputs.Document) error {
	for _, unit := range w.Units {
		if !unit.Outputs {
			continue
		}
		for _, name := range unit.Stacks {
			state := &v1alpha1.State{}
			err := g.Client.Get(ctx, client.ObjectKey{Namespace: w.Stack.Namespace, Name: name}, state)
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			doc.Versions[decision.OutputsKey(name)] = outputsFingerprint(state.Status)
		}
	}
	return nil
}

// mostStacksOfUnit is how many Stacks that run the same unit are dependencies.
const mostStacksOfUnit = 100

// runUnit names those of some Stacks that run a unit at the ref that another Stack reads, by name.
func runUnit(repo *v1alpha1.Repository, stacks []v1alpha1.Stack, reader *v1alpha1.Stack) []string {
	var names []string
	for i := range stacks {
		if code.SameRef(repo, stacks[i].Spec.Source.Git, reader.Spec.Source.Git) {
			names = append(names, stacks[i].Name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), mostStacksOfUnit)]
}

// outputsFingerprint identifies the outputs of a state. Where there is no fingerprint
// of each output, as when the engine encrypts the state, it identifies the state.
func outputsFingerprint(st v1alpha1.StateStatus) string {
	if !isComplete(st) {
		return "state/" + st.SHA256
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(st.Outputs)) {
		fmt.Fprintf(sum, "%q %q\n", name, st.Outputs[name])
	}
	return "outputs/" + hex.EncodeToString(sum.Sum(nil))
}

// namedOutputs is how many outputs a message names.
const namedOutputs = 5

// outputProblem is why there is no value of an output that the State of its Stack, a dependency, has no fingerprint of.
// The first two reasons are transient.
func outputProblem(d decision.Dependency, output string, st v1alpha1.StateStatus) *decision.Problem {
	switch {
	case d.Missing:
		return &decision.Problem{
			Transient: true, Missing: true, Reason: v1alpha1.ReasonDependencyNotFound,
			Message: decision.MissingDependency(d.Name),
		}
	case d.Waits != "":
		p := outputWaits(d.Name, d.Waits)
		p.After = d.RequeueAfter()
		return p
	}
	const instead = "have that Stack write its outputs to a Secret with spec.outputs, and take the variable from there"
	switch {
	case st.Resources < 0:
		return outputMissing("the state of Stack %s is encrypted by its engine, so Cairn cannot read output %s: %s",
			d.Name, output, instead)
	case len(st.Outputs) >= v1alpha1.MostOutputs:
		return outputMissing("output %s of Stack %s is not among its first %d by name, which are all that others can "+
			"use: %s",
			output, d.Name, v1alpha1.MostOutputs, instead)
	}
	return outputMissing("Stack %s has no output %s, %s: add it to its code, or correct the variable that uses it",
		d.Name, output, onlyThese(st.Outputs))
}

func outputWaits(stack, why string) *decision.Problem {
	return &decision.Problem{Transient: true, Reason: v1alpha1.ReasonDependencyNotReady,
		Message: fmt.Sprintf("waits for Stack %s: %s", stack, why)}
}

func outputMissing(format string, args ...any) *decision.Problem {
	return &decision.Problem{Reason: v1alpha1.ReasonOutputNotFound, Message: fmt.Sprintf(format, args...)}
}

// onlyThese names some of the outputs that there are.
func onlyThese(outputs map[string]string) string {
	if len(outputs) == 0 {
		return "nor any other"
	}
	return "only " + shorten.List(slices.Sorted(maps.Keys(outputs)), namedOutputs)
}
