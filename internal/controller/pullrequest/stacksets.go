package pullrequest

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stackset"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/internal/controller/stackset/render"
	"cairn.dev/cairn/internal/source/closure"
)

// stackSets are the StackSets that list the directories of a branch, by namespace and name, with the Stacks of their
// namespaces, and their Stacks of other namespaces by UID of the set.
type stackSets struct {
	sets      []*v1alpha1.StackSet
	stacks    map[string][]v1alpha1.Stack
	elsewhere map[types.UID][]v1alpha1.Stack
	// grants are the StackGrants of spec.namespaces of the StackSets.
	grants v1alpha1.StackGrantList
}

// stackSets returns the StackSets that list the directories of a branch of a Repository, and may use it. What it
// returns must not be changed.
func (g *Gatherer) stackSets(ctx context.Context, repo *v1alpha1.Repository, branch string) (stackSets, error) {
	found := stackSets{stacks: map[string][]v1alpha1.Stack{}, elsewhere: map[types.UID][]v1alpha1.Stack{}}
	var list v1alpha1.StackSetList
	if err := g.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return found, err
	}
	for i := range list.Items {
		set := &list.Items[i]
		key, ok := set.RepositoryKey()
		if !ok || key != client.ObjectKeyFromObject(repo) || set.DeletionTimestamp != nil ||
			!repository.Allows(repo, set.Namespace) || !g.Codes.IsBranch(ctx, repo, set.Spec.Ref, branch) {
			continue
		}
		found.sets = append(found.sets, set)
		if len(set.Spec.Namespaces) > 0 {
			var own v1alpha1.StackList
			of := client.MatchingLabels{v1alpha1.StackSetNamespaceLabel: set.Namespace,
				v1alpha1.StackSetLabel: set.Name}
			if err := g.Client.List(ctx, &own, of, client.UnsafeDisableDeepCopy); err != nil {
				return found, err
			}
			found.elsewhere[set.UID] = inNamespacesOf(set, own.Items)
		}
		if found.stacks[set.Namespace] != nil {
			continue
		}
		var stacks v1alpha1.StackList
		if err := g.Client.List(ctx, &stacks, client.InNamespace(set.Namespace),
			client.UnsafeDisableDeepCopy); err != nil {
			return found, err
		}
		slices.SortFunc(stacks.Items, func(a, b v1alpha1.Stack) int { return cmp.Compare(a.Name, b.Name) })
		found.stacks[set.Namespace] = stacks.Items
	}
	var namespaces []string
	for _, set := range found.sets {
		namespaces = append(namespaces, set.Spec.Namespaces...)
	}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		var grants v1alpha1.StackGrantList
		if err := g.Client.List(ctx, &grants, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return found, err
		}
		slices.SortFunc(grants.Items, func(a, b v1alpha1.StackGrant) int { return cmp.Compare(a.Name, b.Name) })
		found.grants.Items = append(found.grants.Items, grants.Items...)
	}
	slices.SortFunc(found.sets, func(a, b *v1alpha1.StackSet) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found, nil
}

// inNamespacesOf are the Stacks in spec.namespaces of a set, sorted.
func inNamespacesOf(set *v1alpha1.StackSet, stacks []v1alpha1.Stack) []v1alpha1.Stack {
	stacks = slices.DeleteFunc(stacks, func(s v1alpha1.Stack) bool {
		return s.Namespace == set.Namespace || !slices.Contains(set.Spec.Namespaces, s.Namespace)
	})
	slices.SortFunc(stacks, func(a, b v1alpha1.Stack) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return stacks
}

// hash is that of what decides the effects besides the commits: the StackSets, which Stacks are theirs, and
// StackGrants.
func (s stackSets) hash() uint64 {
	h := fnv.New64a()
	for _, grant := range s.grants.Items {
		fmt.Fprintf(h, "%s %d\n", grant.UID, grant.Generation)
	}
	namespace := ""
	for _, set := range s.sets {
		fmt.Fprintf(h, "%s %d\n", set.UID, set.Generation)
		for _, stack := range s.elsewhere[set.UID] {
			_, _ = fmt.Fprintln(h, stack.UID)
		}
		if set.Namespace == namespace {
			continue
		}
		namespace = set.Namespace
		for i := range s.stacks[namespace] {
			stack := &s.stacks[namespace][i]
			of := stack.Labels
			fmt.Fprintf(h, "%s %s %s\n", stack.UID, of[v1alpha1.StackSetLabel], of[v1alpha1.StackSetNamespaceLabel])
		}
	}
	return h.Sum64()
}

// gatherStackSets finds what the merge changes in the lists of the StackSets. It executes no code of the pull
// request, so that it does not depend on who may plan. The directories are those that the StackSets list at the
// merge.
func (g *Gatherer) gatherStackSets(
	ctx context.Context, into *Merge, found stackSets, proposal *code.Proposal,
) (directories []string, err error) {
	base, merged := proposal.Trees()
	for _, set := range found.sets {
		before, after, err := g.render(ctx, set, base, merged)
		if err != nil {
			return nil, err
		}
		for _, rendered := range after.stacks {
			directories = append(directories, rendered.Directory)
		}
		stacks := found.stacks[set.Namespace]
		if others := found.elsewhere[set.UID]; len(others) > 0 {
			stacks = slices.Concat(stacks, others)
		}
		effect, writes, err := effectOf(set, before, after, stacks)
		if err != nil {
			return nil, err
		}
		for _, one := range writes {
			if one.Action == decision.Create {
				into.created = append(into.created, newStack{set, one})
			}
		}
		if missing := notGranted(set, found.grants, writes); missing != "" {
			parts := slices.DeleteFunc([]string{effect.Message, missing}, func(s string) bool { return s == "" })
			effect.Message = valid(strings.Join(parts, "; "), maxMessage)
		}
		if !isEmpty(effect) {
			into.StackSets = append(into.StackSets, effect)
		}
	}
	return directories, nil
}

// notGranted returns that the StackSet would not write some Stacks, since their namespaces have no StackGrant for it;
// empty if all have one.
func notGranted(set *v1alpha1.StackSet, grants v1alpha1.StackGrantList, writes []decision.Write) string {
	missing := map[string]bool{}
	n := 0
	for _, w := range writes {
		if stack := decision.Locate(set, w.Name); !decision.Permits(set, grants, stack) {
			missing[stack.Namespace] = true
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of these Stacks would not be written: no StackGrant in namespace %s allows StackSets of "+
		"namespace %s to write them", n, strings.Join(slices.Sorted(maps.Keys(missing)), ", "), set.Namespace)
}

// renderer renders a generation of a StackSet for one pull request at a time. It keeps what it rendered last, so that
// the next one renders little.
type renderer struct {
	generation int64
	mu         sync.Mutex
	renderer   *render.Renderer
	invalid    *decision.Problem
}

// render renders a StackSet at the base and at the merge.
func (g *Gatherer) render(
	ctx context.Context, set *v1alpha1.StackSet, base, merged code.Tree,
) (before, after rendering, err error) {
	r := g.rendererOf(set)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.invalid != nil {
		return rendering{problem: r.invalid}, rendering{problem: r.invalid}, nil
	}
	if before, err = r.at(ctx, g.Units, base); err != nil {
		return before, after, err
	}
	after, err = r.at(ctx, g.Units, merged)
	return before, after, err
}

func (r *renderer) at(ctx context.Context, units *closure.Closures, tree code.Tree) (of rendering, err error) {
	of.stacks, of.problem, err = r.renderer.Stacks(ctx, stackset.Files(tree.Tree),
		stackset.ContentsOf(units, tree.Mirror, tree.Tree))
	return of, err
}

func (g *Gatherer) rendererOf(set *v1alpha1.StackSet) *renderer {
	g.renderersMu.Lock()
	defer g.renderersMu.Unlock()
	r, ok := g.renderers.get(set.UID)
	if !ok || r.generation != set.Generation {
		r = &renderer{generation: set.Generation}
		r.renderer, r.invalid = render.New(set)
		g.renderers.add(set.UID, r)
	}
	return r
}

// listStackSets sets the StackSets of a status: those with an error first.
func listStackSets(next *v1alpha1.PullRequestStatus, all []v1alpha1.PullRequestStackSet) {
	sorted := slices.SortedStableFunc(slices.Values(all), func(a, b v1alpha1.PullRequestStackSet) int {
		return rank(a) - rank(b)
	})
	shown := min(len(sorted), maxSets)
	next.StackSets, next.MoreStackSets = slices.Clip(sorted[:shown]), int32(len(sorted)-shown)
}

func rank(s v1alpha1.PullRequestStackSet) int {
	if s.Reason != "" {
		return 0
	}
	return 1
}
