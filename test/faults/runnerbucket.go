package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cairn.dev/cairn/test/s3"
)

// buckets injects failures of each write to the bucket of the installation, with the states in it as well: a real S3
// server behind a proxy.
var buckets = suite{name: "bucket", lane: laneOptions{bucket: s3Bucket}, points: bucketPoints}

// mostPuts is more than the number of writes of a story to the bucket. The points after the last one are missed.
const mostPuts = 30

// An s3Door is a proxy between Cairn and its bucket.
type s3Door struct {
	next http.Handler

	mu  sync.Mutex
	on  func(put string, n int, w http.ResponseWriter, take func(http.ResponseWriter)) bool
	all []string
}

var s3Doors sync.Map

// s3Bucket is for laneOptions.bucket.
func s3Bucket(ctx context.Context, l *lane) ([]string, error) {
	server, err := s3.New(ctx, "127.0.0.1", filepath.Join(l.dir, "s3"))
	if err != nil {
		return nil, err
	}
	l.ends = append(l.ends, server.Kill)
	// S3 requires names of three letters at least, and f1 has two.
	if err := server.MakeBucket(l.own); err != nil {
		return nil, err
	}
	target, err := url.Parse(server.Endpoint)
	if err != nil {
		return nil, err
	}
	d := &s3Door{next: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}}
	front := &http.Server{Handler: d, ReadHeaderTimeout: time.Minute}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block on this machine
	if err != nil {
		return nil, err
	}
	go front.Serve(listener) //nolint:errcheck // it ends with the lane
	l.ends = append(l.ends, func() { _ = front.Close() })
	s3Doors.Store(l.space, d)
	if err := l.credentials(server); err != nil {
		return nil, err
	}
	return []string{"--state-storage=Bucket", "--bucket=" + s3.URL("http://"+listener.Addr().String(), l.own) +
		"&profile=" + l.space}, nil
}

var credentials sync.Mutex

// credentials adds those for an S3 server to the file that all of Cairn's processes read, as a profile of the lane.
func (l *lane) credentials(server *s3.Server) error {
	credentials.Lock()
	defer credentials.Unlock()
	file := filepath.Join(l.cluster.dir, "s3-credentials")
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "[%s]\naws_access_key_id = %s\naws_secret_access_key = %s\n", l.space, server.AccessKey,
		server.SecretKey)
	return errors.Join(err, f.Close(), os.Setenv("AWS_SHARED_CREDENTIALS_FILE", file))
}

// ServeHTTP identifies each write by its folder in the bucket.
func (d *s3Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	if r.Method != http.MethodPut || len(parts) < 3 {
		d.next.ServeHTTP(w, r)
		return
	}
	d.mu.Lock()
	d.all = append(d.all, parts[2])
	n, on := len(d.all), d.on
	d.mu.Unlock()
	take := func(w http.ResponseWriter) { d.next.ServeHTTP(w, r) }
	if on == nil || !on(parts[2], n, w, take) {
		take(w)
	}
}

func (d *s3Door) begin(on func(put string, n int, w http.ResponseWriter, take func(http.ResponseWriter)) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.on, d.all = on, nil
}

// nowhere is a response that is dropped.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}

func bucketPoints(b baseline) []point {
	var all []point
	status := func(code int) func(http.ResponseWriter, func(http.ResponseWriter)) {
		return func(w http.ResponseWriter, _ func(http.ResponseWriter)) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, "<Error><Code>Injected</Code><Message>the bucket is configured to reject "+
				"this</Message></Error>")
		}
	}
	for k := range mostPuts {
		for _, f := range []struct {
			name  string
			times int
			do    func(w http.ResponseWriter, take func(http.ResponseWriter))
		}{
			{"500", 1, status(http.StatusInternalServerError)},
			{"503, ten times", 10, status(http.StatusServiceUnavailable)}, // more than the retries of the S3 client
			{"507", 1, status(http.StatusInsufficientStorage)},
			{"cut after it is taken", 1, func(_ http.ResponseWriter, take func(http.ResponseWriter)) {
				take(nowhere{http.Header{}})
				panic(http.ErrAbortHandler)
			}},
		} {
			all = append(all, point{name: fmt.Sprintf("write #%d: %s", k+1, f.name), fault: f.name,
				try: func(ctx context.Context, l *lane) (bool, error) {
					found, _ := s3Doors.Load(l.space)
					d := found.(*s3Door)
					var times atomic.Int32
					var folder atomic.Pointer[string]
					d.begin(func(put string, n int, w http.ResponseWriter, take func(http.ResponseWriter)) bool {
						if n == k+1 {
							folder.Store(&put)
						}
						// Other writes may come between: those of the same folder fail, as often as required.
						if at := folder.Load(); at == nil || *at != put || int(times.Add(1)) > f.times {
							return false
						}
						f.do(w, take)
						return true
					})
					err := l.alike(ctx, b, stories[0], hooks{}, stateless)
					if at := folder.Load(); err != nil && at != nil {
						err = fmt.Errorf("a write of %s: %w", *at, err)
					}
					return folder.Load() != nil, err
				}})
		}
	}
	return all
}

// stateless removes what the ending has of the state, which is encrypted in the bucket.
func stateless(all []ending) []ending {
	all = slices.Clone(all)
	for i := range all {
		all[i].State = nil
	}
	return all
}
