package pullrequest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/json"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/internal/controller/stackset/render"
)

const (
	// maxSets is the maximum number of StackSets in a status, maxSetStacks of Stacks of each, and maxFields of fields
	// of a Stack.
	maxSets      = 20
	maxSetStacks = 20
	maxFields    = 10
	// maxPath is the maximum length of a directory in a status, in bytes.
	maxPath = 255
)

// rendering is what a StackSet generates at one commit, or why it is not known.
type rendering struct {
	stacks  []decision.Rendered
	problem *decision.Problem
}

// effectOf compares what a StackSet generates at the base with what it generates at the merge, by the decision of its
// controller. So the result has neither what users changed in the cluster, nor what a rollout has not reached yet. If
// the set has an error at the base, its Stacks in the cluster are what is compared. stacks are those of its
// namespace, and its own of others. It also returns the writes that create or change Stacks.
func effectOf(
	set *v1alpha1.StackSet, base, merge rendering, stacks []v1alpha1.Stack,
) (effect v1alpha1.PullRequestStackSet, writes []decision.Write, err error) {
	effect = v1alpha1.PullRequestStackSet{
		Namespace: set.Namespace, Name: set.Name, Prune: cmp.Or(set.Spec.Prune, v1alpha1.PruneKeep),
	}
	known := stacksAt(set, base, stacks)
	d := decide(set, merge, known.stacks, known.same)
	if d.Reason == v1alpha1.ReasonTooManyGone {
		effect.Message = valid(d.Message, maxMessage)
		unlimited := set.DeepCopy()
		unlimited.Spec.MaxDeletions = new(intstr.FromString("100%"))
		d = decide(unlimited, merge, known.stacks, known.same)
	}
	if d.Ready == metav1.ConditionFalse {
		effect.Message = valid(d.Message, maxMessage)
		if known.problem == nil || known.problem.Reason != d.Reason || known.problem.Message != d.Message {
			effect.Reason = d.Reason
		}
		return effect, nil, nil
	}
	var all []v1alpha1.PullRequestStackSetStack
	for _, w := range d.Writes {
		one, err := known.effectOf(set, w)
		if err != nil {
			return effect, nil, err
		}
		switch one.Effect {
		case v1alpha1.EffectGo:
			effect.Go++
		case v1alpha1.EffectReturn:
			effect.Return++
		case v1alpha1.EffectAppear:
			effect.Appear++
		case v1alpha1.EffectChange:
			if len(one.Fields) == 0 { // the same values, written in another form, or fields that users may change
				continue
			}
			effect.Change++
		default:
			continue
		}
		all = append(all, one)
		if w.Rendered != nil {
			writes = append(writes, w)
		}
	}
	slices.SortStableFunc(all, func(a, b v1alpha1.PullRequestStackSetStack) int {
		return cmp.Or(slices.Index(effects, a.Effect)-slices.Index(effects, b.Effect), cmp.Compare(a.Name, b.Name))
	})
	effect.Stacks = all[:min(len(all), maxSetStacks)]
	if set.Spec.Mode == v1alpha1.StackSetPreview && len(all) > 0 {
		effect.Message = "spec.mode is Preview: it writes nothing"
	}
	return effect, writes, nil
}

// valid returns text as a status can have it: Git has names of directories that are not UTF-8.
func valid(text string, limit int) string {
	return shorten.Bytes(strings.ToValidUTF8(text, "\uFFFD"), limit)
}

// effects is the order of effects. A pull request that adds directories hides none that goes.
var effects = []v1alpha1.StackSetEffect{
	v1alpha1.EffectGo, v1alpha1.EffectChange, v1alpha1.EffectReturn, v1alpha1.EffectAppear,
}

// isEmpty reports that the merge changes nothing for a StackSet, and that there is nothing to report.
func isEmpty(e v1alpha1.PullRequestStackSet) bool { return len(e.Stacks) == 0 && e.Message == "" }

// atBase are the Stacks of a namespace once a StackSet has written what it generates at the base.
type atBase struct {
	stacks []v1alpha1.Stack
	// rendered has what the set generates there, by the Key of the Stack; nil with a problem.
	rendered map[string]*decision.Rendered
	problem  *decision.Problem
	// actual are the Stacks as they are, by Key.
	actual map[string]*v1alpha1.Stack
	same   func(*decision.Rendered, *v1alpha1.Stack) bool
}

// stacksAt returns the Stacks at the base. Which Stack an item has, also one that was moved, is what the controller
// decides for the Stacks that exist.
func stacksAt(set *v1alpha1.StackSet, base rendering, stacks []v1alpha1.Stack) atBase {
	at := atBase{actual: map[string]*v1alpha1.Stack{}, rendered: map[string]*decision.Rendered{}}
	at.same = func(*decision.Rendered, *v1alpha1.Stack) bool { return true } // if the digest is
	bare := make([]v1alpha1.Stack, 0, len(stacks))
	for i := range stacks {
		s := &stacks[i]
		key := decision.Key(set, s.Namespace, s.Name)
		at.actual[key] = s
		bare = append(bare, stackOf(set, key, s.Labels, ""))
	}
	unlimited := set.DeepCopy()
	unlimited.Spec.MaxDeletions = new(intstr.FromString("100%"))
	d := decide(unlimited, base, bare, at.same)
	if d.Ready == metav1.ConditionFalse {
		at.problem, at.rendered, at.stacks = &decision.Problem{Reason: d.Reason, Message: d.Message}, nil, bare
		for i := range at.stacks {
			at.stacks[i].Annotations[v1alpha1.RenderedAnnotation] = stacks[i].Annotations[v1alpha1.RenderedAnnotation]
			if gone := stacks[i].Annotations[v1alpha1.ItemGoneAnnotation]; gone != "" {
				at.stacks[i].Annotations[v1alpha1.ItemGoneAnnotation] = gone
			}
		}
		return at
	}
	for _, w := range d.Writes {
		if w.Rendered != nil {
			at.rendered[w.Name] = w.Rendered
			labels := map[string]string{v1alpha1.StackSetLabel: set.Name,
				v1alpha1.StackSetNamespaceLabel: set.Namespace}
			at.stacks = append(at.stacks, stackOf(set, w.Name, labels, w.Rendered.Digest))
		}
	}
	for _, s := range bare {
		if at.rendered[decision.Key(set, s.Namespace, s.Name)] != nil {
			continue
		}
		if set.Owns(&s) {
			s.Annotations[v1alpha1.ItemGoneAnnotation] = "gone"
		}
		at.stacks = append(at.stacks, s)
	}
	return at
}

// stackOf returns what the decision about a StackSet reads of a Stack that has applied nothing, so that no rollout
// delays its change.
func stackOf(set *v1alpha1.StackSet, key string, labels map[string]string, digest string) v1alpha1.Stack {
	stack := decision.Locate(set, key)
	return v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{
		Namespace: stack.Namespace, Name: stack.Name, UID: types.UID(key), Labels: labels,
		Annotations: map[string]string{v1alpha1.RenderedAnnotation: digest},
	}}
}

// decide decides what a StackSet would write, whatever its mode, without deletions, and as if each of spec.namespaces
// had a StackGrant: the list of two commits does not depend on it.
func decide(
	set *v1alpha1.StackSet, of rendering, stacks []v1alpha1.Stack, same func(*decision.Rendered, *v1alpha1.Stack) bool,
) decision.Decision {
	set = set.DeepCopy()
	set.Status = v1alpha1.StackSetStatus{}
	set.Spec.Mode, set.Spec.Prune = v1alpha1.StackSetCreate, v1alpha1.PruneKeep
	return decision.Decide(decision.Snapshot{
		Set: set, Problem: of.problem, Rendered: of.stacks, Stacks: stacks, Same: same, Grants: grantsOf(set),
	})
}

// grantsOf are StackGrants in all spec.namespaces.
func grantsOf(set *v1alpha1.StackSet) (all v1alpha1.StackGrantList) {
	for _, namespace := range set.Spec.Namespaces {
		grant := v1alpha1.StackGrant{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
		grant.Spec.From = []v1alpha1.StackGrantFrom{{Kind: v1alpha1.GrantStackSet, Namespace: set.Namespace}}
		all.Items = append(all.Items, grant)
	}
	return all
}

// effectOf describes a write of the StackSet after the merge.
func (at atBase) effectOf(set *v1alpha1.StackSet, w decision.Write) (v1alpha1.PullRequestStackSetStack, error) {
	one, rendered := v1alpha1.PullRequestStackSetStack{Name: w.Name}, w.Rendered
	switch {
	case w.Action == decision.Create:
		one.Effect = v1alpha1.EffectAppear
	case w.Action == decision.Suspend:
		one.Effect, rendered = v1alpha1.EffectGo, at.rendered[w.Name]
	case w.Action == decision.Change && w.Stack.Annotations[v1alpha1.ItemGoneAnnotation] != "":
		one.Effect = v1alpha1.EffectReturn
	case w.Action == decision.Change:
		one.Effect = v1alpha1.EffectChange
		fields, err := at.fields(set, w)
		if err != nil {
			return one, err
		}
		one.Fields = fields[:min(len(fields), maxFields)]
	}
	if rendered != nil {
		one.Directory = valid(rendered.Directory, maxPath)
	}
	return one, nil
}

// fields returns the fields that a merge changes in a Stack, also those that it removes.
func (at atBase) fields(set *v1alpha1.StackSet, w decision.Write) ([]string, error) {
	before := at.rendered[w.Name]
	if before == nil {
		return render.Differences(w.Rendered.JSON, at.actual[w.Name], set.Spec.Ignore)
	}
	var all []string
	for _, pair := range [][2]*decision.Rendered{{w.Rendered, before}, {before, w.Rendered}} {
		stack := &v1alpha1.Stack{}
		if err := json.UnmarshalCaseSensitivePreserveInts(pair[1].JSON, stack); err != nil {
			return nil, fmt.Errorf("read what StackSet %s renders for %s: %w", set.Name, pair[1].Directory, err)
		}
		fields, err := render.Differences(pair[0].JSON, stack, set.Spec.Ignore)
		if err != nil {
			return nil, err
		}
		all = append(all, fields...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
