// Package leaks detects goroutines and open files that the tests of a package leak.
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

// descriptors is the folder with a link for each open file of this process.
const descriptors = "/proc/self/fd"

// timeout is how long goroutines and files have to end on a busy machine, for example a connection that the peer
// closed.
var timeout = 30 * time.Second

// Main runs the tests of a package in TestMain.
func Main(m *testing.M) { os.Exit(Run(m.Run, func() {})) }

// Run runs the tests and returns the exit code, which is 1 when they leak. CloseIdle closes idle connections that the
// tests share. Ignored excludes goroutines.
func Run(tests func() int, closeIdle func(), ignored ...goleak.Option) int {
	warmUp()
	before := files()
	ignored = append(ignored, goleak.IgnoreCurrent())
	code := tests()
	if code != 0 {
		return code
	}
	check := func() error {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		closeIdle()
		return goleak.Find(ignored...) // it retries for some time
	}
	deadline, leak := time.Now().Add(timeout), check()
	for leak != nil && time.Now().Before(deadline) {
		leak = check()
	}
	if leak != nil {
		fmt.Fprintln(os.Stderr, "the tests leak goroutines:", leak)
		return 1
	}
	left := more(before)
	for deadline = time.Now().Add(timeout); len(left) > 0 && time.Now().Before(deadline); left = more(before) {
		time.Sleep(10 * time.Millisecond)
	}
	if len(left) > 0 {
		fmt.Fprintln(os.Stderr, "the tests leave files open:", left)
		return 1
	}
	return 0
}

// warmUp opens a socket, so that the runtime opens the file of its network poller, which remains open.
func warmUp() {
	if l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0"); err == nil {
		_ = l.Close()
	}
}

// files returns the open files of this process by number; none on systems without /proc.
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

// ports is part of the names of the files by which envtest reserves the ports of its API servers until the process
// exits.
const ports = "/kubebuilder-envtest/port-"

// more returns the names of files that were opened since.
func more(before map[string]string) []string {
	now := files()
	maps.DeleteFunc(now, func(number, name string) bool {
		return before[number] == name || strings.Contains(name, ports)
	})
	return slices.Sorted(maps.Values(now))
}
