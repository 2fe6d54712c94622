package code

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
)

// inlineSource is spec.source.inline.
type inlineSource struct{}

func (inlineSource) is(source *v1alpha1.Source) bool { return source.Inline != nil }

func (inlineSource) configMaps(*v1alpha1.Source) []string { return nil }

func (inlineSource) resolve(
	ctx context.Context, s *Sources, stack *v1alpha1.Stack,
) (Code, *decision.Problem, error) {
	texts := stack.Spec.Source.Inline
	version := inlineVersion(texts)
	return s.inMemory(ctx, stack, files{
		version: version,
		load:    func(context.Context) (map[string][]byte, string, error) { return bytesOf(texts), version, nil },
	})
}

// inlineVersion is the version of the code in a spec, by its content: equal code of many Stacks is packed and cached
// once.
func inlineVersion(texts map[string]string) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(sum, "%d %s%d %s", len(name), name, len(texts[name]), texts[name])
	}
	return "inline/" + hex.EncodeToString(sum.Sum(nil))
}
