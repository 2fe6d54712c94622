package dev

import (
	"slices"
	"strings"
	"testing"
)

// The URL of the web UI follows --web-listen in all forms in which users write flags after --.
func TestWebURLFollowsWebListen(t *testing.T) {
	for _, args := range [][]string{
		{"--web-listen=127.0.0.1:9000"}, {"--web-listen", "127.0.0.1:9000"},
		{"--web-listen=0", "--web-listen", ":9000"}, {"--web-listen=0.0.0.0:9000"}, {"--web-listen=[::]:9000"},
	} {
		c := &cluster{}
		if err := c.addProcesses(t.Context(), options{serveArgs: args}, t.TempDir(), nil); err != nil {
			t.Fatal(err)
		}
		if c.webURL != "http://127.0.0.1:9000" ||
			!slices.Contains(c.processes[0].args, "--web-url=http://127.0.0.1:9000") {
			t.Errorf("%q: the web UI is at %s", args, c.webURL)
		}
	}
}

// Without a loopback address there is no link to the web UI: the process rejects a URL of another machine without TLS,
// and would be restarted forever.
func TestNoWebURLWithoutLoopbackAddress(t *testing.T) {
	for _, args := range [][]string{{"--web-listen=0"}, {"--web-listen=192.0.2.1:9000"},
		{"--web-listen", "192.0.2.1:9000"}} {
		c := &cluster{}
		if err := c.addProcesses(t.Context(), options{serveArgs: args}, t.TempDir(), nil); err != nil {
			t.Fatal(err)
		}
		if c.webURL != "" || slices.ContainsFunc(c.processes[0].args, func(arg string) bool {
			return strings.HasPrefix(arg, "--web-url")
		}) {
			t.Errorf("%q: the web UI is at %s", args, c.webURL)
		}
	}
}
