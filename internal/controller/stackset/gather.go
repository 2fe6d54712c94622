package stackset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/internal/controller/stackset/render"
	"cairn.dev/cairn/internal/controller/stackset/units"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
)

// sets is what is known of each StackSet. A set is reconciled by one goroutine at a time.
type sets struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*known
}

// known is what is known of one generation of a StackSet.
type known struct {
	uid        types.UID
	generation int64
	// renderer of the generation; nil with a problem of the spec.
	renderer *render.Renderer
	invalid  *decision.Problem
	// source is the tree that was listed last, and rendered is the result for it, or the problem. names are those of
	// rendered, and of Stacks that are moved, as Keys.
	source   string
	listed   bool
	rendered []decision.Rendered
	names    map[string]bool
	problem  *decision.Problem
	// same has what was compared, by UID of the Stack.
	same map[types.UID]compared
	// failed are the writes that failed, by Key of the Stack.
	failed map[string]failed
	// written are the generations that changes resulted in, by UID of the Stack, until the cache has them. They are of
	// all generations of the set.
	written map[types.UID]int64
}

// compared is a comparison of a version of a Stack with a digest of the template.
type compared struct {
	version, digest string
	same            bool
}

func (s *sets) of(set *v1alpha1.StackSet) *known {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(set)
	last := s.all[key]
	if last != nil && last.uid == set.UID && last.generation == set.Generation {
		return last
	}
	if s.all == nil {
		s.all = map[types.NamespacedName]*known{}
	}
	k := &known{
		uid: set.UID, generation: set.Generation, same: map[types.UID]compared{}, failed: map[string]failed{},
		written: map[types.UID]int64{},
	}
	if last != nil {
		k.written = last.written
	}
	k.renderer, k.invalid = render.New(set)
	s.all[key] = k
	return k
}

func (s *sets) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
}

// gather reads what a decision needs. Nothing of it is changed: the Stacks are those of the cache.
func (r *Reconciler) gather(ctx context.Context, set *v1alpha1.StackSet, k *known) (decision.Snapshot, error) {
	w := decision.Snapshot{Now: r.now(), Set: set, Problem: k.invalid, Revision: set.Status.Revision}
	w.Same = func(one *decision.Rendered, stack *v1alpha1.Stack) bool { return k.isSame(set, one, stack) }
	if w.Problem == nil {
		if err := r.gatherRendered(ctx, &w, k); err != nil {
			return w, err
		}
	}
	if w.Problem != nil {
		return w, nil
	}
	return w, r.gatherStacks(ctx, &w, k)
}

// isBehind reports that the cache does not have all changes of Stacks yet: by what it has, more Stacks would be changed
// at once than the rollout permits.
func (k *known) isBehind(stacks []v1alpha1.Stack) bool {
	if len(k.written) == 0 {
		return false
	}
	there := make(map[types.UID]int64, len(stacks))
	for i := range stacks {
		there[stacks[i].UID] = stacks[i].Generation
	}
	for uid, generation := range k.written {
		if now, is := there[uid]; !is || now >= generation {
			delete(k.written, uid)
		}
	}
	return len(k.written) > 0
}

// others are the keys of the Stacks that a set generates or moves, beside its own.
func (k *known) others(set *v1alpha1.StackSet, own []v1alpha1.Stack) (keys []types.NamespacedName) {
	if len(k.same) > len(own) {
		k.forgetOthers(own)
	}
	has := make(map[string]bool, len(own))
	for i := range own {
		has[decision.Key(set, own[i].Namespace, own[i].Name)] = true
	}
	for name := range k.names {
		if !has[name] {
			keys = append(keys, decision.Locate(set, name))
		}
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

// forgetOthers forgets the comparisons of Stacks that are gone.
func (k *known) forgetOthers(stacks []v1alpha1.Stack) {
	there := make(map[types.UID]bool, len(stacks))
	for i := range stacks {
		there[stacks[i].UID] = true
	}
	maps.DeleteFunc(k.same, func(uid types.UID, _ compared) bool { return !there[uid] })
}

// isSame compares a Stack with what is rendered, once for each version of the Stack.
func (k *known) isSame(set *v1alpha1.StackSet, one *decision.Rendered, stack *v1alpha1.Stack) bool {
	last := k.same[stack.UID]
	if last.version == stack.ResourceVersion && last.digest == one.Digest {
		return last.same
	}
	found, err := render.Differences(one.JSON, stack, set.Spec.Ignore)
	next := compared{version: stack.ResourceVersion, digest: one.Digest, same: err == nil && len(found) == 0}
	k.same[stack.UID] = next
	return next.same
}

// gatherRendered lists what the set generates at the commit of its ref.
func (r *Reconciler) gatherRendered(ctx context.Context, w *decision.Snapshot, k *known) error {
	var mirror *git.Mirror
	source, tree := "", ""
	w.Revision = ""
	if w.Set.Spec.Repository != nil {
		repo, err := r.repository(ctx, w)
		if repo == nil {
			return err
		}
		found, commit, err := r.Mirrors.Commit(ctx, repo.UID, cmp.Or(w.Set.Spec.Ref, repo.Spec.Ref))
		if w.Problem = problemOf(repo, err); w.Problem != nil || err != nil {
			return unless(w.Problem, err)
		}
		mirror, tree = found, commit.Tree
		source, w.Revision = string(repo.UID)+"/"+tree, repository.Revision(commit)
		if !k.listed || k.source != source {
			files, tree, err := r.filesOf(ctx, mirror, tree)
			if w.Problem = problemOf(repo, err); w.Problem != nil || err != nil {
				return unless(w.Problem, err)
			}
			return k.render(ctx, w, source, files, ContentsOf(r.Units, mirror, tree))
		}
	} else if !k.listed {
		return k.render(ctx, w, source, nil, contents{})
	}
	w.Rendered, w.Problem = k.rendered, k.problem
	return nil
}

func unless(p *decision.Problem, err error) error {
	if p != nil {
		return nil
	}
	return err
}

// render keeps the result for a source.
func (k *known) render(ctx context.Context, w *decision.Snapshot, source string, files []string,
	in render.Contents) error {
	all, problem, err := k.renderer.Stacks(ctx, files, in)
	if err != nil {
		return err
	}
	k.source, k.listed, k.rendered, k.problem = source, true, all, problem
	k.names = make(map[string]bool, len(all))
	for i := range all {
		k.names[decision.Key(w.Set, all[i].Namespace, all[i].Name)] = true
	}
	for _, m := range w.Set.Spec.Moved {
		k.names[m.From] = true
	}
	w.Rendered, w.Problem = all, problem
	return nil
}

// ContentsOf returns the contents of the files of a tree, whose Terragrunt units are read with the closures.
func ContentsOf(all *closure.Closures, mirror *git.Mirror, tree *git.Tree) render.Contents {
	return contents{mirror, tree, units.Reader{Closures: all, Tree: tree, Blobs: mirror}}
}

// contents are those of the files of a tree.
type contents struct {
	mirror *git.Mirror
	tree   *git.Tree
	units.Reader
}

func (c contents) ID(path string) string {
	entry, _ := c.tree.Entry(path)
	return entry.ID
}

func (c contents) Read(ctx context.Context, path string, limit int64) ([]byte, error) {
	data, err := c.mirror.Blob(ctx, c.ID(path), limit)
	if _, ok := errors.AsType[*git.SizeError](err); ok {
		return nil, render.ErrTooLarge
	}
	return data, err
}

// filesOf are the paths of the files of a tree.
func (r *Reconciler) filesOf(ctx context.Context, mirror *git.Mirror, id string) ([]string, *git.Tree, error) {
	list := r.Tree
	if list == nil {
		list = func(ctx context.Context, mirror *git.Mirror, id string) (*git.Tree, error) {
			return mirror.Tree(ctx, id)
		}
	}
	tree, err := list(ctx, mirror, id)
	if err != nil {
		return nil, nil, err
	}
	return Files(tree), tree, nil
}

// Files are the paths of the files of a tree, which generators list.
func Files(tree *git.Tree) []string {
	files := make([]string, 0, tree.Len())
	tree.Walk("", func(e git.Entry) {
		if e.Kind == git.KindFile || e.Kind == git.KindExec {
			files = append(files, e.Path)
		}
	})
	return files
}

// repository is the Repository of a set, if it may use it; nil with a Problem in the snapshot, or an error.
func (r *Reconciler) repository(ctx context.Context, w *decision.Snapshot) (*v1alpha1.Repository, error) {
	key, _ := w.Set.RepositoryKey()
	repo := &v1alpha1.Repository{}
	err := r.Client.Get(ctx, key, repo)
	if err == nil && repository.Allows(repo, w.Set.Namespace) {
		return repo, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	message := fmt.Sprintf("Repository %s is not found: create it, or correct spec.repository", key.Name)
	if key.Namespace != w.Set.Namespace {
		message = fmt.Sprintf("Repository %s is not found, or its spec.allowedNamespaces does not name %s", key,
			w.Set.Namespace)
	}
	w.Problem = &decision.Problem{Reason: v1alpha1.ReasonRepositoryNotFound, Message: message}
	return nil, nil
}

// problemOf is what prevents that the directories of a Repository are listed; nil for no error, and for one that is
// only logged. While a fetch fails, the last commit counts.
func problemOf(repo *v1alpha1.Repository, err error) *decision.Problem {
	if errors.Is(err, repository.ErrNotFetched) {
		trouble := repository.Trouble(repo)
		return &decision.Problem{
			Reason: v1alpha1.ReasonRepositoryNotReady, Transient: true, Pending: trouble == "",
			Message: "waits for Repository " + repo.Name + ": " + cmp.Or(trouble, err.Error()),
		}
	}
	if reason := code.Reason(err); err != nil && reason != "" {
		return &decision.Problem{Reason: reason, Message: fmt.Sprintf("Repository %s: %v", repo.Name, err)}
	}
	return nil
}
