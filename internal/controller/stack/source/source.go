// Package source packs the code of Stacks into archives in the bucket, and reads the ConfigMaps with their scripts and
// policies.
package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/weightedlru"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/engine/policy"
)

// Sources packs the code of Stacks into archives that the bucket keeps under their digest.
type Sources struct {
	live   client.Reader
	Bucket inputs.Bucket
	// packed has the digest of the archive of each key, so that no files are read twice.
	packed *lru.Cache[string, string]
	// texts are the ConfigMaps of hooks and policies by their version, and checked the errors of policies by their
	// content; empty for none.
	texts   *weightedlru.Cache[string, *Text]
	checked *lru.Cache[string, string]
	later   *packs

	// Compile returns what is wrong with policies. It compiles them in this process unless it is set to a safer
	// function.
	Compile func(context.Context, []policy.Module) error
}

const (
	// knownSources is how many archives and policies are remembered by name.
	knownSources = 20_000
	// knownTexts is how many bytes of hooks and policies are.
	knownTexts = 64 << 20
)

// NewSources reads ConfigMaps past the cache, which has only their metadata.
func NewSources(live client.Reader, bucket inputs.Bucket) *Sources {
	return &Sources{
		live: live, Bucket: bucket,
		packed:  weightedlru.Sized[string, string](knownSources),
		checked: weightedlru.Sized[string, string](knownSources),
		texts:   weightedlru.New[string, *Text](knownTexts, weightedlru.EntryOverhead), later: newPacks(),
		Compile: func(_ context.Context, modules []policy.Module) error {
			_, err := policy.Compile(modules)
			return err
		},
	}
}

// Packed sends the Stacks whose code is packed now, or could not be.
func (s *Sources) Packed() <-chan repository.Event { return s.later.ended }

// Start owns the packing beside reconciles: when ctx is done it is stopped and waited for.
func (s *Sources) Start(ctx context.Context) error { return s.later.start(ctx) }

// Keep returns the digest of the archive of a Stack's files. It is created once for all files with the same content: at
// once when all of it is at hand, and otherwise beside the caller, who gets a *NotPacked until it is done.
func (s *Sources) Keep(ctx context.Context, stack types.NamespacedName, a code.Archive) (string, error) {
	if digest, err := s.known(ctx, a.Key); digest != "" || err != nil {
		return digest, err
	}
	if !a.Versioned {
		kept, err := s.Bucket.Get(ctx, "closures/"+a.Key, 100)
		switch {
		case err == nil:
			s.packed.Add(a.Key, string(kept))
			if digest, err := s.known(ctx, a.Key); digest != "" || err != nil {
				return digest, err
			}
		case !bucket.IsLost(err):
			return "", fmt.Errorf("find the archive of %s: %w", a.Key, err)
		}
	}
	if a.Remote {
		return "", s.later.pack(stack, a.Key, a.Ask, func(ctx context.Context) error { return s.pack(ctx, a) })
	}
	if err := s.pack(ctx, a); err != nil {
		return "", err
	}
	digest, _ := s.packed.Get(a.Key)
	return digest, nil
}

// known returns the digest of the archive that was created of a version, while the bucket has it: an archive without
// references is deleted after a time, and created again.
func (s *Sources) known(ctx context.Context, version string) (string, error) {
	digest, ok := s.packed.Get(version)
	if !ok {
		return "", nil
	}
	err := s.Bucket.Renew(ctx, "sources/"+digest)
	switch {
	case errors.Is(err, bucket.ErrNotFound):
		s.packed.Remove(version)
		return "", nil
	case err != nil:
		return "", fmt.Errorf("find source %s: %w", digest, err)
	}
	return digest, nil
}

// pack creates an archive and stores it.
func (s *Sources) pack(ctx context.Context, a code.Archive) error {
	var archive bytes.Buffer
	if err := a.Write(ctx, &archive); err != nil {
		return err
	}
	digest := inputs.Digest(archive.Bytes())
	if err := s.Bucket.PutOnce(ctx, "sources/"+digest, archive.Bytes()); err != nil {
		return fmt.Errorf("keep source %s: %w", digest, err)
	}
	if !a.Versioned {
		if err := s.Bucket.PutOnce(ctx, "closures/"+a.Key, []byte(digest)); err != nil {
			return fmt.Errorf("keep the digest of source %s: %w", digest, err)
		}
	}
	s.packed.Add(a.Key, digest)
	return nil
}
