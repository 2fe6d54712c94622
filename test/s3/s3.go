// Package s3 runs a real server of S3, for tests.
package s3

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"cairn.dev/cairn/dev/ports"
	"cairn.dev/cairn/dev/tools"
)

// Region that the server says it is in.
const Region = "us-east-1"

// A Server keeps its buckets as folders, and its objects as files in them. It can be killed and started again.
type Server struct {
	// Endpoint is its address. Example: http://127.0.0.1:7070.
	Endpoint string
	// AccessKey and SecretKey are of somebody who may do anything.
	AccessKey, SecretKey string
	// Dir has a folder for each bucket.
	Dir string

	mu      sync.Mutex
	command *exec.Cmd
	ended   chan struct{}
}

// starts is how long the server may take until it answers.
const starts = 30 * time.Second

// New starts a server at a host of this machine, which keeps what it has below dir. Kill ends it.
func New(ctx context.Context, host, dir string) (*Server, error) {
	address, err := ports.Free(ctx, host)
	if err != nil {
		return nil, err
	}
	s := &Server{Endpoint: "http://" + address, AccessKey: "test-" + rand.Text(), SecretKey: rand.Text(),
		Dir: filepath.Join(dir, "buckets")}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	return s, s.Start(ctx)
}

// MakeBucket makes an empty one.
func (s *Server) MakeBucket(name string) error { return os.Mkdir(filepath.Join(s.Dir, name), 0o700) }

// URL of a bucket, as Cairn takes it.
func (s *Server) URL(bucket string) string { return URL(s.Endpoint, bucket) }

// URL of a bucket at an endpoint.
func URL(endpoint, bucket string) string {
	q := url.Values{"endpoint": {endpoint}, "use_path_style": {"true"}, "region": {Region}}
	return (&url.URL{Scheme: "s3", Host: bucket, RawQuery: q.Encode()}).String()
}

// Start starts it, again if it was killed, with what it has kept. It returns when the server answers.
func (s *Server) Start(ctx context.Context) error {
	program, err := tools.Path("versitygw")
	if err != nil {
		return err
	}
	address, err := url.Parse(s.Endpoint)
	if err != nil {
		return err
	}
	// ETags are extended attributes of the objects' files. In files of their own (--sidecar) they would change before
	// the objects do, and a write with If-Match could replace an object that its reader has not seen.
	command := exec.CommandContext(context.WithoutCancel(ctx), program,
		"--quiet", "--region", Region, "--health", "/health", "--port", address.Host, "posix", s.Dir)
	command.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID="+s.AccessKey, "ROOT_SECRET_ACCESS_KEY="+s.SecretKey)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = command.Wait() // it is killed
		close(ended)
	}()
	s.mu.Lock()
	s.command, s.ended = command, ended
	s.mu.Unlock()
	if err := s.answers(ctx, ended); err != nil {
		s.Kill()
		return err
	}
	return nil
}

// answers waits until the server does.
func (s *Server) answers(ctx context.Context, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, starts)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		ask, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint+"/health", http.NoBody)
		if err != nil {
			return err
		}
		if answer, err := http.DefaultClient.Do(ask); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-again.C:
		case <-ended:
			return fmt.Errorf("the S3 server at %s ended", s.Endpoint)
		case <-ctx.Done():
			return fmt.Errorf("the S3 server at %s does not answer: %w", s.Endpoint, ctx.Err())
		}
	}
}

// Kill ends it, with no time for anything. It returns when it is gone.
func (s *Server) Kill() {
	s.mu.Lock()
	command, ended := s.command, s.ended
	s.mu.Unlock()
	if command == nil {
		return
	}
	_ = command.Process.Kill() // it may be gone
	<-ended
}

// Pid is the server's process; 0 when it does not run.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.command == nil || s.command.Process == nil {
		return 0
	}
	return s.command.Process.Pid
}
