package scale

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"time"

	"cairn.dev/cairn/dev"
)

// isCairn reports whether a request is from one of Cairn's processes.
func isCairn(agent string) bool { return strings.HasPrefix(agent, "cairn-serve") }

// Writes counts the writes of Cairn since a time by resource.
func (i *Install) Writes(since time.Time) map[string]int {
	i.Helper()
	counts := map[string]int{}
	_, err := dev.Writes(i.AuditLog(), since, func(w dev.Write) bool {
		if isCairn(w.UserAgent) {
			counts[strings.TrimSuffix(w.Verb+" "+w.Resource+"/"+w.Subresource, "/")]++
		}
		return false
	})
	if err != nil {
		i.Fatal(err)
	}
	return counts
}

// Requests counts the requests of Cairn since a time: those that read past the cache, and those that write. A watch
// that begins again is none of them.
func (i *Install) Requests(since time.Time) (reads, writes map[string]int) {
	i.Helper()
	all, err := dev.Requests(i.AuditLog(), since, func(r dev.Request) bool { return isCairn(r.UserAgent) })
	if err != nil {
		i.Fatal(err)
	}
	reads, writes = map[string]int{}, map[string]int{}
	for _, r := range all {
		counts := reads
		switch {
		case r.Verb == "watch":
			continue
		case r.Writes():
			counts = writes
		}
		counts[strings.TrimSuffix(r.Verb+" "+r.Resource+"/"+r.Subresource, "/")]++
	}
	return reads, writes
}

// Sum returns the sum of counts.
func Sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// Decisions returns, for each change of a Stack's spec since a time, the duration from the response to the change to
// the receipt of the operator's write that names the new Run: the watch and the decision, without the API server's time
// for the two writes. A negative duration is a watch event that arrived before the response.
func (i *Install) Decisions(since time.Time) []time.Duration {
	i.Helper()
	file, err := os.Open(i.AuditLog())
	if err != nil {
		i.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	changed := map[string]time.Time{}
	var all []time.Duration
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return all
		}
		var e struct {
			Verb      string    `json:"verb"`
			UserAgent string    `json:"userAgent"`
			Received  time.Time `json:"requestReceivedTimestamp"`
			Answered  time.Time `json:"stageTimestamp"`
			Object    struct {
				Resource    string `json:"resource"`
				Subresource string `json:"subresource"`
				Namespace   string `json:"namespace"`
				Name        string `json:"name"`
			} `json:"objectRef"`
		}
		if json.Unmarshal(line, &e) != nil || e.Object.Resource != "stacks" || e.Answered.Before(since) {
			continue
		}
		key := e.Object.Namespace + "/" + e.Object.Name
		switch at, waits := changed[key]; {
		case e.Object.Subresource == "" && !isCairn(e.UserAgent) && e.Verb == "patch":
			changed[key] = e.Answered
		case e.Object.Subresource == "status" && isCairn(e.UserAgent) && waits:
			all = append(all, e.Received.Sub(at))
			delete(changed, key)
		}
	}
}
