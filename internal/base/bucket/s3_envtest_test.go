//go:build envtest

package bucket

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"gocloud.dev/blob"

	"cairn.dev/cairn/test/s3"
)

// newS3 is a server, and the environment has credentials for it.
func newS3(t *testing.T) *s3.Server {
	t.Helper()
	server, err := s3.New(t.Context(), "127.0.0.1", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return server
}

func makeBucket(t *testing.T, server *s3.Server, name string) string {
	t.Helper()
	if err := server.MakeBucket(name); err != nil {
		t.Fatal(err)
	}
	return server.URL(name)
}

func TestContractOfS3(t *testing.T) {
	server, buckets := newS3(t), 0
	contract(t, func(t *testing.T) string {
		buckets++
		return makeBucket(t, server, fmt.Sprintf("bucket-%d", buckets))
	})
	t.Run("in a part of a bucket", func(t *testing.T) {
		whole := makeBucket(t, server, "shared")
		contract(t, func(*testing.T) string {
			buckets++
			return whole + fmt.Sprintf("&prefix=install-%d/", buckets)
		})
	})
}

func TestS3ObjectsAreEncrypted(t *testing.T) {
	server := newS3(t)
	b := open(t, makeBucket(t, server, "cairn"), newKeys(t))
	canary := "canary-9c1e"
	if err := b.Put(t.Context(), "plans/ns/uid/one", []byte(strings.Repeat(canary, 100))); err != nil {
		t.Fatal(err)
	}
	if _, err := b.PutHashed(t.Context(), "plans/ns/uid", strings.NewReader(strings.Repeat(canary, 300_000)),
		1<<30); err != nil {
		t.Fatal(err)
	}
	kept := files(t, filepath.Join(server.Dir, "cairn"))
	if len(kept) != 2 {
		t.Errorf("kept %v", kept)
	}
	for _, name := range kept {
		data, err := os.ReadFile(filepath.Join(server.Dir, "cairn", name))
		if err != nil || bytes.Contains(data, []byte(canary)) {
			t.Errorf("%s holds the text in clear, or cannot be read: %v", name, err)
		}
	}
}

// Cairn does not order writes by conditional writes alone, but the server must reject one that would be lost.
func TestServerRejectsAConditionalWrite(t *testing.T) {
	b := open(t, makeBucket(t, newS3(t), "cairn"), newKeys(t))
	if err := b.blobs.WriteAll(t.Context(), "a", []byte("first"), &blob.WriterOptions{IfNotExist: true}); err != nil {
		t.Fatal(err)
	}
	if err := b.blobs.WriteAll(t.Context(), "a", []byte("second"), &blob.WriterOptions{IfNotExist: true}); err == nil {
		t.Error("written over")
	}
	if got := sealed(t, b, "a"); string(got) != "first" {
		t.Errorf("it is %q now", got)
	}
}

func TestErrorsOfABucketNameTheRemedy(t *testing.T) {
	server := newS3(t)
	makeBucket(t, server, "cairn")
	for name, c := range map[string]struct {
		bucket, secret string
		want           error
	}{
		"it is not there":        {bucket: "other", secret: server.SecretKey, want: ErrNoBucket},
		"the key is another one": {bucket: "cairn", secret: "canary-51d0", want: ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_SECRET_ACCESS_KEY", c.secret)
			b := open(t, server.URL(c.bucket), newKeys(t))
			registry := prometheus.NewRegistry()
			b.Measure(NewMetrics(registry))
			_, read := b.Get(t.Context(), "a", 1)
			_, list := b.List(t.Context(), "a")
			_, first := First(t.Context(), server.URL(c.bucket))
			_, hashed := b.PutHashed(t.Context(), "a", bytes.NewReader(make([]byte, 8<<20)), 1<<30)
			if hashed == nil || errors.Is(hashed, ErrNotFound) { // the server may hang up on what is still being sent
				t.Errorf("a large write: %v", hashed)
			}
			for what, err := range map[string]error{
				"reachable": b.Reachable(t.Context()), "reachable, asked again": b.Reachable(t.Context()),
				"write": b.Put(t.Context(), "a", nil), "read": read, "list": list, "first": first,
			} {
				if !errors.Is(err, c.want) || errors.Is(err, ErrNotFound) {
					t.Errorf("%s: %v", what, err)
				}
				if err != nil && strings.Contains(err.Error(), c.secret) {
					t.Errorf("%s: the secret key is in %v", what, err)
				}
			}
			for what, n := range counted(t, registry) {
				if strings.HasSuffix(what, "Missing") && n > 0 {
					t.Errorf("%v of %s: no alert fires", n, what)
				}
			}
		})
	}
}

// killing kills a server when so much was read.
type killing struct {
	after  int
	server *s3.Server
}

func (k *killing) Read(p []byte) (int, error) {
	if k.after <= 0 {
		k.server.Kill()
		return 0, io.EOF
	}
	n := min(len(p), k.after)
	k.after -= n
	return n, nil
}

func TestServerThatDiesDuringAWriteStoresNothing(t *testing.T) {
	server := newS3(t)
	b := open(t, makeBucket(t, server, "cairn"), newKeys(t))
	if err := b.Put(t.Context(), "states/ns/net/1", []byte("old")); err != nil {
		t.Fatal(err)
	}
	if err := b.PutFrom(t.Context(), "states/ns/net/1", &killing{after: 12 << 20, server: server}); err == nil {
		t.Fatal("a write that the server did not live to see went well")
	}
	if err := b.Reachable(t.Context()); err == nil {
		t.Error("a server that is gone can be reached")
	}
	if _, err := b.Get(t.Context(), "states/ns/net/1", 10); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("a server that is gone is taken for an object that is not there: %v", err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Get(t.Context(), "states/ns/net/1", 10); err != nil || string(got) != "old" {
		t.Errorf("got %q, %v", got, err)
	}
	// The same bucket goes on without being opened anew.
	if err := b.Put(t.Context(), "states/ns/net/1", []byte("new")); err != nil {
		t.Error(err)
	}
	if keys, err := b.List(t.Context(), "states"); err != nil || len(keys) != 1 {
		t.Errorf("kept: %v %v", keys, err)
	}
	if err := b.Reachable(t.Context()); err != nil {
		t.Error(err)
	}
}

// front is a server before a server of S3: meet is called for each request, before it is passed on when it says so. It
// gives the URL of the bucket cairn.
func front(t *testing.T, server *s3.Server, meet func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	to, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host // the signature has the host that was asked
	}}
	before := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if meet(w, r) {
			pass.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(before.Close)
	return s3.URL(before.URL, "cairn")
}

func TestThrottledRequestIsRetried(t *testing.T) {
	server := newS3(t)
	makeBucket(t, server, "cairn")
	var asked atomic.Int32
	b := open(t, front(t, server, func(w http.ResponseWriter, _ *http.Request) bool {
		if asked.Add(1)%2 == 0 {
			return true
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w,
			`<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`)
		return false
	}), newKeys(t))
	if err := b.Put(t.Context(), "a/b", []byte("x")); err != nil {
		t.Error(err)
	}
	if got, err := b.Get(t.Context(), "a/b", 10); err != nil || string(got) != "x" {
		t.Errorf("got %q, %v", got, err)
	}
	if asked.Load() != 4 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// The object is old, and about to be deleted, when another process is about to reference it.
func TestObjectThatIsReferencedDuringItsDeletionExistsAfterwards(t *testing.T) {
	for name, use := range map[string]func(b *Bucket) error{
		"put once": func(b *Bucket) error { return b.PutOnce(t.Context(), "sources/a", []byte("x")) },
		"renewed, or else put": func(b *Bucket) error {
			err := b.Renew(t.Context(), "sources/a")
			if errors.Is(err, ErrNotFound) {
				err = b.PutOnce(t.Context(), "sources/a", []byte("x"))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := newS3(t)
			makeBucket(t, server, "cairn")
			deleting, named := make(chan struct{}), make(chan struct{})
			b := open(t, front(t, server, func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodDelete {
					close(deleting)
					select {
					case <-named: // nothing kept it from being named now: it is deleted all the same
					case <-time.After(500 * time.Millisecond):
					}
				}
				return true
			}), newKeys(t))
			b.RenewAfter(24 * time.Hour)
			if err := b.Put(t.Context(), "sources/a", []byte("x")); err != nil {
				t.Fatal(err)
			}
			makeOlder(t, filepath.Join(server.Dir, "cairn", "sources", "a"), 49*time.Hour)
			swept := make(chan error)
			go func() {
				_, err := b.DeleteOlder(t.Context(), "sources/a", time.Now().Add(-48*time.Hour))
				swept <- err
			}()
			<-deleting
			err := use(b)
			close(named)
			if err := errors.Join(err, <-swept); err != nil {
				t.Fatal(err)
			}
			if got, err := b.Get(t.Context(), "sources/a", 10); err != nil || string(got) != "x" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
