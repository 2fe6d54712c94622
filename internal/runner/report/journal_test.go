package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
)

// Batches are ordered, and not larger than the server accepts.
func TestBatchesOfAJournal(t *testing.T) {
	j := &Journal{}
	long := strings.Repeat("x", 1000)
	for i := range 200 {
		j.pending = append(j.pending, runnerapi.JournalEntry{Address: fmt.Sprint(i), ID: long})
	}
	for next := 0; next < 200; {
		batch, _ := j.take()
		data, err := json.Marshal(runnerapi.JournalEntries{Entries: batch})
		if err != nil || len(batch) == 0 || len(data) > runnerapi.LargestBatch || batch[0].Address != fmt.Sprint(next) {
			t.Fatalf("%d entries of %d bytes from %v: %v", len(batch), len(data), batch[:1], err)
		}
		next += len(batch)
		j.sent(len(batch))
	}
	if batch, over := j.take(); len(batch) != 0 || over {
		t.Error("there is more")
	}
}

// A character may take six bytes in the request.
func TestLongEntryIsMeasuredAsSent(t *testing.T) {
	j := &Journal{wake: make(chan struct{}, 1)}
	j.Add(engine.Done{Address: "a", ID: strings.Repeat("<", longestEntry/2)})
	j.Add(engine.Done{Address: "b", ID: strings.Repeat("x", longestEntry/2)})
	if batch, _ := j.take(); len(batch) != 2 || batch[0].ID != "" || batch[1].ID == "" {
		t.Errorf("%d entries, IDs of %d and %d bytes", len(batch), len(batch[0].ID), len(batch[1].ID))
	}
}

// answered gives what arrives of two entries when the server answers the first batches so.
func answered(t *testing.T, code int) (arrived []string) {
	t.Helper()
	tries := 0
	requested, respond := make(chan struct{}), make(chan struct{})
	j := &Journal{
		log: quiet, cancel: func() {}, disownedAfter: time.Minute, stopped: make(chan struct{}),
		wake: make(chan struct{}, 1),
		send: func(_ context.Context, _ int, done runnerapi.JournalEntries) error {
			if tries++; tries == 1 {
				close(requested)
				<-respond // so that the second one is a batch of its own
			}
			if tries == 1 {
				return &runnerapi.Error{Code: code}
			}
			for _, e := range done.Entries {
				arrived = append(arrived, e.Address)
			}
			return nil
		},
	}
	j.Add(engine.Done{Address: "a"})
	go j.run(t.Context())
	<-requested
	j.Add(engine.Done{Address: "b"})
	close(respond)
	j.End(t.Context())
	return arrived
}

// The first request may arrive after the retry, whatever response the runner received.
func TestRetriedBatchIsUnchanged(t *testing.T) {
	var tries []string
	j := &Journal{log: quiet, cancel: func() {}, disownedAfter: time.Minute, stopped: make(chan struct{}),
		wake: make(chan struct{}, 1)}
	j.send = func(_ context.Context, batch int, done runnerapi.JournalEntries) error {
		try := fmt.Sprint(batch)
		for _, e := range done.Entries {
			try += " " + e.Address
		}
		tries = append(tries, try)
		if len(tries) == 1 {
			j.Add(engine.Done{Address: "b"})
			return errors.New("no answer")
		}
		return nil
	}
	j.Add(engine.Done{Address: "a"})
	go j.run(t.Context())
	j.End(t.Context())
	if diff := cmp.Diff([]string{"0 a", "0 a", "1 b"}, tries); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// An invalid batch is left out, and the rest is sent. A runner that the server does not know for a moment retries.
func TestRejectedBatchIsLeftOut(t *testing.T) {
	for code, want := range map[int][]string{400: {"b"}, 413: {"b"}, 401: {"a", "b"}, 403: {"a", "b"}, 503: {"a", "b"},
		409: nil} {
		if got := answered(t, code); !slices.Equal(got, want) {
			t.Errorf("%d: %v arrived", code, got)
		}
	}
}

// The journal is abandoned once the server has rejected it for a long time, and not before.
func TestJournalOfAnAttemptThatIsNotCurrentIsAbandoned(t *testing.T) {
	j := &Journal{
		log: quiet, cancel: func() {}, disownedAfter: 300 * time.Millisecond, stopped: make(chan struct{}),
		wake: make(chan struct{}, 1),
		send: func(context.Context, int, runnerapi.JournalEntries) error {
			return &runnerapi.Error{Code: http.StatusForbidden}
		},
	}
	j.Add(engine.Done{Address: "a"})
	began := time.Now()
	go j.run(t.Context())
	j.End(t.Context())
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("abandoned after %s", took)
	}
}

// One rejection may follow a long time in which the server was unavailable.
func TestJournalIsNotAbandonedForOneRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		j := &Journal{
			log: quiet, cancel: func() {}, disownedAfter: time.Minute, stopped: make(chan struct{}),
			wake: make(chan struct{}, 1),
			send: func(context.Context, int, runnerapi.JournalEntries) error {
				if tries++; tries > 1 {
					return nil
				}
				time.Sleep(2 * time.Minute)
				return &runnerapi.Error{Code: http.StatusForbidden}
			},
		}
		j.Add(engine.Done{Address: "a"})
		go j.run(t.Context())
		j.End(t.Context())
		if tries != 2 {
			t.Errorf("asked %d times", tries)
		}
	})
}
