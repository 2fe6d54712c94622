//go:build gitea

package gitea

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// front is a proxy between Cairn and Gitea, which can fail.
type front struct {
	URL string

	mu sync.Mutex
	// fault handles one request in place of the proxy, and is removed then. It returns false for a request that it
	// passes on.
	fault func(w http.ResponseWriter, r *http.Request, forward func()) bool
}

func newFront(t *testing.T, gitea string) *front {
	t.Helper()
	target, err := url.Parse(gitea)
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	f := &front{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		forward := func() { proxy.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(r.Context()))) }
		if fault := f.take(); fault == nil {
			proxy.ServeHTTP(w, r)
		} else if !fault(w, r, forward) {
			f.fail(fault)
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	f.URL = server.URL
	return f
}

type fault = func(w http.ResponseWriter, r *http.Request, forward func()) bool

func (f *front) fail(with fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = with
}

func (f *front) take() fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := f.fault
	f.fault = nil
	return taken
}

// killOperator kills the operator, which is started again.
func (f *fixture) killOperator() {
	data, err := os.ReadFile(filepath.Join(f.Data, "operator.pid"))
	must(f.T, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	must(f.T, err)
	must(f.T, syscall.Kill(pid, syscall.SIGKILL))
}

// Cairn is killed before and after each kind of request to Gitea: each pull request ends with one comment and right
// statuses.
func TestKilledAroundEachRequest(t *testing.T) {
	f := newFixture(t, nil)
	for i, tt := range []struct {
		method, path string
		// received: Gitea receives the request.
		received bool
	}{
		{"POST", "/comments", false}, {"POST", "/comments", true}, {"PATCH", "/comments/", true},
		{"POST", "/statuses/", true},
	} {
		branch := fmt.Sprintf("change-%d", i)
		killed := make(chan struct{})
		f.front.fail(func(_ http.ResponseWriter, r *http.Request, forward func()) bool {
			if r.Method != tt.method || !strings.Contains(r.URL.Path, tt.path) {
				return false
			}
			if tt.received {
				forward()
			}
			f.killOperator()
			close(killed)
			return true
		})
		head := f.push(branch, map[string]string{"other/main.tf": terraform("other", branch)})
		number := f.open("alice", branch, "Change")
		select {
		case <-killed:
		case <-time.After(time.Minute):
			t.Fatalf("no request %s %s", tt.method, tt.path)
		}
		f.await(number, head, "success", "1 Stack planned", "terraform_data.other")
	}
}

// A response that arrives too late is that of a comment that exists: it is not written twice.
func TestGiteaIsTooSlow(t *testing.T) {
	f := newFixture(t, nil)
	f.front.fail(func(_ http.ResponseWriter, r *http.Request, forward func()) bool {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/comments") {
			return false
		}
		forward()
		<-r.Context().Done() // Cairn has given up
		return true
	})
	head := f.push("change", map[string]string{"net/main.tf": terraform("net", "2")})
	number := f.open("alice", "change", "Change")
	f.await(number, head, "success", "1 Stack planned", "terraform_data.net")
}
