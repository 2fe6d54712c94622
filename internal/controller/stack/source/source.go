// Package source packs the code of Stacks into archives in the bucket, and reads the ConfigMaps with their scripts and
// policies.
package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/weightedlru"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/engine/policy"
	"cairn.dev/cairn/internal/source/closure"
)

// Sources packs the code of Stacks into archives that the bucket keeps under their digest.
type Sources struct {
	live   client.Reader
	Bucket inputs.Bucket
	// packed remembers which archive a version of a ConfigMap became, so that it is read once.
	packed *lru.Cache[string, string]
	// texts are the ConfigMaps of hooks and policies by their version, and checked the errors of policies by their
	// content; empty for none.
	texts   *weightedlru.Cache[string, *Text]
	checked *lru.Cache[string, string]
	// closures reads the engine settings in code that is not from git, and facts caches them by the code's version.
	closures *closure.Closures
	facts    *lru.Cache[string, closure.Engine]
	later    *packs

	// Compile returns what is wrong with policies. It compiles them in this process unless it is set to a safer
	// function.
	Compile func(context.Context, []policy.Module) error
}

const (
	// knownSources is how many archives and policies are remembered by name.
	knownSources = 20_000
	// knownTexts is how many bytes of hooks and policies are.
	knownTexts = 64 << 20
	// knownCode is how many bytes of parsed code are.
	knownCode = 8 << 20
)

// NewSources reads ConfigMaps past the cache, which has only their metadata.
func NewSources(live client.Reader, bucket inputs.Bucket) *Sources {
	return &Sources{
		live: live, Bucket: bucket, packed: newCache[string](), checked: newCache[string](),
		facts:    newCache[closure.Engine](),
		texts:    weightedlru.New[string, *Text](knownTexts, weightedlru.EntryOverhead),
		closures: closure.New(closure.Options{CacheBytes: knownCode}), later: newPacks(),
		Compile: func(_ context.Context, modules []policy.Module) error {
			_, err := policy.Compile(modules)
			return err
		},
	}
}

func newCache[V any]() *lru.Cache[string, V] {
	cache, err := lru.New[string, V](knownSources)
	if err != nil {
		panic(err) // only for a size below one
	}
	return cache
}

// Packed sends the Stacks whose code is packed now, or could not be.
func (s *Sources) Packed() <-chan repository.Event { return s.later.ended }

// Start owns the packing beside reconciles: when ctx is done it is stopped and waited for.
func (s *Sources) Start(ctx context.Context) error { return s.later.start(ctx) }

// Packed is code that is not from git.
type Packed struct {
	// Digest of its archive.
	Digest string
	// Engine has the settings in the code about its engine's version.
	Engine closure.Engine
}

// Pack returns the Stack's current code, for an engine. The version of a ConfigMap is "" for one that does not exist.
func (s *Sources) Pack(
	ctx context.Context, stack *v1alpha1.Stack, version string, engine v1alpha1.EngineName,
) (Packed, *decision.Problem, error) {
	cm, terragrunt := stack.Spec.Source.ConfigMap, engine == v1alpha1.EngineTerragrunt
	if cm == nil {
		version = inlineVersion(stack)
	}
	if version == "" {
		return Packed{}, &decision.Problem{Reason: v1alpha1.ReasonSourceNotFound, Message: fmt.Sprintf(
			"ConfigMap %s is not found: create it, or correct spec.source.configMap", cm.Name)}, nil
	}
	if p, err := s.knownOf(ctx, version, terragrunt); p.Digest != "" || err != nil {
		return p, nil, err
	}
	files, version, err := s.files(ctx, stack)
	switch {
	case errors.Is(err, errSourceGone):
		return s.Pack(ctx, stack, "", engine)
	case err != nil:
		return Packed{}, nil, err
	}
	if problem := check(files); problem != nil {
		return Packed{}, problem, nil
	}
	found, err := s.closures.Engine(ctx, files, terragrunt)
	if err != nil {
		return Packed{}, &decision.Problem{
			Reason: v1alpha1.ReasonSourceTooLarge, Message: "spec.source: " + err.Error(),
		}, nil
	}
	p := Packed{Engine: found}
	s.facts.Add(factsKey(version, terragrunt), p.Engine)
	p.Digest, err = s.keepFiles(ctx, version, files)
	return p, nil, err
}

// Keep returns the digest of the archive of code from git. It is created once for all code with the same content: at
// once when all of it is in the mirror, and otherwise beside the caller, who gets a *NotPacked until it is done.
func (s *Sources) Keep(ctx context.Context, stack types.NamespacedName, code repository.Code) (string, error) {
	if digest, err := s.known(ctx, code.Key); digest != "" || err != nil {
		return digest, err
	}
	kept, err := s.Bucket.Get(ctx, "closures/"+code.Key, 100)
	if err == nil {
		s.packed.Add(code.Key, string(kept))
		if digest, err := s.known(ctx, code.Key); digest != "" || err != nil {
			return digest, err
		}
	} else if !bucket.IsLost(err) {
		return "", fmt.Errorf("find the archive of %s: %w", code.Revision, err)
	}
	if code.Remote {
		return "", s.later.pack(stack, code.Key, code.Ask, func(ctx context.Context) error { return s.pack(ctx, code) })
	}
	if err := s.pack(ctx, code); err != nil {
		return "", err
	}
	digest, _ := s.packed.Get(code.Key)
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

// pack creates the archive of code from git and stores it.
func (s *Sources) pack(ctx context.Context, code repository.Code) error {
	var archive bytes.Buffer
	if err := code.Archive(ctx, &archive); err != nil {
		return fmt.Errorf("pack %s: %w", code.Revision, err)
	}
	digest := inputs.Digest(archive.Bytes())
	if err := s.Bucket.PutOnce(ctx, "sources/"+digest, archive.Bytes()); err != nil {
		return fmt.Errorf("keep source %s: %w", digest, err)
	}
	if err := s.Bucket.PutOnce(ctx, "closures/"+code.Key, []byte(digest)); err != nil {
		return fmt.Errorf("keep the digest of source %s: %w", digest, err)
	}
	s.packed.Add(code.Key, digest)
	return nil
}

func bytesOf(texts map[string]string) map[string][]byte {
	files := make(map[string][]byte, len(texts))
	for name, text := range texts {
		files[name] = []byte(text)
	}
	return files
}

// VersionOf names one version of one object.
func VersionOf(o metav1.Object) string { return string(o.GetUID()) + "/" + o.GetResourceVersion() }

// knownOf returns what is cached of a version of code that is not from git; no Digest when a part is absent.
func (s *Sources) knownOf(ctx context.Context, version string, terragrunt bool) (p Packed, err error) {
	facts, ok := s.facts.Get(factsKey(version, terragrunt))
	if !ok {
		return Packed{}, nil
	}
	p.Engine = facts
	p.Digest, err = s.known(ctx, version)
	return p, err
}

// factsKey is by whom the code is read, too: Terragrunt's own file counts for Terragrunt only.
func factsKey(version string, terragrunt bool) string {
	return fmt.Sprintf("%s %t", version, terragrunt)
}

func (s *Sources) keepFiles(ctx context.Context, version string, files map[string][]byte) (string, error) {
	archive, err := pack(files)
	if err != nil {
		return "", err
	}
	digest := inputs.Digest(archive)
	if err := s.Bucket.PutOnce(ctx, "sources/"+digest, archive); err != nil {
		return "", fmt.Errorf("keep source %s: %w", digest, err)
	}
	s.packed.Add(version, digest)
	return digest, nil
}

// inlineVersion is the version of the code in a spec, by its content: equal code of many Stacks is packed and cached
// once.
func inlineVersion(stack *v1alpha1.Stack) string {
	sum, files := sha256.New(), stack.Spec.Source.Inline
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%d %s%d %s", len(name), name, len(files[name]), files[name])
	}
	return "inline/" + hex.EncodeToString(sum.Sum(nil))
}

// check rejects files that could end up outside the root module, and a source without code.
func check(files map[string][]byte) *decision.Problem {
	code := false
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\\x00") || len(name) > 500 {
			return &decision.Problem{Reason: v1alpha1.ReasonSourceInvalid, Message: fmt.Sprintf("%q cannot be a file "+
				"of the code: a path is relative, without . and .. in it", name)}
		}
		for _, suffix := range []string{".tf", ".tofu", ".tf.json", ".tofu.json"} {
			code = code || strings.HasSuffix(name, suffix)
		}
	}
	if !code {
		return &decision.Problem{Reason: v1alpha1.ReasonSourceInvalid, Message: "there is no code: none of the files " +
			"ends in .tf, .tofu, .tf.json or .tofu.json"}
	}
	return nil
}

// zips are used again: one is a megabyte, and after a start all Stacks are packed.
var zips = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// pack creates the same archive of the same files, always.
func pack(files map[string][]byte) ([]byte, error) {
	var buf bytes.Buffer
	zip := zips.Get().(*gzip.Writer)
	defer zips.Put(zip)
	zip.Reset(&buf)
	archive := tar.NewWriter(zip)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name])), Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
