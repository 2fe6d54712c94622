package bucketgc

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket/buckettest"
	"cairn.dev/cairn/internal/controller/inputs"
)

// objects are what the cache has.
type objects struct {
	client.Reader
	all []runtime.Object
	err error
	// listed is called for each list.
	listed func()
}

func (o *objects) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if o.listed != nil {
		o.listed()
	}
	var of []runtime.Object
	for _, one := range o.all {
		_, stack := one.(*v1alpha1.Stack)
		_, run := one.(*v1alpha1.Run)
		_, state := one.(*v1alpha1.State)
		switch list.(type) {
		case *v1alpha1.StackList:
			if stack {
				of = append(of, one)
			}
		case *v1alpha1.RunList:
			if run {
				of = append(of, one)
			}
		case *v1alpha1.StateList:
			if state {
				of = append(of, one)
			}
		}
	}
	return errors.Join(o.err, meta.SetList(list, of))
}

// fixture is a collector of a bucket in a folder.
type fixture struct {
	*Collector
	t      *testing.T
	dir    string
	cache  *objects
	digest map[string]string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dir := t.TempDir()
	b := buckettest.Open(t, "file://"+dir)
	const week = 7 * 24 * time.Hour
	b.RenewAfter(RenewAfter(week))
	cache := &objects{}
	return &fixture{&Collector{Live: cache, Bucket: b, After: week, Log: slog.New(slog.DiscardHandler)}, t, dir, cache,
		map[string]string{}}
}

// keeps puts code, its closure and a document of inputs with it into the bucket, of an age in days. The three share the
// name.
func (r *fixture) keeps(name string, days int) {
	r.t.Helper()
	source := "sha256:code-" + name
	data, digest, err := inputs.Document{Source: source, Path: name}.Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	r.digest[name] = digest
	r.put("inputs/"+digest, data, days)
	r.put("sources/"+source, []byte("archive"), days)
	r.put("closures/sha256:closure-"+name, []byte(source), days)
}

func (r *fixture) put(key string, data []byte, days int) {
	r.t.Helper()
	if err := r.Bucket.Put(r.t.Context(), key, data); err != nil {
		r.t.Fatal(err)
	}
	at := time.Now().Add(-time.Duration(days) * 24 * time.Hour)
	if err := os.Chtimes(filepath.Join(r.dir, key), at, at); err != nil {
		r.t.Fatal(err)
	}
}

// kept returns the folders in which a name still has an object.
func (r *fixture) kept(name string) string {
	var there []string
	for folder, key := range map[string]string{"closures": "sha256:closure-" + name, "inputs": r.digest[name],
		"sources": "sha256:code-" + name} {
		if ok, err := r.Bucket.Exists(r.t.Context(), folder+"/"+key); err != nil {
			r.t.Fatal(err)
		} else if ok {
			there = append(there, folder)
		}
	}
	switch len(there) {
	case 0:
		return "gone"
	case 3:
		return "kept"
	}
	return strings.Join(there, " ")
}

func (r *fixture) stack(name string) *v1alpha1.Stack {
	return &v1alpha1.Stack{Status: v1alpha1.StackStatus{AppliedInputsDigest: r.digest[name]}}
}

func TestUnreferencedObjectsAreDeleted(t *testing.T) {
	r := newFixture(t)
	for _, name := range []string{"stack", "run", "state", "variables", "none"} {
		r.keeps(name, 30)
	}
	r.keeps("new", 6)
	r.put("variables/elsewhere/net/"+r.digest["variables"], nil, 30)
	for _, others := range []string{"plans/ns/uid/sha256:x", "logs/ns/uid/1", "states/ns/net/1-x",
		"rescue/ns/net/sha256:x", "journals/ns/net/x"} {
		r.put(others, nil, 300)
	}
	r.cache.all = []runtime.Object{
		r.stack("stack"), &v1alpha1.Run{Spec: v1alpha1.RunSpec{InputsDigest: r.digest["run"]}},
		&v1alpha1.State{Status: v1alpha1.StateStatus{InputsDigest: r.digest["state"]}},
	}
	collected, err := r.Collect(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"stack": "kept", "run": "kept", "state": "kept", "variables": "kept",
		"new": "kept", "none": "gone"} {
		if got := r.kept(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for folder, f := range collected.Folders {
		if f.Objects != 5 || f.Deleted != 1 || f.Bytes < 5*100 || f.DeletedBytes < 100 {
			t.Errorf("%s: %+v", folder, f)
		}
	}
	for _, folder := range []string{"plans", "logs", "states", "rescue", "journals", "variables"} {
		if keys, err := r.Bucket.List(t.Context(), folder); err != nil || len(keys) != 1 {
			t.Errorf("%s: %v %v", folder, keys, err)
		}
	}
	// The closure that was asked is young now, and is asked no more.
	info, err := os.Stat(filepath.Join(r.dir, "closures", "sha256:closure-stack"))
	if err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("%v %v", info, err)
	}
}

// Two documents have the same code: it is used while one of them is.
func TestSharedCodeIsKept(t *testing.T) {
	r := newFixture(t)
	r.keeps("shared", 30)
	data, digest, err := inputs.Document{Source: "sha256:code-shared", Path: "other"}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	r.put("inputs/"+digest, data, 30)
	r.cache.all = []runtime.Object{&v1alpha1.Stack{Status: v1alpha1.StackStatus{InputsDigest: digest}}}
	if _, err := r.Collect(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(r.kept("shared"), " "); got != 1 {
		t.Errorf("of the one that is used: %s", r.kept("shared"))
	}
}

// An image is built once more from what it was built from, for a destroy or when its registry has lost it.
func TestSourcesOfImagesAreKept(t *testing.T) {
	r := newFixture(t)
	r.keeps("image", 30)
	data, digest, err := inputs.Document{Source: "sha256:code",
		Build: &inputs.Build{Source: "sha256:code-image"}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	r.put("inputs/"+digest, data, 30)
	r.cache.all = []runtime.Object{&v1alpha1.Stack{Status: v1alpha1.StackStatus{AppliedInputsDigest: digest}}}
	if _, err := r.Collect(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if ok, err := r.Bucket.Exists(t.Context(), "sources/sha256:code-image"); err != nil || !ok {
		t.Errorf("what an image is built from is gone: %v", err)
	}
}

func TestNothingIsDeletedAfterAnError(t *testing.T) {
	for name, c := range map[string]struct {
		doubt   func(*fixture)
		skipped bool
	}{
		"when there is no object in Kubernetes": {func(r *fixture) { r.cache.all = nil }, true},
		"when the cache cannot be read":         {func(r *fixture) { r.cache.err = errors.New("stopping") }, false},
		"when a document cannot be read": {func(r *fixture) {
			r.put("inputs/"+r.digest["stack"], []byte("{"), 30)
		}, false},
		"when a document is another installation's": {func(r *fixture) {
			path := filepath.Join(r.dir, "inputs", r.digest["stack"])
			if err := os.WriteFile(path, []byte("age-encryption.org/v1\n"), 0o600); err != nil {
				r.t.Fatal(err)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newFixture(t)
			r.keeps("stack", 30)
			r.keeps("none", 30)
			r.cache.all = []runtime.Object{r.stack("stack")}
			c.doubt(r)
			collected, err := r.Collect(t.Context(), time.Now())
			if (err == nil) != c.skipped || collected.Skipped != c.skipped {
				t.Errorf("%+v, %v", collected, err)
			}
			if got := r.kept("none"); got != "kept" {
				t.Errorf("the unreferenced objects: %s", got)
			}
		})
	}
}

// An object that is referenced after the collector listed the references is renewed, and so not deleted.
func TestObjectReferencedDuringACollectionIsKept(t *testing.T) {
	r := newFixture(t)
	r.keeps("stack", 30)
	r.keeps("again", 30)
	r.cache.all = []runtime.Object{r.stack("stack")}
	r.cache.listed = func() {
		for _, key := range []string{"inputs/" + r.digest["again"], "sources/sha256:code-again"} {
			if err := r.Bucket.Renew(t.Context(), key); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := r.Collect(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := r.kept("again"); !strings.Contains(got, "inputs") || !strings.Contains(got, "sources") {
		t.Errorf("kept: %s", got)
	}
}

// A name moves from a Run to its Stack and State, and the Run goes.
func TestReferenceThatMovesDuringACollectionIsFound(t *testing.T) {
	r := newFixture(t)
	r.keeps("stack", 30)
	r.keeps("moves", 30)
	r.cache.all = []runtime.Object{r.stack("stack"),
		&v1alpha1.Run{Spec: v1alpha1.RunSpec{InputsDigest: r.digest["moves"]}}}
	lists := 0
	r.cache.listed = func() {
		if lists++; lists == 2 {
			r.cache.all = []runtime.Object{r.stack("stack"), r.stack("moves")}
		}
	}
	if _, err := r.Collect(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := r.kept("moves"); got != "kept" {
		t.Errorf("kept: %s", got)
	}
}

// A Stack names its inputs before they are kept, which is when a Run begins.
func TestMissingInputsDoNotStopTheCollection(t *testing.T) {
	r := newFixture(t)
	r.keeps("none", 30)
	r.cache.all = []runtime.Object{&v1alpha1.Stack{Status: v1alpha1.StackStatus{InputsDigest: "sha256:not-yet"}}}
	if _, err := r.Collect(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := r.kept("none"); got != "gone" {
		t.Errorf("the unreferenced objects: %s", got)
	}
}

func TestGarbageCollectionIsLoggedAndCounted(t *testing.T) {
	r := newFixture(t)
	registry := prometheus.NewRegistry()
	var log bytes.Buffer
	r.Metrics, r.Log = NewMetrics(registry), slog.New(slog.NewTextHandler(&log, nil))
	// so that the first that fails is an increase, which an alert sees
	if n := testutil.CollectAndCount(r.Metrics.cycles); n != 3 {
		t.Errorf("%d results are reported before the first collection", n)
	}
	r.once(t.Context())
	r.keeps("stack", 30)
	r.keeps("none", 30)
	r.cache.all = []runtime.Object{r.stack("stack")}
	r.once(t.Context())
	r.cache.err = errors.New("stopping")
	r.once(t.Context())

	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			label := ""
			for _, l := range m.Label {
				label = " " + l.GetValue()
			}
			if name := strings.TrimPrefix(f.GetName(), "cairn_bucket_"); !strings.Contains(name, "bytes") &&
				!strings.Contains(name, "last") {
				got[name+label] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	want := map[string]float64{
		"shared_objects closures": 1, "shared_objects inputs": 1, "shared_objects sources": 1,
		"gc_deleted_objects_total closures": 1, "gc_deleted_objects_total inputs": 1,
		"gc_deleted_objects_total sources": 1,
		"gc_cycles_total success":          1, "gc_cycles_total skipped": 1, "gc_cycles_total failed": 1,
		"old_identities": 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, line := range []string{"of the bucket succeeded\"", "sources.objects=1", "sources.deleted=1",
		"skipped: there is no", "of the bucket failed"} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("%q is not in the log:\n%s", line, log.String())
		}
	}
}

func TestGarbageIsCollectedPeriodically(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var collections atomic.Int32
		s := &Collector{Live: &objects{err: errors.New("away"), listed: func() {
			collections.Add(1)
		}}, Log: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Start(ctx) }()
		for _, at := range []struct {
			wait time.Duration
			want int32
		}{{soon - time.Second, 0}, {soon/2 + time.Minute, 1}, {every - soon, 1}, {every, 2}} {
			time.Sleep(at.wait)
			synctest.Wait()
			if n := collections.Load(); n != at.want {
				t.Errorf("%d collections, want %d", n, at.want)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestTooShortPeriodIsRejected(t *testing.T) {
	for d, ok := range map[time.Duration]bool{0: true, time.Hour: false, -time.Hour: false, MinAfter - 1: false,
		MinAfter: true, 700 * time.Hour: true} {
		if err := CheckAfter(d); (err == nil) != ok {
			t.Errorf("%s: %v", d, err)
		}
	}
}
