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

// The requests of a Run to the API server, and the bytes of its objects in etcd. docs/performance.md lists them.
const (
	mostReads      = 17
	mostWrites     = 13
	mostRunBytes   = 3250
	mostStateBytes = 1600
)

// The third Run of a Stack: its variables changed, it plans and applies, and the State has three versions then.
func TestRequestsOfARun(t *testing.T) {
	i := Start(t, "--audit-reads")
	operator, _ := i.Begin("operator"), i.Begin("server")
	i.First(2)
	i.calmQueues(operator)
	since := time.Now()
	i.Again(3)
	i.calmQueues(operator)
	reads, writes := i.Requests(since)
	for before := -1; before != Sum(reads)+Sum(writes); time.Sleep(300 * time.Millisecond) { // events are written asynchronously
		before = Sum(reads) + Sum(writes)
		reads, writes = i.Requests(since)
	}
	runBytes, stateBytes := i.bytesOf("runs", firstStack+"-3"), i.bytesOf("states", firstStack)
	result := fmt.Sprintf("a Run has %d reads past the cache:\n%s%d writes:\n%sand %d bytes in etcd; its State with three versions has %d",
		Sum(reads), lines(reads), Sum(writes), lines(writes), runBytes, stateBytes)
	t.Log(result)
	if Sum(reads) > mostReads || Sum(writes) > mostWrites || runBytes > mostRunBytes || stateBytes > mostStateBytes {
		t.Errorf("at most %d reads, %d writes, %d bytes of a Run and %d of a State are allowed; %s",
			mostReads, mostWrites, mostRunBytes, mostStateBytes, result)
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
