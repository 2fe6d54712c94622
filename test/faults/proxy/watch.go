package proxy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// An Event is one that a watch delivers to a process.
type Event struct {
	Actor, Resource string
	// Ordinal is 1 for the first of its actor and resource.
	Ordinal int
	// Type is ADDED, MODIFIED or DELETED; Name is that of the object.
	Type, Name string
}

// String returns the name of the event: the same whenever a story is repeated.
func (e Event) String() string {
	return fmt.Sprintf("%s hears of %s %d", e.Actor, e.Resource, e.Ordinal)
}

// A Handling is the handling of an event.
type Handling int

// The ways to handle an event.
const (
	// Pass delivers it to the process.
	Pass Handling = iota
	// Drop closes the watch before it.
	Drop
	// Gone sends an expired resource version instead, and ends the watch.
	Gone
)

// watch forwards a watch, event by event. It ensures that they are JSON, which each client accepts too.
func (p *Proxy) watch(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) {
	on := p.onward(r, r.Body)
	on.Header.Set("Accept", readable(r.Header.Get("Accept")))
	on.Header.Del("Accept-Encoding")
	answer, err := p.transport.RoundTrip(on)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	answer.Header.Del("Content-Length") // another event may be inserted
	head(w, answer)
	flush := http.NewResponseController(w)
	_ = flush.Flush() // Write reports the error
	for lines := bufio.NewReader(answer.Body); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		switch p.judge(line, info.Resource) {
		case Drop:
			panic(http.ErrAbortHandler)
		case Gone:
			_ = json.NewEncoder(w).Encode(gone()) // the process may be gone
			return
		}
		if _, err := w.Write(line); err != nil {
			panic(http.ErrAbortHandler)
		}
		if err := flush.Flush(); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

func (p *Proxy) judge(line []byte, resource string) Handling {
	var received struct {
		Type   string `json:"type"`
		Object struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		} `json:"object"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(line), &received); err != nil ||
		!slices.Contains([]string{"ADDED", "MODIFIED", "DELETED"}, received.Type) {
		return Pass
	}
	p.mu.Lock()
	name := p.Actor + " hears of " + resource
	p.counts[name]++
	e := Event{Actor: p.Actor, Resource: resource, Ordinal: p.counts[name], Type: received.Type,
		Name: received.Object.Metadata.Name}
	p.events = append(p.events, e)
	on := p.onEvent
	p.mu.Unlock()
	if on == nil {
		return Pass
	}
	return on(e)
}

// readable removes all formats but JSON from the accepted ones.
func readable(accept string) string {
	kinds := slices.DeleteFunc(strings.Split(accept, ","), func(kind string) bool {
		return strings.Contains(kind, "protobuf") || strings.Contains(kind, "cbor")
	})
	if len(kinds) == 0 {
		return "application/json"
	}
	return strings.Join(kinds, ",")
}

func gone() any {
	return struct {
		Type   string        `json:"type"`
		Object metav1.Status `json:"object"`
	}{"ERROR", metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: http.StatusGone,
		Message: "too old resource version, says the test",
	}}
}
