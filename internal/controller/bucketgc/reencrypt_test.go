package bucketgc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"cairn.dev/cairn/internal/base/bucket"
)

// rotation is a bucket in a folder with objects of an old key, while there is a new one.
type rotation struct {
	*Reencrypter
	t             *testing.T
	dir           string
	before, after bucket.Keys
	keys          atomic.Pointer[bucket.Keys]
	// asked is called for each use of the keys.
	asked   func()
	retired int
	log     bytes.Buffer
}

func newRotation(t *testing.T) *rotation {
	t.Helper()
	var ids []string
	for range 2 {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id.String())
	}
	r := &rotation{t: t, dir: t.TempDir()}
	keysOf := func(identities ...string) bucket.Keys {
		keys, err := bucket.NewKeys(identities...)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	r.before, r.after = keysOf(ids[0]), keysOf(ids[1])
	both := keysOf(ids[1], ids[0])
	r.keys.Store(&both)
	b := r.open(both)
	b.Follow(func() bucket.Keys {
		if r.asked != nil {
			r.asked()
		}
		return *r.keys.Load()
	}, func(context.Context) error { return nil })
	r.Reencrypter = &Reencrypter{Bucket: b, Log: slog.New(slog.NewTextHandler(&r.log, nil)),
		Retire: func(_ context.Context, keys bucket.Keys) error {
			if !keys.Equal(both) {
				t.Error("other keys")
			}
			r.retired++
			return nil
		}}
	return r
}

func (r *rotation) open(keys bucket.Keys) *bucket.Bucket {
	r.t.Helper()
	b, err := bucket.Open(r.t.Context(), "file://"+r.dir, keys)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { b.Close() })
	return b
}

// puts writes objects with the old key.
func (r *rotation) puts(n int) {
	r.t.Helper()
	b := r.open(r.before)
	for i := range n {
		if err := b.Put(r.t.Context(), fmt.Sprintf("logs/ns/uid/1/%03d", i), fmt.Append(nil, i)); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rotation) pass(want Reencrypted) {
	r.t.Helper()
	got, err := r.Pass(r.t.Context(), r.Bucket.Keys().Old())
	if err != nil || got.Err != nil {
		r.t.Fatal(err, got.Err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Error(diff)
	}
}

// readable checks the objects of puts with the new key alone.
func (r *rotation) readable(n int) {
	r.t.Helper()
	b := r.open(r.after)
	for i := range n {
		got, err := b.Get(r.t.Context(), fmt.Sprintf("logs/ns/uid/1/%03d", i), 10)
		if err != nil || string(got) != fmt.Sprint(i) {
			r.t.Errorf("%d: %q, %v", i, got, err)
		}
	}
}

func TestReencryptionContinuesAfterAnInterruption(t *testing.T) {
	r := newRotation(t)
	r.puts(100)
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int32
	r.asked = func() {
		if asked.Add(1) == 60 {
			cancel()
		}
	}
	first, err := r.Pass(ctx, r.Bucket.Keys().Old())
	if !errors.Is(err, context.Canceled) || first.Written == 0 || first.Written >= 100 {
		t.Fatalf("%+v, %v", first, err)
	}
	r.asked = nil
	second, err := r.Pass(t.Context(), r.Bucket.Keys().Old())
	if err != nil || second.Written == 0 || second.Written > 100-first.Written || second.Current+second.Written != 100 {
		t.Fatalf("%+v after %+v, %v", second, first, err)
	}
	r.pass(Reencrypted{Current: 100})
	r.readable(100)
}

func TestObjectsThatCannotBeReadAreNamed(t *testing.T) {
	r := newRotation(t)
	r.puts(3)
	foreign := newRotation(t)
	if err := r.open(foreign.after).Put(t.Context(), "plans/ns/uid/foreign", nil); err != nil {
		t.Fatal(err)
	}
	damage := filepath.Join(r.dir, "logs", "ns", "uid", "1", "001")
	data, err := os.ReadFile(damage)
	if err == nil {
		err = os.WriteFile(damage, data[:len(data)-1], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Pass(t.Context(), r.Bucket.Keys().Old())
	if err != nil || got.Written != 2 || got.Unreadable != 2 || len(got.Named) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestOldKeyIsRetiredOnceNoObjectHasIt(t *testing.T) {
	r := newRotation(t)
	r.Metrics = NewMetrics(prometheus.NewRegistry())
	r.puts(3)
	began := time.Now()
	step := func(after time.Duration, retired int, left float64) {
		t.Helper()
		r.Step(t.Context(), began.Add(after))
		if r.retired != retired {
			t.Errorf("after %s: retired %d times", after, r.retired)
		}
		if got := testutil.ToFloat64(r.Metrics.oldIdentities); got != left {
			t.Errorf("after %s: %v old identities", after, got)
		}
	}
	step(0, 0, 1)
	step(time.Minute, 0, 1) // another process may write with the old key still
	r.puts(1)
	step(settled, 0, 1) // that was one of the old key
	step(settled+time.Minute, 1, 1)
	r.readable(3)
	r.keys.Store(&r.after)
	step(settled+2*time.Minute, 1, 0)
	if got := testutil.ToFloat64(r.Metrics.reencryption.WithLabelValues("current")); got != 3 {
		t.Errorf("%v objects", got)
	}
	if !strings.Contains(r.log.String(), "no object of the bucket is encrypted with an old identity") {
		t.Error(r.log.String())
	}
}

func TestOldKeyIsUsedWhileTheBucketFails(t *testing.T) {
	r := newRotation(t)
	r.puts(1)
	if err := r.Bucket.Close(); err != nil {
		t.Fatal(err)
	}
	r.Step(t.Context(), time.Now())
	r.Step(t.Context(), time.Now().Add(2*settled))
	if r.retired != 0 || !strings.Contains(r.log.String(), "it is retried") {
		t.Error(r.retired, r.log.String())
	}
}
