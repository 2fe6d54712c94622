package inventory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/server/listing"
	"cairn.dev/cairn/internal/server/tenant"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/document"
	"cairn.dev/cairn/internal/userapi"
)

// stored has the indexes of a bucket, and the states themselves.
type stored struct {
	mu       sync.Mutex
	inBucket map[string]document.Index
	current  map[string]document.Index
	reads    []string
	err      error
}

func (s *stored) Index(_ context.Context, key types.NamespacedName, sha256 string) (document.Index, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads = append(s.reads, "index "+key.Name)
	index, ok := s.inBucket[key.Name]
	if !ok || index.SHA256 != sha256 {
		return document.Index{}, state.ErrNone
	}
	return index, nil
}

func (s *stored) Reindex(_ context.Context, key types.NamespacedName) (document.Index, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads = append(s.reads, "state "+key.Name)
	if s.err != nil {
		return document.Index{}, s.err
	}
	index, ok := s.current[key.Name]
	if !ok {
		return index, state.ErrNone
	}
	s.inBucket[key.Name] = index
	return index, nil
}

func (s *stored) take() []string {
	reads := s.reads
	s.reads = nil
	slices.Sort(reads)
	return reads
}

func indexOf(sha256, name string, keys ...string) document.Index {
	r := document.IndexedResource{Type: "t", Name: name, Provider: "x/y"}
	for _, key := range keys {
		r.Instances = append(r.Instances, document.IndexedInstance{Key: key})
	}
	return document.Index{SHA256: sha256, Resources: []document.IndexedResource{r}}
}

func rowOf(name, sha256 string, resources int32) userapi.State {
	return userapi.State{
		Object: userapi.Object{Namespace: "ns", Name: name}, Version: 1, SHA256: sha256, Resources: resources,
		Size: 100,
	}
}

type fixture struct {
	*testing.T
	*stored
	shelf *listing.Shelf
	*Inventory
	version uint64
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{T: t, stored: &stored{inBucket: map[string]document.Index{}, current: map[string]document.Index{}}}
	catalog := listing.NewCatalog()
	f.shelf = catalog.Shelf(kinds.States)
	f.Inventory = New(f.stored, catalog, tenant.NewSemaphore(1000, 1000, 10), slog.New(slog.DiscardHandler))
	return f
}

func all(s *listing.Shelf) []*userapi.State {
	return kinds.Typed[userapi.State](s.All(func(string) bool { return true }))
}

func (f *fixture) put(row userapi.State) {
	f.version++
	f.shelf.Put(row.Namespace, row.Name, f.version, &row)
}

func (f *fixture) lists(want ...string) userapi.MissingResources {
	f.Helper()
	rows, missing, err := f.Rows(f.Context(), all(f.shelf))
	if err != nil {
		f.Fatal(err)
	}
	got := []string{}
	for r := range rows {
		got = append(got, r.Stack+" "+r.Address)
	}
	slices.Sort(got)
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		f.Error(diff)
	}
	return missing
}

func (f *fixture) reads(want ...string) {
	f.Helper()
	if diff := cmp.Diff(want, f.take()); diff != "" {
		f.Error(diff)
	}
}

func TestIndexesAreReadOnceForEachVersion(t *testing.T) {
	f := newFixture(t)
	f.put(rowOf("a", "1", 2))
	f.inBucket["a"] = indexOf("1", "n", "[2]", "[10]")
	f.put(rowOf("empty", "1", 0))
	f.lists("a t.n[10]", "a t.n[2]")
	f.reads("index a")
	f.lists("a t.n[10]", "a t.n[2]")
	f.reads()

	f.put(rowOf("a", "2", 1)) // written by another server
	f.inBucket["a"] = indexOf("2", "m", "")
	f.lists("a t.m")
	f.reads("index a")

	f.shelf.Remove("ns", "a", 100)
	f.lists()
	f.put(rowOf("b", "1", 1))
	f.inBucket["b"] = indexOf("1", "n", "")
	f.lists("b t.n")
	if len(f.kept) != 1 || f.held != f.kept[types.NamespacedName{Namespace: "ns", Name: "b"}].size() {
		t.Errorf("%d kept, %d bytes", len(f.kept), f.held)
	}
}

func TestANewVersionTakesTheMemoryOfTheOldOne(t *testing.T) {
	f := newFixture(t)
	f.put(rowOf("a", "1", 1))
	f.inBucket["a"] = indexOf("1", "n", "[0]")
	f.lists("a t.n[0]")
	f.most = f.held
	f.put(rowOf("a", "2", 1))
	f.inBucket["a"] = indexOf("2", "n", "[1]")
	if missing := f.lists("a t.n[1]"); missing != (userapi.MissingResources{}) {
		t.Errorf("missing %+v", missing)
	}
}

func TestAStateWithoutAnIndexIsRead(t *testing.T) {
	f := newFixture(t)
	f.put(rowOf("old", "1", 1)) // from before there were indexes
	f.current["old"] = indexOf("1", "n", "")
	f.put(rowOf("late", "2", 1)) // the index of an older version overtook its own
	f.inBucket["late"] = indexOf("1", "m", "")
	f.current["late"] = indexOf("2", "m", "[0]")
	f.lists("late t.m[0]", "old t.n")
	f.reads("index late", "index old", "state late", "state old")
	f.lists("late t.m[0]", "old t.n")
	f.reads()
}

func TestMissingStatesAreCounted(t *testing.T) {
	f := newFixture(t)
	f.put(rowOf("encrypted", "1", document.Unknown))
	f.put(rowOf("deleted", "1", 1))
	f.put(rowOf("cut", "1", 2))
	cut := indexOf("1", "n", "[0]")
	cut.Omitted = 1
	f.inBucket["cut"] = cut
	if missing := f.lists("cut t.n[0]"); missing != (userapi.MissingResources{Encrypted: 1, Cut: 1}) {
		t.Errorf("%+v", missing)
	}
	f.err = errors.New("damaged")
	if missing := f.lists("cut t.n[0]"); missing != (userapi.MissingResources{Encrypted: 1, Cut: 1, Unreadable: 1}) {
		t.Errorf("%+v", missing)
	}
	f.most = f.held
	if missing := f.lists("cut t.n[0]"); missing != (userapi.MissingResources{Encrypted: 1, Cut: 1, Omitted: 1}) {
		t.Errorf("%+v", missing)
	}
}

func TestAnotherRequestThatReadsIsPending(t *testing.T) {
	f := newFixture(t)
	f.put(rowOf("a", "1", 1))
	f.inBucket["a"] = indexOf("1", "n", "")
	if !f.reading.TryAcquire(1) {
		t.Fatal("it is held")
	}
	if missing := f.lists(); missing != (userapi.MissingResources{Pending: 1}) {
		t.Errorf("%+v", missing)
	}
	f.reading.Release(1)
	if missing := f.lists("a t.n"); missing != (userapi.MissingResources{}) {
		t.Errorf("%+v", missing)
	}
}

// All requests that list resources wait for the one that reads indexes, which must not wait for a namespace whose
// requests hold all memory.
func TestAStateThatWaitsForMemoryIsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.put(rowOf("a", "1", 1))
		f.current["a"] = indexOf("1", "n", "")
		free, err := f.budget.Acquire(t.Context(), "ns", 1000)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if missing := f.lists(); missing != (userapi.MissingResources{Pending: 1}) || time.Since(began) > patience {
			t.Errorf("%+v after %s", missing, time.Since(began))
		}
		free()
		if missing := f.lists("a t.n"); missing != (userapi.MissingResources{}) {
			t.Errorf("%+v", missing)
		}
	})
}

func TestCompactHasAllOfAnIndex(t *testing.T) {
	long := strings.Repeat("k", 300)
	index := document.Index{SHA256: "1", Resources: []document.IndexedResource{
		{Type: "aws_a", Name: "x", Provider: "p/one", Instances: []document.IndexedInstance{{}, {Deposed: "0a1b"}}},
		{Module: `module.m["a.b"]`, Type: "aws_a", Name: "x", Provider: "p/two", Instances: []document.IndexedInstance{
			{Key: "[2]", Tainted: true}, {Key: "[10]"}, {Key: `["` + long + `"]`, Tainted: true, Deposed: "1"},
		}},
		{Type: "b", Name: "y", Provider: "p/one", Instances: []document.IndexedInstance{{Key: "[0]"}}},
	}}
	var got []userapi.Resource
	pack(index).rows("ns", "s", func(r *userapi.Resource) bool { got = append(got, *r); return true })
	row := func(module, kind, address, provider, deposed string, tainted bool) userapi.Resource {
		return userapi.Resource{
			Namespace: "ns", Stack: "s", Address: address, Type: kind, Module: module, Provider: provider,
			Deposed: deposed,
			Tainted: tainted,
		}
	}
	const m = `module.m["a.b"]`
	want := []userapi.Resource{
		row("", "aws_a", "aws_a.x", "p/one", "", false), row("", "aws_a", "aws_a.x", "p/one", "0a1b", false),
		row(m, "aws_a", m+".aws_a.x[2]", "p/two", "", true), row(m, "aws_a", m+".aws_a.x[10]", "p/two", "", false),
		row(m, "aws_a", m+`.aws_a.x["`+long+`"]`, "p/two", "1", true), row("", "b", "b.y[0]", "p/one", "", false),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPagesOfResources(t *testing.T) {
	f := newFixture(t)
	for _, stack := range []string{"b", "a"} {
		f.put(rowOf(stack, "1", 3))
		f.inBucket[stack] = indexOf("1", "n", "[2]", "[10]", "[1]")
	}
	var got []string
	query := url.Values{"limit": {"2"}, "sort": {"address"}, "type": {"t"}, "q": {"N["}}
	for {
		rows, _, err := f.Rows(t.Context(), all(f.shelf))
		if err != nil {
			t.Fatal(err)
		}
		page, err := listing.Resources.PageOf(rows, query)
		if err != nil || page.Total != 6 {
			t.Fatalf("%d rows, %v", page.Total, err)
		}
		for _, r := range page.Items {
			got = append(got, r.Stack+" "+r.Address)
		}
		if page.Next == "" {
			break
		}
		query.Set("after", page.Next)
	}
	want := []string{"a t.n[1]", "b t.n[1]", "a t.n[2]", "b t.n[2]", "a t.n[10]", "b t.n[10]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkRows has 10,000 Stacks with 50 resources each.
func BenchmarkRows(b *testing.B) {
	const stacks, each = 10_000, 50
	s := &stored{inBucket: map[string]document.Index{}}
	catalog := listing.NewCatalog()
	shelf := catalog.Shelf(kinds.States)
	v := New(s, catalog, nil, slog.New(slog.DiscardHandler))
	var before, after runtime.MemStats
	for n := range stacks {
		row := rowOf(fmt.Sprintf("stack-%d", n), fmt.Sprintf("sha256:%064d", n), each)
		shelf.Put("ns", row.Name, 1, &row)
	}
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, st := range all(shelf) {
		v.keep(keyOf(st), pack(usual(st.SHA256)))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	for name, query := range map[string]url.Values{
		"first": {}, "by address": {"sort": {"-address"}}, "search": {"q": {"private eu-west"}},
		"type": {"type": {"aws_route_table"}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rows, _, err := v.Rows(b.Context(), all(shelf))
				if err != nil {
					b.Fatal(err)
				}
				if page, err := listing.Resources.PageOf(rows, query); err != nil || len(page.Items) == 0 {
					b.Fatal(page.Total, err)
				}
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/stacks/each, "B/resource")
		})
	}
	if v.held*2 < int(after.HeapAlloc-before.HeapAlloc) {
		b.Errorf("%d bytes are counted of %d", v.held, after.HeapAlloc-before.HeapAlloc)
	}
}

// usual is the index of a usual state with 50 resources.
func usual(sha256 string) document.Index {
	index := document.Index{SHA256: sha256}
	add := func(module, kind, name string, keys ...string) {
		r := document.IndexedResource{
			Module: module, Type: kind, Name: name, Provider: "registry.opentofu.org/hashicorp/aws",
		}
		for _, key := range keys {
			r.Instances = append(r.Instances, document.IndexedInstance{Key: key})
		}
		index.Resources = append(index.Resources, r)
	}
	zones := []string{`["eu-west-1a"]`, `["eu-west-1b"]`, `["eu-west-1c"]`}
	for _, kind := range []string{"aws_subnet", "aws_route_table", "aws_route_table_association", "aws_route"} {
		for _, name := range []string{"public", "private"} {
			add("module.network", kind, name, zones...)
		}
	}
	for _, kind := range []string{
		"aws_vpc", "aws_internet_gateway", "aws_flow_log", "aws_security_group", "aws_kms_key", "aws_iam_role",
	} {
		add("module.network", kind, "this", "")
		add(`module.service["api"]`, kind, "this", "")
		add(`module.service["worker"]`, kind, "this", "")
	}
	for _, kind := range []string{
		"aws_s3_bucket", "aws_s3_bucket_policy", "aws_s3_bucket_versioning", "aws_s3_bucket_public_access_block",
	} {
		add("", kind, "logs", "")
		add("", kind, "data", "")
	}
	return index
}
