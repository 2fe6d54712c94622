package cloud

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"time"
)

// Fault is a failure of the calls that match Verb, Type and Name, where an empty one matches any.
type Fault struct {
	Verb Verb   `json:"verb,omitempty"`
	Type string `json:"type,omitempty"`
	// Name is a pattern of path.Match for the name of the resource.
	Name string `json:"name,omitempty"`

	// From is the number of the first matching call that fails, 1 by default; Times is how many fail, by default all
	// from there.
	From  int `json:"from,omitempty"`
	Times int `json:"times,omitempty"`

	// After injects the fault after the call took effect instead of before.
	After bool `json:"after,omitempty"`

	// Delay delays the call, then Hold holds it until the fault ends. Without one of the fields below the call then
	// continues.
	Delay time.Duration `json:"delay,omitempty"`
	Hold  bool          `json:"hold,omitempty"`

	// PerSecond is how many calls succeed in any second. The others get status 429 with a Retry-After of a second.
	PerSecond int `json:"perSecond,omitempty"`
	// Status is the status of the response, with a Retry-After of RetryAfter seconds unless it is 0.
	Status     int `json:"status,omitempty"`
	RetryAfter int `json:"retryAfter,omitempty"`
	// Reset closes the connection without a response.
	Reset bool `json:"reset,omitempty"`
}

// Injected is a fault in effect.
type Injected struct {
	Fault
	number int
	cloud  *Cloud
	over   chan struct{}
	// cloud.mu guards these: how many calls matched, how many are held, and the times of the last ones that succeeded.
	matched, held int
	passed        []time.Time
}

// Inject adds a fault. Faults that match the same call apply in the order of their injection.
func (c *Cloud) Inject(f Fault) *Injected {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastFault++
	i := &Injected{Fault: f, number: c.lastFault, cloud: c, over: make(chan struct{})}
	c.faults = append(c.faults, i)
	return i
}

// End ends a fault, and held calls continue. A second call has no effect.
func (i *Injected) End() {
	i.cloud.mu.Lock()
	defer i.cloud.mu.Unlock()
	i.end()
}

func (i *Injected) end() {
	at := slices.Index(i.cloud.faults, i)
	if at < 0 {
		return
	}
	i.cloud.faults = slices.Delete(i.cloud.faults, at, at+1)
	close(i.over)
	i.cloud.change()
}

// EndFaults ends all faults.
func (c *Cloud) EndFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.faults) > 0 {
		c.faults[0].end()
	}
}

// Held waits until the fault holds at least a number of calls.
func (i *Injected) Held(ctx context.Context, calls int) error {
	if err := i.cloud.Until(ctx, func() bool {
		i.cloud.mu.Lock()
		defer i.cloud.mu.Unlock()
		return i.held >= calls
	}); err != nil {
		return fmt.Errorf("%d calls are not held: %w", calls, err)
	}
	return nil
}

// matching returns the faults of a call. The caller holds c.mu.
func (c *Cloud) matching(call *Call) []*Injected {
	var all []*Injected
	for _, i := range c.faults {
		if i.Verb != "" && i.Verb != call.Verb || i.Type != "" && i.Type != call.Type {
			continue
		}
		if i.Name != "" {
			if is, err := path.Match(i.Name, call.Name); err != nil || !is {
				continue
			}
		}
		i.matched++
		from := max(i.From, 1)
		if i.matched >= from && (i.Times == 0 || i.matched < from+i.Times) {
			all = append(all, i)
		}
	}
	return all
}

// outcome is how a fault changes a call: not at all, by another response, or by none.
type outcome struct {
	status, retryAfter int
	reset              bool
}

func (o outcome) normal() bool { return o == outcome{} }

// applyFaults applies faults to a call, before or after it took effect, until one of them decides the response.
func (c *Cloud) applyFaults(ctx context.Context, faults []*Injected, after bool) outcome {
	for _, i := range faults {
		if i.After != after {
			continue
		}
		i.wait(ctx)
		switch {
		case i.PerSecond > 0:
			if !i.allow() {
				return outcome{status: http.StatusTooManyRequests, retryAfter: 1}
			}
		case i.Reset:
			return outcome{reset: true}
		case i.Status > 0:
			return outcome{status: i.Status, retryAfter: i.RetryAfter}
		}
	}
	return outcome{}
}

// wait waits for the delay and the end of a holding fault, or until the client disconnects.
func (i *Injected) wait(ctx context.Context) {
	if i.Delay > 0 {
		timer := time.NewTimer(i.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-i.over:
		case <-ctx.Done():
		}
	}
	if i.Hold {
		i.count(1)
		defer i.count(-1)
		select {
		case <-i.over:
		case <-ctx.Done():
		}
	}
}

func (i *Injected) count(n int) {
	i.cloud.mu.Lock()
	defer i.cloud.mu.Unlock()
	i.held += n
	i.cloud.change()
}

// allow reports whether one more call succeeds in this second.
func (i *Injected) allow() bool {
	i.cloud.mu.Lock()
	defer i.cloud.mu.Unlock()
	now := time.Now()
	i.passed = slices.DeleteFunc(i.passed, func(t time.Time) bool { return now.Sub(t) >= time.Second })
	if len(i.passed) >= i.PerSecond {
		return false
	}
	i.passed = append(i.passed, now)
	return true
}
