package outbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Sent is the result of Send.
type Sent struct {
	// Ledger is that of the plan with what the receivers acknowledged. It is to be written, also after an error.
	Ledger []Record
	// Err is the first error of each receiver that failed. Its messages are due again.
	Err error
	// Lost are the errors of messages that are sent at most once, which are not sent again.
	Lost error
	// Wait is the time until a receiver gets requests again that failed now or earlier; 0 if no message waits for one.
	Wait time.Duration
}

// Response is what a receiver responds to a message.
type Response struct {
	// Reference is the name of the message at the receiver; empty for none, or for the one that it had.
	Reference string
	// RetryAfter is the time that a receiver that failed requests to wait; 0 for none.
	RetryAfter time.Duration
}

// A Sender sends a message. The record has the reference of the message that it replaces.
type Sender[C any] func(ctx context.Context, m Message[C], known Record) (Response, error)

// Send sends the messages of a plan whose ledger is persisted, one after the other. After an error, the receiver gets
// none of the rest, so that the order is kept, and no other plan until the time that the Receivers know. Messages to
// others are not delayed.
func Send[C any](ctx context.Context, clock func() time.Time, p Plan[C], receivers *Receivers, send Sender[C]) Sent {
	sent := Sent{Ledger: slices.Clone(p.Ledger)}
	for _, m := range p.Send {
		if wait := receivers.wait(clock(), m.Receiver); wait > 0 && !m.AtMostOnce {
			sent.Wait = min(wait, cmp.Or(sent.Wait, wait))
			continue
		}
		known := find(&sent.Ledger, m.Key)
		response, err := send(ctx, m, *known)
		switch {
		case err != nil && m.AtMostOnce:
			sent.Lost = errors.Join(sent.Lost, err)
		case err != nil:
			wait := receivers.Failed(clock(), m.Receiver, response.RetryAfter)
			sent.Err, sent.Wait = errors.Join(sent.Err, err), min(wait, cmp.Or(sent.Wait, wait))
		default:
			receivers.Succeeded(m.Receiver)
			known.Digest, known.Pending = m.Digest, m.Pending
			known.Reference = cmp.Or(response.Reference, known.Reference)
		}
	}
	return sent
}

// Receivers remembers which receivers failed, in memory: after a restart each is tried at once. The zero value is
// empty.
type Receivers struct {
	mu     sync.Mutex
	failed map[string]failure
}

// failure is how often a receiver failed, and until when it gets nothing.
type failure struct {
	times int
	until time.Time
}

// retryFirst and retryLongest are the delays after the first failure of a receiver and after many.
const retryFirst, retryLongest = 10 * time.Second, 10 * time.Minute

// Backoff returns the delay after a number of failures, one after the other.
func Backoff(failures int) time.Duration {
	return min(retryFirst<<min(max(failures-1, 0), 10), retryLongest)
}

// Failed records a failure of a receiver, which can request a time to wait. It returns the time until it gets messages
// again.
func (r *Receivers) Failed(now time.Time, receiver string, requested time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = map[string]failure{}
	}
	for name, f := range r.failed { // it has another name now, or is gone
		if now.Sub(f.until) > retryLongest {
			delete(r.failed, name)
		}
	}
	times := r.failed[receiver].times + 1
	wait := max(Backoff(times), requested)
	r.failed[receiver] = failure{times, now.Add(wait)}
	return wait
}

// Succeeded records that a receiver does not fail any longer.
func (r *Receivers) Succeeded(receiver string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failed, receiver)
}

// Retry lets a receiver that failed get messages at once.
func (r *Receivers) Retry(now time.Time, receiver string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.failed[receiver]; ok {
		r.failed[receiver] = failure{f.times, now}
	}
}

// wait returns the time until a receiver gets messages; 0 if it does now.
func (r *Receivers) wait(now time.Time, receiver string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(0, r.failed[receiver].until.Sub(now))
}
