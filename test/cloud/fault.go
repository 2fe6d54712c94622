package cloud

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"time"
)

// A Fault is something bad that the cloud does to calls: to all that match Verb, Type and Name, where an empty one matches any.
type Fault struct {
	Verb Verb   `json:"verb,omitempty"`
	Type string `json:"type,omitempty"`
	// Name of the thing, a pattern as of path.Match.
	Name string `json:"name,omitempty"`

	// From is the first of the matching calls that it is done to, from 1, which 0 means too; Times is to how many, 0 to all from there.
	From  int `json:"from,omitempty"`
	Times int `json:"times,omitempty"`

	// After has it happen when the call has taken effect. Otherwise it happens before.
	After bool `json:"after,omitempty"`

	// Delay is waited first, then Hold waits until the fault ends. Without one of those below the call goes on then.
	Delay time.Duration `json:"delay,omitempty"`
	Hold  bool          `json:"hold,omitempty"`

	// PerSecond is how many calls go through in any second. The others are answered 429, try again in a second.
	PerSecond int `json:"perSecond,omitempty"`
	// Status is answered, with a Retry-After of so many seconds if it is not 0.
	Status     int `json:"status,omitempty"`
	RetryAfter int `json:"retryAfter,omitempty"`
	// Reset has the connection break without an answer.
	Reset bool `json:"reset,omitempty"`
}

// Injected is a fault that happens.
type Injected struct {
	Fault
	number int
	cloud  *Cloud
	over   chan struct{}
	// c.mu keeps these: how many calls matched, how many wait now, and when the last ones went through.
	matched, held int
	through       []time.Time
}

// Inject has a fault happen from now on. Faults that match the same call happen in the order in which they were injected.
func (c *Cloud) Inject(f Fault) *Injected {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ever++
	i := &Injected{Fault: f, number: c.ever, cloud: c, over: make(chan struct{})}
	c.faults = append(c.faults, i)
	return i
}

// End ends a fault: what it holds goes on. A second time does nothing.
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

// EndFaults ends them all.
func (c *Cloud) EndFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.faults) > 0 {
		c.faults[0].end()
	}
}

// Held waits until at least so many calls wait for the fault to end.
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

// matching are the faults that happen to a call. c.mu is held.
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

// outcome is what a fault makes of a call: nothing, or an answer, or none at all.
type outcome struct {
	status, retryAfter int
	reset              bool
}

func (o outcome) normal() bool { return o == outcome{} }

// happen has those faults happen to a call that are to happen now, until one of them decides what it comes to.
func (c *Cloud) happen(ctx context.Context, faults []*Injected, after bool) outcome {
	for _, i := range faults {
		if i.After != after {
			continue
		}
		i.wait(ctx)
		switch {
		case i.PerSecond > 0:
			if !i.lets() {
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

// wait is the slow part of a fault. It ends when the client is gone.
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

// lets says whether one more call goes through in this second.
func (i *Injected) lets() bool {
	i.cloud.mu.Lock()
	defer i.cloud.mu.Unlock()
	now := time.Now()
	i.through = slices.DeleteFunc(i.through, func(t time.Time) bool { return now.Sub(t) >= time.Second })
	if len(i.through) >= i.PerSecond {
		return false
	}
	i.through = append(i.through, now)
	return true
}
