//go:build envtest

package stack

import (
	"maps"
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// forget takes the code out of the bucket, as a sweep does with what nobody referred to for a time.
func (m memoryBucket) forget() {
	maps.DeleteFunc(m, func(key string, _ []byte) bool { return strings.HasPrefix(key, "sources/") })
}

func TestCodeThatIsNotThereAnyMoreIsPackedAgain(t *testing.T) {
	kept := memoryBucket{}
	sources := NewSources(nil, kept)
	stack := &v1alpha1.Stack{}
	stack.Spec.Source.Inline = map[string]string{"main.tf": ""}
	for range 2 {
		digest, problem, err := sources.Pack(t.Context(), stack, "")
		if err != nil || problem != nil || kept["sources/"+digest] == nil {
			t.Fatalf("%s, %v, %v", digest, problem, err)
		}
		kept.forget()
	}
}

func TestCodeFromGitThatIsNotThereAnyMoreIsPackedAgain(t *testing.T) {
	g := enterGit(t)
	g.fetch(g.repo)
	g.reconcile()
	made := &makers{memoryBucket: g.bucket}
	for name, begin := range map[string]func(){
		"remembered":      func() {},
		"after a restart": func() { g.begin(); g.fetch(g.repo) },
	} {
		g.bucket.forget()
		begin()
		g.Sources.bucket = made
		twin := g.as(g.reads("twin-"+strings.ReplaceAll(name, " ", "-"), g.repo, "net"))
		before := made.sources
		twin.reconcile()
		if twin.source() != g.source() || g.bucket["sources/"+g.source()] == nil || made.sources != before+1 {
			t.Errorf("%s: it is %s, was %s, and %d archives were made", name, twin.source(), g.source(), made.sources-before)
		}
	}
}
