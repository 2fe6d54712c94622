// Package outbox sends messages to other systems. None is lost if the process ends between any two steps:
//
//	wanted ──Due──► due ──write Plan.Ledger──► persisted ──Send──► sent ──write Sent.Ledger──► acknowledged
//
// The ledger has what the receivers have of each message, for example in the status of an object. The caller derives
// what is wanted from what it observes, or from what it has persisted, as long as the ledger does not have it. Both
// writes need an optimistic lock. If the second one has a conflict, another process may have sent something else
// meanwhile: the caller then removes the digests from the ledger, but for those of messages at most once, and all is
// sent again.
//
// Otherwise a message is sent again only if the process ends between Send and the second write, or the response was
// lost. A receiver can detect that by Message.Key and Message.Digest. To one that cannot, a message with AtMostOnce is
// not sent twice, but it may be lost.
package outbox

import (
	"slices"
	"time"
)

// Message is what a receiver should have.
type Message[C any] struct {
	// Key identifies what the message is about, among all of a ledger. A message replaces those before it with the same
	// key, also before they are sent. Example: status cairn/prod/net.
	Key string
	// Digest of the content. Nothing is sent while it is that of the record.
	Digest string
	// Content is what Send passes to the function that sends it.
	Content C
	// Receiver is whose failures delay the message. It is another one once it may respond otherwise, for example with
	// other credentials.
	Receiver string
	// Pending reports that the receiver expects another message with the key, as after a commit status that is pending.
	Pending bool
	// AtMostOnce reports that the message is recorded as received before it is sent, and then is sent at once, if at
	// all.
	AtMostOnce bool
	// NotBefore is the earliest time to send it; zero for any time.
	NotBefore time.Time
}

// Record is what a receiver has of a key.
type Record struct {
	Key string
	// Digest of the content; empty if it is not known which one the receiver has.
	Digest string
	// Pending reports whether the receiver may expect another message.
	Pending bool
	// Reference is the name of the message at the receiver, by which the next one replaces it; empty before there is
	// one.
	Reference string
}

// Plan is what Due returns.
type Plan[C any] struct {
	// Ledger is to be written before the messages are sent. It has a record of each message.
	Ledger []Record
	// Send are the messages to send, in the order in which they are wanted.
	Send []Message[C]
	// Next is when the first of the others is due; zero for never.
	Next time.Time
}

// Due returns the wanted messages that the receivers do not have. Records of keys that are not wanted stay.
func Due[C any](now time.Time, wanted []Message[C], ledger []Record) Plan[C] {
	p := Plan[C]{Ledger: slices.Clone(ledger)}
	for _, m := range wanted {
		known := find(&p.Ledger, m.Key)
		if known.Digest != "" && known.Digest == m.Digest {
			continue
		}
		early := m.NotBefore.After(now)
		if early {
			p.Next = soonest(p.Next, m.NotBefore)
		} else {
			p.Send = append(p.Send, m)
		}
		switch {
		case !m.AtMostOnce: // also if it is early, so that this needs no write later
			known.Digest, known.Pending = "", known.Pending || m.Pending
		case !early:
			known.Digest, known.Pending = m.Digest, m.Pending
		}
	}
	return p
}

// find returns the record of a key, which it adds if there is none.
func find(ledger *[]Record, key string) *Record {
	i := slices.IndexFunc(*ledger, func(r Record) bool { return r.Key == key })
	if i < 0 {
		i, *ledger = len(*ledger), append(*ledger, Record{Key: key})
	}
	return &(*ledger)[i]
}

// soonest returns the earlier of two times of which a zero one is never.
func soonest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
