//go:build envtest

package stack

import (
	"maps"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/stack/source"
)

// deleteAll deletes the archives, as the garbage collector of the bucket does.
func (m memoryBucket) deleteAll() {
	maps.DeleteFunc(m, func(key string, _ []byte) bool { return strings.HasPrefix(key, "sources/") })
}

// archived returns the digest of the archive of inline code.
func archived(t *testing.T, sources *source.Sources, stack *v1alpha1.Stack) string {
	t.Helper()
	found, problem, err := code.NewSources(nil, nil, nil).Resolve(t.Context(), stack)
	if err != nil || problem != nil {
		t.Fatal(problem, err)
	}
	digest, err := sources.Keep(t.Context(), client.ObjectKeyFromObject(stack), found.Archive)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestCollectedArchiveOfInlineCodeIsCreatedAgain(t *testing.T) {
	bucket := memoryBucket{}
	sources := source.NewSources(nil, bucket)
	stack := &v1alpha1.Stack{}
	stack.Spec.Source.Inline = map[string]string{"main.tf": ""}
	for range 2 {
		if digest := archived(t, sources, stack); bucket["sources/"+digest] == nil {
			t.Fatalf("archive %s is not in the bucket", digest)
		}
		bucket.deleteAll()
	}
}

func TestCollectedArchiveOfGitIsCreatedAgain(t *testing.T) {
	g := newGitTestEnv(t)
	g.fetch(g.repo)
	g.reconcile()
	counter := &countingBucket{memoryBucket: g.bucket}
	for name, begin := range map[string]func(){
		"remembered":      func() {},
		"after a restart": func() { g.begin(); g.fetch(g.repo) },
	} {
		g.bucket.deleteAll()
		begin()
		g.Sources.Bucket = counter
		twin := g.forStack(g.newGitStack("twin-"+strings.ReplaceAll(name, " ", "-"), g.repo, "net"))
		before := counter.sources
		twin.reconcile()
		if twin.source() != g.source() || g.bucket["sources/"+g.source()] == nil || counter.sources != before+1 {
			t.Errorf("%s: it is %s, was %s, and %d archives were created", name, twin.source(), g.source(),
				counter.sources-before)
		}
	}
}

func TestArchiveOfEqualCodeIsCachedOnce(t *testing.T) {
	counter := &countingBucket{memoryBucket: memoryBucket{}}
	sources := source.NewSources(nil, counter)
	digests := map[string]bool{}
	pack := func(uid types.UID, files map[string]string) {
		t.Helper()
		stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: 3},
			Spec: v1alpha1.StackSpec{Source: v1alpha1.Source{Inline: files}}}
		digests[archived(t, sources, stack)] = true
	}
	for _, uid := range []types.UID{"a", "b", "c"} {
		pack(uid, map[string]string{"main.tf": "# code", "b.tf": ""})
	}
	if counter.sources != 1 || len(digests) != 1 {
		t.Errorf("equal code has %d archives, written %d times", len(digests), counter.sources)
	}
	for _, other := range []map[string]string{{"main.tf": "# other", "b.tf": ""}, {"main.tf": "# code"},
		{"main.tf": "", "b.tf": "# code"}, {"main.tf": "# code", "c.tf": ""}} {
		pack("a", other)
	}
	if counter.sources != 5 || len(digests) != 5 {
		t.Errorf("five versions of the code have %d archives, written %d times", len(digests), counter.sources)
	}
}
