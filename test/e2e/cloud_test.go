//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"cairn.dev/cairn/test/story"
)

// clouds is the key of a script's cloud.
type clouds struct{}

// counter is a cloud that counts the resources in it: each POST to /NAME creates one.
// A GET of /continue fails until the script continues.
type counter struct {
	// host is the address by which pods reach it.
	host string

	mu       sync.Mutex
	created  map[string]int
	proceeds bool
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := path.Base(r.URL.Path)
	if name == "continue" && !c.proceeds {
		http.Error(w, "the script does not continue yet", http.StatusConflict)
		return
	}
	if r.Method == http.MethodPost {
		c.created[name]++
	}
	_, _ = io.WriteString(w, fmt.Sprint(c.created[name]))
}

// cloud starts a cloud that pods reach at $CLOUD: cloud.
func cloud(ts *testscript.TestScript, _ bool, _ []string) {
	c := ts.Value(clouds{}).(*counter)
	l, err := net.Listen("tcp", net.JoinHostPort(c.host, "0"))
	ts.Check(err)
	server := httptest.NewUnstartedServer(c)
	ts.Check(server.Listener.Close())
	server.Listener = l
	server.Start()
	ts.Defer(server.Close)
	ts.Setenv("CLOUD", server.URL)
}

// proceed ends the wait of pods for GET /continue: continue.
func proceed(ts *testscript.TestScript, _ bool, _ []string) {
	c := ts.Value(clouds{}).(*counter)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.proceeds = true
}

// waitCreated waits until a resource is created: wait-created NAME.
func waitCreated(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value(clouds{}).(*counter)
	for end := time.Now().Add(2 * story.Timeout); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		c.mu.Lock()
		n := c.created[args[0]]
		c.mu.Unlock()
		if n > 0 {
			return
		}
	}
	ts.Fatalf("%s was not created", args[0])
}

// created fails unless a resource was created N times: created NAME N.
func created(ts *testscript.TestScript, neg bool, args []string) {
	c := ts.Value(clouds{}).(*counter)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := fmt.Sprint(c.created[args[0]]); (n == args[1]) == neg {
		ts.Fatalf("%s was created %s times, not %s", args[0], n, args[1])
	}
}
