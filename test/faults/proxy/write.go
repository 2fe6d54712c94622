package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// A Write is a request that would change the API's data.
type Write struct {
	Actor string
	// Verb is create, update, patch or delete; Resource has its subresource, as in runs/status.
	Verb, Resource string
	// Ordinal is 1 for the first of its actor, verb and resource.
	Ordinal int
	// Name of the object, where the path has it.
	Name string
	// Code is the status of the API server's response, if there was one; Began is the time of the request.
	Code  int
	Began time.Time
}

// String returns the name of the write: the same whenever a story is repeated.
func (w Write) String() string {
	return fmt.Sprintf("%s %s %s %d", w.Actor, w.Verb, w.Resource, w.Ordinal)
}

// isWrite excludes creations that write nothing, such as reviews, heartbeats, and events, which are sent asynchronously
// and lost on failure.
func isWrite(info *request.RequestInfo) bool {
	return info.IsResourceRequest &&
		slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, info.Verb) &&
		info.APIGroup != "authentication.k8s.io" && info.APIGroup != "authorization.k8s.io" &&
		info.Subresource != "token" && info.Resource != "leases" && info.Resource != "events"
}

// A Call is a write in progress, which has to be answered: by Pass, Refuse, Reply or Cut.
type Call struct {
	Write

	proxy  *Proxy
	at     int
	w      http.ResponseWriter
	r      *http.Request
	body   []byte
	answer *http.Response
	reply  []byte
}

func (p *Proxy) write(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	p.mu.Lock()
	name := p.Actor + " " + info.Verb + " " + resource
	p.counts[name]++
	write := Write{Actor: p.Actor, Verb: info.Verb, Resource: resource, Ordinal: p.counts[name], Name: info.Name,
		Began: time.Now()}
	p.writes = append(p.writes, write)
	c := &Call{Write: write, proxy: p, at: len(p.writes) - 1, w: w, r: r, body: body}
	p.underWay++
	on := p.onWrite
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.underWay--
		p.last = time.Now()
		p.mu.Unlock()
	}()
	if on == nil {
		c.Pass()
		return
	}
	on(c)
}

// Pass forwards the write unchanged.
func (c *Call) Pass() {
	c.Forward(c.r.Context())
	c.Reply()
}

// Forward forwards the write, and stores the response. The process may be gone by then, so ctx limits it, not the
// context of the request.
func (c *Call) Forward(ctx context.Context) {
	on := c.proxy.onward(c.r.Clone(context.WithoutCancel(ctx)), io.NopCloser(bytes.NewReader(c.body)))
	answer, err := c.proxy.transport.RoundTrip(on.WithContext(ctx))
	if err != nil {
		return
	}
	defer answer.Body.Close()
	if c.reply, err = io.ReadAll(answer.Body); err != nil {
		return
	}
	c.answer = answer
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	if c.at < len(c.proxy.writes) && c.proxy.writes[c.at].String() == c.String() { // not reset since
		c.proxy.writes[c.at].Code = answer.StatusCode
	}
}

// Abandoned is closed when the process no longer waits for a response.
func (c *Call) Abandoned() <-chan struct{} { return c.r.Context().Done() }

// Took reports whether the API server accepted the write.
func (c *Call) Took() bool { return c.answer != nil && c.answer.StatusCode < http.StatusBadRequest }

// Reply sends the response of Forward to the process, or none if there is none.
func (c *Call) Reply() {
	if c.answer == nil {
		c.Cut()
	}
	head(c.w, c.answer)
	_, _ = c.w.Write(c.reply) // the process may be gone
}

// Cut closes the connection, without a response. It does not return.
func (c *Call) Cut() { panic(http.ErrAbortHandler) }

// Refuse responds in place of the API server, which may have received the write or not. With a time it sends
// Retry-After.
func (c *Call) Refuse(code int, reason metav1.StatusReason, retryAfter time.Duration) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: reason, Code: int32(code), Message: "refused by the test: " +
			c.String(),
	}
	if retryAfter > 0 {
		seconds := int32(retryAfter.Seconds())
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: seconds}
		c.w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(code)
	_ = json.NewEncoder(c.w).Encode(status) // the process may be gone
}
