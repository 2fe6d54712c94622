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

// A counter is a cloud that counts what was made in it: each POST to /NAME makes one.
type counter struct {
	// host is the address by which pods reach it.
	host string

	mu   sync.Mutex
	made map[string]int
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := path.Base(r.URL.Path)
	if r.Method == http.MethodPost {
		c.made[name]++
	}
	_, _ = io.WriteString(w, fmt.Sprint(c.made[name]))
}

// cloud starts one that pods reach at $CLOUD: cloud.
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

// untilMade waits until something was made: until-made NAME.
func untilMade(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value(clouds{}).(*counter)
	for end := time.Now().Add(2 * story.Patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		c.mu.Lock()
		is := c.made[args[0]]
		c.mu.Unlock()
		if is > 0 {
			return
		}
	}
	ts.Fatalf("%s was never made", args[0])
}

// made fails unless something was made so often: made NAME TIMES.
func made(ts *testscript.TestScript, neg bool, args []string) {
	c := ts.Value(clouds{}).(*counter)
	c.mu.Lock()
	defer c.mu.Unlock()
	if is := fmt.Sprint(c.made[args[0]]); (is == args[1]) == neg {
		ts.Fatalf("%s was made %s times, not %s", args[0], is, args[1])
	}
}
