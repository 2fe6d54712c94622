package code

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/weightedlru"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
)

const (
	// knownSources is how many sources are remembered by their version.
	knownSources = 20_000
	// knownCode is how many bytes of parsed code are.
	knownCode = 8 << 20
)

// Sources is the Source of all Stacks, for another object than the Stack itself.
type Sources struct {
	// Cache reads Repositories, and the metadata of ConfigMaps. Live reads ConfigMaps past it.
	Cache, Live client.Reader
	// Git reads the code of Stacks from git.
	Git

	// own: the code is read for the reconcile of the Stack itself.
	own bool
	// closures reads the engine settings in code in memory, and facts caches them by the code's version.
	closures *closure.Closures
	facts    *lru.Cache[string, closure.Engine]
}

// Git finds the code of Stacks from git, as Codes does.
type Git interface {
	// Of returns the code of a Stack, for another object.
	Of(context.Context, *v1alpha1.Repository, *v1alpha1.Stack) (GitCode, error)
	// Observe returns it for the reconcile of the Stack itself. Changed reports whether it would return another result
	// than last, or Forget was called since.
	Observe(context.Context, *v1alpha1.Repository, *v1alpha1.Stack) (GitCode, error)
	Changed(context.Context, *v1alpha1.Repository, *v1alpha1.Stack) bool
	Forget(*v1alpha1.Stack)
	// At returns the code of a Stack at a commit.
	At(ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack, commit string) (GitCode, error)
	// Join merges a commit into another one, as Propose does. Base returns the commit that a branch is at.
	Join(ctx context.Context, r *v1alpha1.Repository, base, head, name string) (Joined, error)
	Base(ctx context.Context, r *v1alpha1.Repository, branch string) (string, error)
	Contributors(
		ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack, since, commit string,
	) (Contributors, error)
	CommitContributors(
		ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack, commit string,
	) ([]git.Contributor, error)
}

// NewSources reads code from ConfigMaps and from git.
func NewSources(cache, live client.Reader, git Git) *Sources {
	return &Sources{
		Cache: cache, Live: live, Git: git, facts: weightedlru.Sized[string, closure.Engine](knownSources),
		closures: closure.New(closure.Options{CacheBytes: knownCode}),
	}
}

// Resolve implements Source.
func (s *Sources) Resolve(ctx context.Context, stack *v1alpha1.Stack) (Code, *decision.Problem, error) {
	return kindOf(stack).resolve(ctx, s, stack)
}

// Own is the Source for the reconcile of the Stack itself. Changed compares with what it returned.
func (s *Sources) Own() Source {
	own := *s
	own.own = true
	return &own
}
