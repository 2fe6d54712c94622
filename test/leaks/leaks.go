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
	"testing"
	"time"

	"go.uber.org/goleak"
)

// descriptors has a link for each file that this process has open.
const descriptors = "/proc/self/fd"

// patience is how long what ends by itself may take, as a connection whose other end was closed.
const patience = 5 * time.Second

// Main is a TestMain.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run runs the tests and gives the exit code, which is 1 when they leave something behind that was not there before.
// Ignored says which goroutines may stay.
func Run(m *testing.M, ignored ...goleak.Option) int {
	warmUp()
	before := files()
	ignored = append(ignored, goleak.IgnoreCurrent())
	code := m.Run()
	if code != 0 {
		return code
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if err := goleak.Find(ignored...); err != nil {
		fmt.Fprintln(os.Stderr, "the tests leave goroutines behind:", err)
		return 1
	}
	left := more(before)
	for end := time.Now().Add(patience); len(left) > 0 && time.Now().Before(end); left = more(before) {
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

// more are the files that are open now and were not before.
func more(before map[string]string) []string {
	now := files()
	maps.DeleteFunc(now, func(number, name string) bool { return before[number] == name })
	return slices.Sorted(maps.Values(now))
}
