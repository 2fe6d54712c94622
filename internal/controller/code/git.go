package code

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/weightedlru"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
)

// GitCode is what a Stack's git source is now.
type GitCode struct {
	closure.Closure
	Commit git.Commit
	// Revision names the ref and the commit.
	Revision string
	// Key is the same for code whose archive has the same bytes. What submodules and LFS add is shown to one
	// Repository's credentials, so that it is no other's, even of the same Digest.
	Key string
	// Remote: the archive may have to be fetched in part: submodules, LFS files.
	Remote bool
	// URL is where the mirror is from: until a new spec.url is fetched, the one before.
	URL string
	// Ask is what the last fetch of the Repository was for. An archive that failed is due again when it is another one.
	Ask repository.Ask

	mirror *git.Mirror
	tree   *git.Tree
	// options of the mirror.
	options git.Options
	// image is the code that an image is built from, if that is other code.
	image *GitCode
}

// gitSource is spec.source.git.
type gitSource struct{}

func (gitSource) is(source *v1alpha1.Source) bool { return source.Git != nil }

func (gitSource) configMaps(*v1alpha1.Source) []string { return nil }

func (gitSource) resolve(ctx context.Context, s *Sources, stack *v1alpha1.Stack) (Code, *decision.Problem, error) {
	repo, problem, err := s.Repository(ctx, stack)
	if repo == nil {
		return Code{}, problem, err
	}
	read := s.Of
	if s.own {
		read = s.Observe
	}
	found, err := read(ctx, repo, stack)
	return fromGit(repo, stack, found, err)
}

// Repository finds the Repository that a Stack names, if it may use it.
func (s *Sources) Repository(
	ctx context.Context, stack *v1alpha1.Stack,
) (*v1alpha1.Repository, *decision.Problem, error) {
	key, _ := stack.RepositoryKey()
	repo := &v1alpha1.Repository{}
	err := s.Cache.Get(ctx, key, repo)
	if err == nil && repository.Allows(repo, stack.Namespace) {
		return repo, nil, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, err
	}
	message := fmt.Sprintf("Repository %s is not found: create it, or correct spec.source.git.repository", key.Name)
	if key.Namespace != stack.Namespace {
		message = fmt.Sprintf("Repository %s is not found, or its spec.allowedNamespaces does not name %s",
			key, stack.Namespace)
	}
	return nil, &decision.Problem{Reason: v1alpha1.ReasonRepositoryNotFound, Message: message}, nil
}

// fromGit is the Code of a Stack from git, or the problem that an error is.
func fromGit(
	r *v1alpha1.Repository, stack *v1alpha1.Stack, found GitCode, err error,
) (Code, *decision.Problem, error) {
	code := Code{Repository: r}
	if problem := code.Problem(err); problem != nil {
		return Code{}, problem, nil
	}
	if err != nil {
		return Code{}, nil, err
	}
	code.Facts = decision.Code{
		Revision: found.Revision, CodeRead: true, UnknownReads: found.Open,
		Commit: decision.Commit{ID: found.Commit.ID, Author: found.Commit.Author, Subject: found.Commit.Subject},
		Source: found.Origin(r, stack), RepositoryChangedBy: r.Annotations[v1alpha1.ChangedByAnnotation],
		RepositoryGeneration: r.Generation, Engine: engineIn(r, stack),
	}
	code.Folder = inputs.FolderOf(found.URL)
	code.Versions, code.Dependencies, code.Archive = found.Engine, found.Dependencies, found.Archive()
	if code.Path = path.Clean(stack.Spec.Source.Git.Path); code.Path == "." {
		code.Path = ""
	}
	code.image = func(build *inputs.Build) (Archive, error) {
		image, err := found.Image(r, build)
		return image.Archive(), err
	}
	return code, nil, nil
}

// engineIn returns the engine of a Stack with the defaults of its Repository; nil if these change nothing.
func engineIn(r *v1alpha1.Repository, stack *v1alpha1.Stack) *v1alpha1.Engine {
	e, own := r.EngineFor(stack), stack.Spec.Engine
	own.Name = cmp.Or(own.Name, v1alpha1.EngineOpenTofu)
	if equality.Semantic.DeepEqual(e, own) {
		return nil
	}
	return &e
}

// Archive has the files of the code.
func (c GitCode) Archive() Archive {
	return Archive{Key: c.Key, Remote: c.Remote, Ask: c.Ask, Write: func(ctx context.Context, w io.Writer) error {
		err := c.mirror.Archive(ctx, c.tree, c.Files, w)
		if errors.Is(err, git.ErrTooLarge) && len(c.Open) > 0 {
			err = fmt.Errorf("the whole repository belongs to the Stack, because of %s: %w", c.Open[0], err)
		}
		if err != nil {
			return fmt.Errorf("pack %s: %w", c.Revision, err)
		}
		return nil
	}}
}

// Codes finds the code of Stacks in the mirrors.
type Codes struct {
	mirrors  *repository.Mirrors
	closures *closure.Closures
	// observed is the fingerprint of what Observe returned last for each Stack. A Stack whose commit could not be read,
	// or whose code could not be packed, has none.
	observed *lru.Cache[types.UID, string]
	// histories are whether a commit has another one in its history, which never changes.
	histories *lru.Cache[[2]string, bool]
	// same are whether a Stack reads the same code at two commits, by a hash of these and of what it reads.
	same *lru.Cache[[sha256.Size]byte, bool]
}

// NewCodes reads from the mirrors.
func NewCodes(mirrors *repository.Mirrors) *Codes {
	return &Codes{
		mirrors: mirrors, closures: closure.New(closure.Options{}),
		observed:  weightedlru.Sized[types.UID, string](100_000),
		histories: weightedlru.Sized[[2]string, bool](100_000),
		same:      weightedlru.Sized[[sha256.Size]byte, bool](100_000),
	}
}

// Of returns the code of a Stack whose source is in the Repository. For an error that is not transient, Reason is
// what a user has to correct; repository.ErrNotFetched is transient.
func (c *Codes) Of(ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack) (GitCode, error) {
	code, _, err := c.read(ctx, r, stack)
	return code, err
}

// Observe is Of for the reconcile of the Stack itself: Changed compares with it. A read for another object must not be
// recorded, or the Stack would not be reconciled after the fetch that it read.
func (c *Codes) Observe(ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack) (GitCode, error) {
	c.observed.Remove(stack.UID) // what is fetched from now on is a change, also while this reads
	code, fingerprint, err := c.read(ctx, r, stack)
	if fingerprint != "" {
		c.observed.Add(stack.UID, fingerprint)
	}
	return code, err
}

// read returns the code of a Stack, and the fingerprint of the result; empty if the commit cannot be read.
func (c *Codes) read(ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack) (GitCode, string, error) {
	at, err := c.at(ctx, r, stack)
	if err != nil {
		return GitCode{}, "", err
	}
	found, err := c.closures.Of(ctx, at.tree, at.mirror, wanted(r, stack))
	fingerprint := at.fingerprint(found.Digest, err, stack)
	if err != nil {
		return GitCode{}, fingerprint, err
	}
	return at.of(r, found), fingerprint, nil
}

// of is the code of a closure.
func (c GitCode) of(r *v1alpha1.Repository, found closure.Closure) GitCode {
	c.Closure, c.Key, c.Remote = found, found.Digest, false
	if o := c.options; o.LFS || (o.Submodules && found.Submodules) {
		c.Remote = true
		c.Key = fmt.Sprintf("%s/%s/submodules-%t-lfs-%t", found.Digest, r.UID, o.Submodules, o.LFS)
	}
	return c
}

// Origin is the source of the code, as the Stack and its Repository declare it, but with what the mirror was fetched
// from.
func (c GitCode) Origin(r *v1alpha1.Repository, stack *v1alpha1.Stack) *v1alpha1.GitOrigin {
	o := c.options
	origin := &v1alpha1.GitOrigin{
		Repository: r.Namespace + "/" + r.Name, Ref: stack.Spec.Source.Git.Ref,
		URL: c.URL, Submodules: o.Submodules, LFS: o.LFS,
	}
	if e := r.Spec.Engine; e != nil {
		origin.Engine = strings.TrimSpace(fmt.Sprintf("%s %s", e.Name, e.Version))
		if e.Wrapped != nil {
			origin.Engine += fmt.Sprintf(", which runs %s %s", e.Wrapped.Name, e.Wrapped.Version)
		}
	}
	if origin.Ref == "" {
		origin.DefaultRef = r.Spec.Ref
	}
	return origin
}

// Changed reports whether Observe would return other code now, or another error, than it did the last time.
func (c *Codes) Changed(ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack) bool {
	last, ok := c.observed.Get(stack.UID)
	at, err := c.at(ctx, r, stack)
	if err != nil || !ok {
		return true
	}
	digest, err := c.closures.Digest(ctx, at.tree, at.mirror, wanted(r, stack))
	return at.fingerprint(digest, err, stack) != last
}

// Forget lets the next Changed of a Stack return true, since the code that Observe returned could not be packed.
func (c *Codes) Forget(stack *v1alpha1.Stack) { c.observed.Remove(stack.UID) }

// fingerprint identifies what an archive of code with a digest holds, with the options of the mirror, or the error
// that the Stack reports in its place.
func (c GitCode) fingerprint(digest string, err error, stack *v1alpha1.Stack) string {
	o := c.options
	return fmt.Sprintf("%s%s/submodules-%t-lfs-%t %v", digest, imageDigest(c.tree, stack), o.Submodules, o.LFS, err)
}

// at is the commit that a Stack reads from, without what it reads there.
func (c *Codes) at(ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack) (GitCode, error) {
	return c.atRef(ctx, r, refOf(r, stack.Spec.Source.Git))
}

// atRef is the commit that a ref names, "" for the default branch, without what Stacks read there.
func (c *Codes) atRef(ctx context.Context, r *v1alpha1.Repository, ref string) (GitCode, error) {
	var ask repository.Ask
	// before Commit: an Ask that is too old costs one more archive
	if last, _ := c.mirrors.LastFetch(r.UID); last != nil {
		ask = last.Ask
	}
	mirror, commit, err := c.mirrors.Commit(ctx, r.UID, ref)
	if err != nil {
		return GitCode{}, err
	}
	tree, err := mirror.Tree(ctx, commit.Tree)
	if err != nil {
		return GitCode{}, fmt.Errorf("read commit %s: %w", commit.ID, err)
	}
	url := c.mirrors.URLOf(r.UID, mirror)
	if url == "" {
		return GitCode{}, repository.ErrNotFetched
	}
	return GitCode{
		Commit: commit, Revision: repository.Revision(commit), URL: url, Ask: ask,
		mirror: mirror, tree: tree, options: mirror.Options(),
	}, nil
}

func wanted(r *v1alpha1.Repository, stack *v1alpha1.Stack) closure.Wanted {
	source := stack.Spec.Source.Git
	engine := r.EngineFor(stack)
	w := closure.Wanted{Path: source.Path, Triggers: source.Triggers,
		Terragrunt: engine.Name == v1alpha1.EngineTerragrunt}
	wrapped := ""
	if engine.Wrapped != nil {
		wrapped = string(engine.Wrapped.Name)
	}
	w.Language = closure.LanguageOf(string(engine.Name), wrapped)
	for _, f := range stack.Spec.VariableFiles {
		if f.Path != "" {
			w.VariableFiles = append(w.VariableFiles, f.Path)
		}
	}
	for _, v := range stack.Spec.Variables {
		if v.Value != nil {
			w.Paths = append(w.Paths, closure.PathsIn(string(v.Value.Raw))...)
		}
	}
	for _, hook := range stack.Spec.Hooks {
		w.Paths = append(w.Paths, closure.PathsInScript(hook.Script)...)
	}
	if commands := stack.Spec.Commands; commands != nil {
		for _, command := range []*v1alpha1.Command{commands.Apply, commands.Destroy} {
			if command != nil {
				w.Paths = append(w.Paths, closure.PathsInScript(command.Script)...)
			}
		}
	}
	return w
}

// refOf is the ref of a source: its own, or the Repository's.
func refOf(r *v1alpha1.Repository, source *v1alpha1.GitSource) string {
	if source.Ref != "" {
		return source.Ref
	}
	return r.Spec.Ref
}

// branchOf is the ref of a source, without the prefix of branches.
func branchOf(r *v1alpha1.Repository, source *v1alpha1.GitSource) string {
	return strings.TrimPrefix(refOf(r, source), "refs/heads/")
}

// SameRef reports whether two sources in a Repository are read at the same ref.
func SameRef(r *v1alpha1.Repository, one, other *v1alpha1.GitSource) bool {
	return branchOf(r, one) == branchOf(r, other)
}
