package dev

import (
	"slices"
	"strings"
	"testing"
)

// What follows -- is as people write flags: the page is where Cairn listens in the end.
func TestThePageIsWhereItIsAskedToBe(t *testing.T) {
	for _, args := range [][]string{
		{"--web-listen=127.0.0.1:9000"}, {"--web-listen", "127.0.0.1:9000"}, {"--web-listen=0", "--web-listen", ":9000"}, {"--web-listen=0.0.0.0:9000"}, {"--web-listen=[::]:9000"},
	} {
		c := &cluster{}
		if err := c.addProcesses(t.Context(), options{serveArgs: args}, t.TempDir(), nil); err != nil {
			t.Fatal(err)
		}
		if c.page != "http://127.0.0.1:9000" || !slices.Contains(c.processes[0].args, "--web-url=http://127.0.0.1:9000") {
			t.Errorf("%q: the page is said to be at %s", args, c.page)
		}
	}
}

// A URL without TLS that is not of this machine is refused by the process, which would be started again and again.
func TestThereIsNoLinkToAPageThatIsElsewhere(t *testing.T) {
	for _, args := range [][]string{{"--web-listen=0"}, {"--web-listen=192.0.2.1:9000"}, {"--web-listen", "192.0.2.1:9000"}} {
		c := &cluster{}
		if err := c.addProcesses(t.Context(), options{serveArgs: args}, t.TempDir(), nil); err != nil {
			t.Fatal(err)
		}
		if c.page != "" || slices.ContainsFunc(c.processes[0].args, func(arg string) bool { return strings.HasPrefix(arg, "--web-url") }) {
			t.Errorf("%q: the page is said to be at %s", args, c.page)
		}
	}
}
