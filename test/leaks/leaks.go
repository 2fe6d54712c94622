// Package leaks finds what the tests of a room leave behind: goroutines that nobody waits for, and files that nobody closed.
package leaks

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// descriptors has a link for each file that this process has open.
const descriptors = "/proc/self/fd"

// patience is how long what ends by itself may take on a busy machine, as a connection whose other end was closed.
var patience = 30 * time.Second

// Main is a TestMain.
func Main(m *testing.M) { os.Exit(Run(m.Run, func() {})) }

// Run runs the tests and gives the exit code, which is 1 when they leave something behind that was not there before.
// HangUp ends connections that they share and nobody uses at the moment. Ignored says which goroutines may stay.
func Run(tests func() int, hangUp func(), ignored ...goleak.Option) int {
	warmUp()
	before := files()
	ignored = append(ignored, goleak.IgnoreCurrent())
	code := tests()
	if code != 0 {
		return code
	}
	look := func() error {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		hangUp()
		return goleak.Find(ignored...) // which waits for a second or two
	}
	over, leak := time.Now().Add(patience), look()
	for leak != nil && time.Now().Before(over) {
		leak = look()
	}
	if leak != nil {
		fmt.Fprintln(os.Stderr, "the tests leave goroutines behind:", leak)
		return 1
	}
	left := more(before)
	for over = time.Now().Add(patience); len(left) > 0 && time.Now().Before(over); left = more(before) {
		time.Sleep(10 * time.Millisecond)
	}
	if len(left) > 0 {
		fmt.Fprintln(os.Stderr, "the tests leave files open:", left)
		return 1
	}
	return 0
}

// warmUp has Go open what it keeps open once it was needed: that by which it waits for the network.
func warmUp() {
	if l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0"); err == nil {
		_ = l.Close()
	}
}

// files are the files that this process has open, by number; none where the system does not tell.
func files() map[string]string {
	open := map[string]string{}
	entries, _ := os.ReadDir(descriptors)
	for _, e := range entries {
		if name, err := os.Readlink(filepath.Join(descriptors, e.Name())); err == nil {
			open[e.Name()] = name
		}
	}
	return open
}

// ports is part of the names of files by which envtest keeps the ports of its API servers, as long as the process lives.
const ports = "/kubebuilder-envtest/port-"

// more are the files that are open now and were not before.
func more(before map[string]string) []string {
	now := files()
	maps.DeleteFunc(now, func(number, name string) bool { return before[number] == name || strings.Contains(name, ports) })
	return slices.Sorted(maps.Values(now))
}
