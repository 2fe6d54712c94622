package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestNothingIsLostAtAKill kills processes at each step of random histories, loses requests and responses, and lets two
// processes work at a time, of which one does not know that it is no longer the leader. In the end each receiver has
// the newest content of each key, and one comment, which is looked up before it is written. No message at most once is
// sent twice. While one process works, no receiver gets an older message of a key after a newer one, none before it is
// persisted, and none after it is acknowledged.
func TestNothingIsLostAtAKill(t *testing.T) {
	for seed := range uint64(3000) {
		h := &history{
			rand: rand.New(rand.NewPCG(seed, 0)), now: noon,
			received: map[string][]int{}, revisions: map[string]int{},
		}
		processes := []*sender{{history: h}}
		if h.alone = seed%2 == 0; !h.alone {
			processes = append(processes, &sender{history: h})
		}
		for range 200 {
			if h.rand.IntN(4) == 0 {
				h.revisions[keys[h.rand.IntN(len(keys))]]++
			}
			h.now = h.now.Add(time.Duration(h.rand.IntN(20)) * time.Second)
			processes[h.rand.IntN(len(processes))].step()
		}
		h.quiet = true
		for range 60 {
			for _, p := range processes {
				p.step()
			}
			h.now = h.now.Add(time.Minute)
		}
		if problem := h.check(); problem != "" {
			t.Fatalf("seed %d: %s", seed, problem)
		}
	}
}

// keys of messages, each of another receiver but for the statuses. A chat cannot detect that it has a message, and gets
// each at most once.
var keys = []string{"status net", "status app", "comment", "webhook", "chat"}

// digestOf returns the digest of a revision. Contents come again, but for messages at most once.
func digestOf(key string, revision int) string {
	if key == "chat" {
		return fmt.Sprint(revision)
	}
	return fmt.Sprint("content ", revision%3)
}

// history is a history: what is persisted, and what the receivers have.
type history struct {
	rand  *rand.Rand
	now   time.Time
	quiet bool
	alone bool
	// ledger is persisted with a version, as in the status of an object.
	ledger  []Record
	version int
	// revisions are the newest contents that are wanted, by key.
	revisions map[string]int
	// received are the revisions that a receiver took, by key; created is how many comments there are.
	received map[string][]int
	created  int
	problem  string
}

func (h *history) fails() bool { return !h.quiet && h.rand.IntN(6) == 0 }

// write is a write with an optimistic lock.
func (h *history) write(ledger []Record, version int) (int, error) {
	if version != h.version {
		return 0, errConflict
	}
	h.ledger, h.version = slices.Clone(ledger), h.version+1
	return h.version, nil
}

var errConflict, errDown = errors.New("conflict"), errors.New("503")

// sender is a process.
type sender struct {
	*history
	receivers Receivers
	// next is the next step, with what it remembers.
	next func()
}

// step does the next step of a reconcile, or kills the process before it.
func (s *sender) step() {
	if s.fails() {
		s.next, s.receivers = nil, Receivers{}
	}
	if s.next == nil {
		s.next = s.decide
	}
	s.next()
}

func (s *sender) decide() {
	var wanted []Message[int]
	for _, key := range keys {
		if n := s.revisions[key]; n > 0 {
			m := Message[int]{Key: key, Digest: digestOf(key, n), Content: n, Receiver: key[:2]}
			m.AtMostOnce = key == "chat"
			if key == "comment" && n%3 == 0 {
				m.NotBefore = noon.Add(time.Duration(n) * time.Minute)
			}
			wanted = append(wanted, m)
		}
	}
	p, version := Due(s.now, wanted, s.ledger), s.version
	s.next = func() {
		persisted, err := s.write(p.Ledger, version)
		if s.next = nil; err != nil {
			return
		}
		s.next = func() { s.send(p, persisted) }
	}
}

// send sends one message at each step.
func (s *sender) send(p Plan[int], persisted int) {
	clock := func() time.Time { return s.now }
	all := p.Send
	done := p.Ledger
	var one func()
	one = func() {
		if len(all) == 0 {
			s.next = func() { s.acknowledge(done, persisted) }
			return
		}
		sent := Send(context.Background(), clock, Plan[int]{Ledger: done, Send: all[:1]}, &s.receivers, s.take)
		done, all, s.next = sent.Ledger, all[1:], one
	}
	one()
}

func (s *sender) acknowledge(ledger []Record, persisted int) {
	s.next = nil
	if _, err := s.write(ledger, persisted); err == nil {
		return
	}
	for i, r := range s.ledger {
		if r.Key != "chat" {
			s.ledger[i].Digest = ""
		}
	}
	s.version++
}

// take is the receiver.
func (s *sender) take(_ context.Context, m Message[int], known Record) (Response, error) {
	if s.fails() { // the request is lost
		return Response{}, errDown
	}
	has := s.received[m.Key]
	sent := func(r Record) bool { return r.Key == m.Key && r.Digest != "" }
	twice := len(has) > 0 && has[len(has)-1] == m.Content
	switch {
	case s.alone && len(has) > 0 && has[len(has)-1] > m.Content:
		s.problem = fmt.Sprintf("%s has %v and gets %d", m.Key, has, m.Content)
	case s.alone && !m.AtMostOnce && slices.ContainsFunc(s.ledger, sent):
		s.problem = fmt.Sprintf("%s gets %d before that is persisted, or after it is acknowledged", m.Key, m.Content)
	case m.AtMostOnce && slices.Contains(has, m.Content):
		s.problem = fmt.Sprintf("%s gets %d again", m.Key, m.Content)
	case m.Key == "comment" && known.Reference == "" && len(has) == 0: // else it finds the one that it has
		s.created++
	}
	if !twice {
		s.received[m.Key] = append(has, m.Content)
	}
	if s.fails() { // the response is lost
		return Response{}, errDown
	}
	return Response{Reference: "7"}, nil
}

func (h *history) check() string {
	for key, want := range h.revisions {
		has := h.received[key]
		if key != "chat" && (len(has) == 0 || digestOf(key, has[len(has)-1]) != digestOf(key, want)) {
			return fmt.Sprintf("%s has %v, and should have %d", key, has, want)
		}
	}
	if h.created > 1 {
		return fmt.Sprintf("%d comments", h.created)
	}
	return h.problem
}
