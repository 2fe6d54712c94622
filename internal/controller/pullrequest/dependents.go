package pullrequest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

const (
	// maxReaders is the maximum number of Stacks that are read to find which ones a merge changes through outputs.
	maxReaders = 500
	// maxDependents is the maximum number of them in a status, and maxUpstreams of the reasons of each.
	maxDependents = 100
	maxUpstreams  = 3
	// maxNamedOutputs is the maximum number of outputs that a message names, and maxListedOutputs of those of a plan in
	// a status.
	maxNamedOutputs  = 5
	maxListedOutputs = 30
)

// outputDelete is the action of an output that a plan deletes.
const outputDelete = "delete"

// Reader is a Stack that reads outputs of another one.
type Reader struct {
	Key
	// Outputs that variables read. All: its Terragrunt code reads all outputs.
	Outputs []string
	All     bool
	// Hidden: its namespace may not use the Repository, so users of the pull request may not know the Stack.
	Hidden bool
}

// gatherReaders finds the Stacks that read outputs of those whose plans change outputs, and the readers of these.
func (r *Reconciler) gatherReaders(ctx context.Context, w *Snapshot) error {
	w.Readers = map[Key][]Reader{}
	if w.Merge == nil {
		return nil
	}
	var next []Key
	for _, s := range w.PullRequest.Status.Stacks {
		plan := s.Plan
		if run := w.Runs[Key{s.Namespace, s.Run}]; run != nil {
			plan = run.Status.Plan
		}
		if plan != nil && (len(plan.Outputs) > 0 || hasUnknownOutputs(plan)) {
			next = append(next, Key{s.Namespace, s.Name})
		}
	}
	for n := 0; len(next) > 0 && n < maxReaders; {
		of := next[0]
		next = next[1:]
		if _, known := w.Readers[of]; known {
			continue
		}
		readers, err := r.readersOf(ctx, w.Repository, of)
		if err != nil {
			return fmt.Errorf("find the Stacks that read outputs of Stack %s: %w", of, err)
		}
		w.Readers[of] = readers
		n += len(readers)
		for _, reader := range readers {
			if !reader.Hidden {
				next = append(next, reader.Key)
			}
		}
	}
	return nil
}

// readersOf returns the Stacks that read outputs of a Stack, by namespace and name. Without a StackGrant, a Stack of
// another namespace does not.
func (r *Reconciler) readersOf(ctx context.Context, repo *v1alpha1.Repository, of Key) (readers []Reader, err error) {
	var stacks v1alpha1.StackList
	on := client.MatchingFields{snapshot.DependencyIndex: of.String()}
	if err := r.Client.List(ctx, &stacks, on, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var grants *v1alpha1.StackGrantList
	for i := range stacks.Items {
		stack := &stacks.Items[i]
		reader := readerOf(stack, of)
		if stack.DeletionTimestamp != nil || len(reader.Outputs) == 0 && !reader.All {
			continue
		}
		if stack.Namespace != of.Namespace {
			if grants == nil {
				grants = &v1alpha1.StackGrantList{}
				if err := r.Client.List(ctx, grants, client.InNamespace(of.Namespace),
					client.UnsafeDisableDeepCopy); err != nil {
					return nil, err
				}
			}
			if !grants.Allow(v1alpha1.GrantStack, stack.Namespace,
				client.ObjectKey{Namespace: of.Namespace, Name: of.Name}) {
				continue
			}
		}
		reader.Hidden = !repository.Allows(repo, stack.Namespace)
		readers = append(readers, reader)
	}
	slices.SortFunc(readers, func(a, b Reader) int { return compareKeys(a.Key, b.Key) })
	return readers, nil
}

// readerOf returns what a Stack reads of another one.
func readerOf(stack *v1alpha1.Stack, of Key) Reader {
	reader := Reader{Key: Key{stack.Namespace, stack.Name}}
	is := func(name string) bool {
		return stack.KeyOf(name) == client.ObjectKey{Namespace: of.Namespace, Name: of.Name}
	}
	for _, v := range stack.Spec.Variables {
		if v.ValueFrom != nil && v.ValueFrom.Stack != nil && is(stack.NameOf(v.ValueFrom.Stack.Key())) {
			reader.Outputs = append(reader.Outputs, v.ValueFrom.Stack.Output)
		}
	}
	for _, unit := range stack.Status.Units {
		reader.All = reader.All || unit.Outputs && slices.ContainsFunc(unit.Stacks, is)
	}
	return reader
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// hasUnknownOutputs reports whether not all changes of outputs of a plan are known.
func hasUnknownOutputs(p *v1alpha1.Plan) bool {
	return p.MoreOutputs > 0 || p.Unverified != "" && p.Changes
}

// upstream is a Stack after whose apply another one is planned.
type upstream struct {
	of Key
	// outputs that change. Empty if it is not known whether one does.
	outputs []string
	// deleted: they do not exist any more then.
	deleted bool
}

func (u upstream) text() string {
	names := strings.Join(u.outputs[:min(len(u.outputs), maxNamedOutputs)], ", ")
	if more := len(u.outputs) - maxNamedOutputs; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	switch {
	case len(u.outputs) == 0:
		return fmt.Sprintf("may be planned after %s is applied", u.of)
	case u.deleted:
		return fmt.Sprintf("stops after %s is applied, which deletes what it reads (%s)", u.of, names)
	}
	return fmt.Sprintf("planned after %s is applied (%s)", u.of, names)
}

// messageOfUpstreams describes after which Stacks another one is planned.
func messageOfUpstreams(all []upstream) string {
	var texts []string
	for _, u := range all[:min(len(all), maxUpstreams)] {
		texts = append(texts, u.text())
	}
	if more := len(all) - maxUpstreams; more > 0 {
		texts = append(texts, fmt.Sprintf("and after %d more", more))
	}
	return runinfo.Clip(strings.Join(texts, "; "), maxOnMerge)
}

// setDependents sets which Stacks the merge changes through outputs: for those that the pull request affects in what
// they do when it is merged, for others in the list of dependents.
func (w Snapshot) setDependents(next *v1alpha1.PullRequestStatus) {
	found := w.dependents(next.Stacks)
	for i := range next.Stacks {
		s := &next.Stacks[i]
		key := Key{s.Namespace, s.Name}
		if upstreams := found[key]; len(upstreams) > 0 && s.OnMerge != nil &&
			s.OnMerge.Action != v1alpha1.StackMergeStop {
			texts := []string{messageOfUpstreams(upstreams)}
			if s.OnMerge.Message != "" {
				texts = append(texts, s.OnMerge.Message)
			}
			s.OnMerge.Message = runinfo.Clip(strings.Join(texts, "; "), maxOnMerge)
		}
		delete(found, key)
	}
	next.Dependents, next.MoreDependents = nil, 0
	hidden := w.hidden()
	keys := make([]Key, 0, len(found))
	for key := range found {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareKeys)
	for _, key := range keys {
		if hidden[key] || len(next.Dependents) == maxDependents {
			next.MoreDependents++
			continue
		}
		next.Dependents = append(next.Dependents, v1alpha1.PullRequestDependent{
			Namespace: key.Namespace, Name: key.Name, Message: messageOfUpstreams(found[key]),
			Possible: !slices.ContainsFunc(found[key], func(u upstream) bool { return len(u.outputs) > 0 }),
		})
	}
}

func (w Snapshot) hidden() map[Key]bool {
	hidden := map[Key]bool{}
	for _, readers := range w.Readers {
		for _, r := range readers {
			hidden[r.Key] = hidden[r.Key] || r.Hidden
		}
	}
	return hidden
}

// dependents returns the Stacks that the merge changes through outputs, each with the Stacks that are the reason. Of a
// Stack that is planned after the apply of another one, it is not known whether outputs change, so those that read them
// may be planned too.
func (w Snapshot) dependents(stacks []v1alpha1.PullRequestStack) map[Key][]upstream {
	found := map[Key][]upstream{}
	var planned []Key
	add := func(reader Reader, u upstream) {
		if len(found[reader.Key]) == 0 {
			planned = append(planned, reader.Key)
		}
		found[reader.Key] = append(found[reader.Key], u)
	}
	for _, s := range stacks {
		key := Key{s.Namespace, s.Name}
		if !appliesOnMerge(s) {
			continue
		}
		for _, reader := range w.Readers[key] {
			for _, u := range changedFor(reader, key, s.Plan) {
				add(reader, u)
			}
		}
	}
	for len(planned) > 0 {
		of := planned[0]
		planned = planned[1:]
		for _, reader := range w.Readers[of] {
			if len(found[reader.Key]) == 0 {
				add(reader, upstream{of: of})
			}
		}
	}
	return found
}

// appliesOnMerge reports whether the merge applies the plan of a Stack, at once or after an approval.
func appliesOnMerge(s v1alpha1.PullRequestStack) bool {
	return s.Plan != nil && s.Phase == v1alpha1.PhaseSucceeded && s.DeletedDirectory == "" &&
		(s.OnMerge == nil || s.OnMerge.Action != v1alpha1.StackMergeStop)
}

// changedFor returns which of the outputs that a Stack reads a plan of another one changes.
func changedFor(reader Reader, of Key, plan *v1alpha1.Plan) (all []upstream) {
	var changed, deleted []string
	for _, o := range plan.Outputs {
		switch reads := slices.Contains(reader.Outputs, o.Name); {
		case reads && o.Action == outputDelete:
			deleted = append(deleted, o.Name)
		case reads || reader.All:
			changed = append(changed, o.Name)
		}
	}
	if len(changed) > 0 {
		all = append(all, upstream{of: of, outputs: changed})
	}
	if len(deleted) > 0 {
		all = append(all, upstream{of: of, outputs: deleted, deleted: true})
	}
	if len(all) == 0 && hasUnknownOutputs(plan) {
		all = append(all, upstream{of: of})
	}
	return all
}

// listOutputs returns the changes of outputs that the status of a pull request has, and the number of others.
func listOutputs(p *v1alpha1.Plan) (listed []v1alpha1.OutputChange, more int32) {
	n := min(len(p.Outputs), maxListedOutputs)
	return slices.Clone(p.Outputs[:n]), p.MoreOutputs + int32(len(p.Outputs)-n)
}
