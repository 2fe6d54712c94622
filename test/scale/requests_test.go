//go:build envtest

package scale

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// The requests of a Run to the API server, and the bytes of its objects in etcd. docs/contributing/performance.md lists
// them.
const (
	mostReads      = 13
	mostWrites     = 13
	mostRunBytes   = 3300
	mostStateBytes = 1750
)

// The third Run of a Stack: its variables changed, it plans and applies, and the State has three versions then. A cache
// that is behind costs a read, so there are two more Runs before the test fails.
func TestRequestsOfARun(t *testing.T) {
	i := Start(t, "--audit-reads")
	operator, _ := i.Begin("operator"), i.Begin("server")
	i.First(2)
	var result string
	for run := 3; run <= 5; run++ {
		reads, writes := i.requestsOf(operator, run)
		result = fmt.Sprintf("a Run has %d reads past the cache:\n%s%d writes:\n%s", Sum(reads), lines(reads),
			Sum(writes), lines(writes))
		t.Log(result)
		if run == 3 {
			i.checkBytes()
		}
		if Sum(reads) <= mostReads && Sum(writes) <= mostWrites {
			return
		}
	}
	t.Errorf("at most %d reads and %d writes are allowed; %s", mostReads, mostWrites, result)
}

// requestsOf changes the first Stack, and counts the requests until its Run of that number has ended.
func (i *Install) requestsOf(operator *Process, run int) (reads, writes map[string]int) {
	i.Helper()
	i.calmQueues(operator)
	since := time.Now()
	i.Again(run)
	i.calmQueues(operator)
	reads, writes = i.Requests(since)
	// events are written asynchronously
	for before := -1; before != Sum(reads)+Sum(writes); time.Sleep(300 * time.Millisecond) {
		before = Sum(reads) + Sum(writes)
		reads, writes = i.Requests(since)
	}
	delete(reads, "list configmaps") // the policies of the installation, every five seconds for all Runs together
	return reads, writes
}

func (i *Install) checkBytes() {
	i.Helper()
	run, state := i.bytesOf("runs", firstStack+"-3"), i.bytesOf("states", firstStack)
	i.Logf("a Run has %d bytes in etcd, a State with three versions %d", run, state)
	if run > mostRunBytes || state > mostStateBytes {
		i.Errorf("a Run has %d bytes in etcd, and a State with three versions %d; at most %d and %d are allowed",
			run, state, mostRunBytes, mostStateBytes)
	}
}

// bytesOf returns the size of an object of the first Stack in etcd, as the API server stores it.
func (i *Install) bytesOf(resource, name string) int {
	i.Helper()
	prefix := "/registry/cairn.dev/" + resource + "/" + firstNamespace + "/" + name
	found, err := newEtcd(i.Data).prefix(context.Background(), prefix)
	if err != nil || len(found) != 1 {
		i.Fatalf("%d entries in etcd begin with %s: %v", len(found), prefix, err)
	}
	return len(found[0].Value)
}

// lines lists counts, a line for each name.
func lines(counts map[string]int) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&text, "  %d %s\n", counts[name], name)
	}
	return text.String()
}
