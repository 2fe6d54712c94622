package pullrequest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
)

// Gatherer is the Merger of the operator.
type Gatherer struct {
	Client client.Client
	// Codes merges and reads code.
	Codes *code.Codes
	// Stacks reads the inputs of Stacks.
	Stacks *snapshot.Gatherer
	// Units reads Terragrunt units for StackSets.
	Units  *closure.Closures
	Inputs *inputs.Store
	// Access decides what users may do.
	Access Access
	// Writer writes to the API server. All that this writes with it is a dry run.
	Writer client.Client

	// merges has the last merge of each PullRequest.
	merges cache[types.UID, merged]
	// renderers have what StackSets generated last, by the UID of the StackSet.
	renderers   cache[types.UID, *renderer]
	renderersMu sync.Mutex
}

// merged is the result of a merge, what decided it, and why a command is required.
type merged struct {
	*Merge
	key        mergeKey
	restricted string
	// until is when what prevents the plan of a Stack is checked again; zero if there is nothing.
	until time.Time
}

// mergeKey is what decides the result of a merge and the inputs of the affected Stacks.
type mergeKey struct {
	base, head string
	// stacks and requests are hashes of the Stacks of the Repository, and of what comments requested.
	stacks, requests uint64
	// stackSets is a hash of the StackSets that list the directories of the base.
	stackSets uint64
}

// Access decides what users may do.
type Access interface {
	// Allows reports whether RBAC allows a user a verb on a Stack.
	Allows(ctx context.Context, user string, groups []string, verb string, stack Key) (bool, error)
	// AllowsRun reports whether RBAC allows a user a verb on a Run, or on all Runs of a namespace if it has no name.
	AllowsRun(ctx context.Context, user string, groups []string, verb string, run Key) (bool, error)
}

// Merge implements Merger. The result is computed once for the same commits and Stacks. Whether the pull request is
// restricted is checked again as long as it is.
func (g *Gatherer) Merge(ctx context.Context, w *Snapshot, repo *v1alpha1.Repository, provider Provider) error {
	spec := w.PullRequest.Spec
	base, err := g.Codes.Base(ctx, repo, spec.Base)
	if err != nil {
		return w.reportCode(repo, err)
	}
	stacks, err := g.stacks(ctx, repo, spec.Base)
	if err != nil {
		return err
	}
	sets, err := g.stackSets(ctx, repo, spec.Base)
	if err != nil {
		return err
	}
	key := mergeKey{base, spec.Head.Commit, hashOf(repo, stacks), hashOfRequests(w.PullRequest), sets.hash()}
	known, ok := g.merges.get(w.PullRequest.UID)
	ok = ok && known.key == key && (known.until.IsZero() || w.Now.Before(known.until))
	if ok {
		if w.Restricted, err = stillRestricted(ctx, g.Access, w, provider, known); err != nil {
			return err
		} else if w.Restricted == known.restricted {
			w.Merge = known.Merge
			return nil
		}
	}
	proposal, err := g.Codes.Propose(ctx, repo, spec.Base, spec.Head.Commit, fmt.Sprintf("pull/%d", spec.Number))
	if err != nil {
		return w.reportCode(repo, err)
	}
	defer proposal.Close() //nolint:errcheck // a folder that stays is deleted with the next start
	w.Merge = &Merge{PullRequestMerge: v1alpha1.PullRequestMerge{
		Head: spec.Head.Commit, Base: proposal.Base.ID, Tree: proposal.Tree(), Conflicts: proposal.Conflicts(),
	}, Empty: proposal.Tree() == proposal.Base.Tree, Unread: len(stacks)+len(sets.sets) == 0}
	settled := proposal.Base.ID == base
	if len(w.Merge.Conflicts) == 0 {
		listed, err := g.gatherStackSets(ctx, w.Merge, sets, proposal)
		if err != nil {
			return err
		}
		unplanned, err := proposal.Unplanned(ctx, repo, stacks, listed)
		if err != nil {
			return fmt.Errorf("find what is not planned: %w", err)
		}
		w.Merge.Unplanned = listUnplanned(unplanned)
		complete, err := g.gatherAffected(ctx, w, repo, provider, proposal, stacks)
		if err != nil {
			return err
		}
		settled = settled && complete
	}
	if settled {
		result := merged{Merge: w.Merge, key: key, restricted: w.Restricted}
		if slices.ContainsFunc(w.Merge.Affected, func(a Affected) bool { return a.Problem != "" }) {
			result.until = w.Now.Add(fetchLongest)
		}
		g.merges.add(w.PullRequest.UID, result)
	}
	return nil
}

// maxUnplanned is the maximum number of paths of each kind in a status.
const maxUnplanned = 20

// listUnplanned returns what the status has of what no plan shows; nil for nothing.
func listUnplanned(all code.Unplanned) *v1alpha1.PullRequestUnplanned {
	if len(all.Directories)+len(all.Manifests) == 0 {
		return nil
	}
	list := func(paths []string) (listed []string, more int32) {
		for _, path := range paths[:min(len(paths), maxUnplanned)] {
			listed = append(listed, valid(cmp.Or(path, "."), maxPath))
		}
		return listed, int32(len(paths) - len(listed))
	}
	next := &v1alpha1.PullRequestUnplanned{}
	next.Directories, next.MoreDirectories = list(all.Directories)
	next.Manifests, next.MoreManifests = list(all.Manifests)
	return next
}

// Forget implements Merger.
func (g *Gatherer) Forget(pull types.UID) { g.merges.remove(pull) }

// reportCode records why the merge is not known: it is waited for, or a user has to act. Other errors are returned.
func (w *Snapshot) reportCode(repo *v1alpha1.Repository, err error) error {
	switch {
	case errors.Is(err, repository.ErrNotFetched):
		w.Waits = "waits for Repository " + repo.Name + " to be fetched"
	case errors.Is(err, code.ErrRemoteContent), code.Reason(err) != "":
		w.Problem = err.Error()
	default:
		return err
	}
	return nil
}

// gatherAffected finds the affected Stacks. It is complete unless the inputs of one wait for something.
func (g *Gatherer) gatherAffected(
	ctx context.Context, w *Snapshot, repo *v1alpha1.Repository, provider Provider, proposal *code.Proposal,
	stacks []v1alpha1.Stack,
) (complete bool, err error) {
	var affected []*v1alpha1.Stack
	for i := range stacks {
		stack, problem, err := snapshot.Effective(ctx, g.Client, &stacks[i])
		if err != nil {
			return false, err
		}
		if problem != nil {
			stack = &stacks[i]
		}
		affects, err := proposal.Affects(ctx, repo, stack)
		if err != nil {
			return false, fmt.Errorf("find the affected Stacks: %w", err)
		}
		if !affects {
			continue
		}
		one := Affected{Key: Key{stack.Namespace, stack.Name}, UID: string(stack.UID), Rules: rulesOf(stack)}
		if problem != nil { // not remembered: it ends without a change of the Stack
			one.Problem, one.Waits = problem.Message, true
		}
		if comparesBase(w.Settings) {
			if one.Diverged, err = proposal.Diverged(ctx, repo, stack); err != nil {
				return false, fmt.Errorf("find newer commits of the base: %w", err)
			}
		}
		if proposal.Deletes(stack) {
			one.DeletedDirectory = stack.Spec.Source.Git.Path
		}
		affected, w.Merge.Affected = append(affected, stack), append(w.Merge.Affected, one)
	}
	created, err := g.plannable(ctx, w, repo)
	if err != nil {
		return false, err
	}
	for _, s := range created {
		w.Merge.Affected = append(w.Merge.Affected, Affected{Key: s.key(), New: true})
	}
	if w.Restricted, err = restrict(ctx, g.Access, w, provider, w.Merge.Affected); err != nil {
		return false, err
	}
	commands := &w.PullRequest.Status.Commands
	complete = true
	for i := range w.Merge.Affected {
		one := &w.Merge.Affected[i]
		if i >= int(*w.Settings.MaxStacks) && !slices.Contains(commands.Requested, one.String()) {
			continue
		}
		if one.Restricted != "" {
			continue
		}
		switch {
		case one.New:
			if err := g.gatherNewInputs(ctx, repo, created[i-len(affected)], proposal, one); err != nil {
				return false, err
			}
		case one.Problem == "":
			if err := g.gatherInputs(ctx, repo, affected[i], proposal, one); err != nil {
				return false, err
			}
		}
		complete = complete && !one.Waits
	}
	return complete, nil
}

// stacks returns the Stacks that read a branch of a Repository and are not being deleted, by namespace and name.
func (g *Gatherer) stacks(ctx context.Context, repo *v1alpha1.Repository, branch string) ([]v1alpha1.Stack, error) {
	var list v1alpha1.StackList
	reads := client.MatchingFields{repository.StackIndex: client.ObjectKeyFromObject(repo).String()}
	if err := g.Client.List(ctx, &list, reads); err != nil {
		return nil, err
	}
	stacks := slices.DeleteFunc(list.Items, func(s v1alpha1.Stack) bool {
		return s.DeletionTimestamp != nil || !repository.Allows(repo, s.Namespace) ||
			!g.Codes.Reads(ctx, repo, &s, branch)
	})
	slices.SortFunc(stacks, func(a, b v1alpha1.Stack) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return stacks, nil
}

// verbPlan is the verb that a plan requires.
const verbPlan = "plan"

// gatherInputs stores the inputs of a plan.
func (g *Gatherer) gatherInputs(
	ctx context.Context, repo *v1alpha1.Repository, stack *v1alpha1.Stack, proposal *code.Proposal, into *Affected,
) error {
	if stack.Spec.Suspend { // its Run would wait, and the status of the commit with it
		into.Problem = "spec.suspend of the Stack is true"
		return nil
	}
	state, err := g.gatherStateCopy(ctx, stack, into)
	if err != nil || into.Problem != "" {
		return err
	}
	if into.DeletedDirectory != "" {
		return g.gatherDestroy(ctx, repo, stack, state.InputsDigest, into)
	}
	return g.storeInputs(ctx, repo, stack, proposal, into)
}

// storeInputs stores the inputs of a plan of the merge.
func (g *Gatherer) storeInputs(
	ctx context.Context, repo *v1alpha1.Repository, stack *v1alpha1.Stack, proposal *code.Proposal, into *Affected,
) error {
	w, err := g.Stacks.InputsOf(ctx, Proposed(repo, stack), proposal)
	if err != nil {
		return err
	}
	if w.Problem != nil {
		into.Problem, into.Waits = w.Problem.Message, w.Problem.Transient
		for _, m := range w.MissingOutputs {
			into.missing = append(into.missing, missingOutput{of: Key{m.Stack.Namespace, m.Stack.Name},
				output: m.Output})
		}
		return nil
	}
	into.Revision, into.Source = w.Revision, w.Source
	into.InputsDigest, err = g.Inputs.Put(ctx, w.Inputs)
	if errors.Is(err, inputs.ErrTooLarge) || errors.Is(err, git.ErrTooLarge) {
		into.Problem = err.Error()
		return nil
	}
	return err
}

// gatherDestroy stores the inputs of the last apply, without what pull requests do not get.
func (g *Gatherer) gatherDestroy(
	ctx context.Context, repo *v1alpha1.Repository, stack *v1alpha1.Stack, applied string, into *Affected,
) error {
	if applied == "" {
		into.Empty = true
		into.Problem = "the pull request deletes directory " + into.DeletedDirectory +
			", and the Stack was never applied: there is nothing to destroy"
		return nil
	}
	doc, err := g.Inputs.Get(ctx, applied)
	if err != nil {
		return err
	}
	into.DestroyInputsDigest = applied
	into.InputsDigest, err = g.Inputs.Put(ctx, ProposedDestroy(doc, repo, stack))
	return err
}

func hashOf(repo *v1alpha1.Repository, stacks []v1alpha1.Stack) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d\n", repo.UID, repo.Generation)
	for i := range stacks {
		fmt.Fprintf(h, "%s %d %v %v\n", stacks[i].UID, stacks[i].Generation, stacks[i].Status.VariableSets,
			stacks[i].Status.StackPolicies)
	}
	return h.Sum64()
}

func hashOfRequests(pull *v1alpha1.PullRequest) uint64 {
	h := fnv.New64a()
	for _, s := range pull.Status.Stacks {
		if s.Retries > 0 {
			fmt.Fprintf(h, "%s/%s %d\n", s.Namespace, s.Name, s.Retries)
		}
	}
	for _, requested := range pull.Status.Commands.Requested {
		fmt.Fprintf(h, "%s\n", requested)
	}
	fmt.Fprintf(h, "%v\n", allowancesOf(pull))
	return h.Sum64()
}
