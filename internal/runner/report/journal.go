package report

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/interrupt"
	"cairn.dev/cairn/internal/runnerapi"
)

// longestEntry is more than any entry of a journal has whose parts are of use: what is longer is sent without its
// ID.
const longestEntry = runnerapi.LargestBatch / 4

// Journal sends each change of an apply to the server when it is done: a change that an engine has not written into
// the state when it is killed is known by this alone. One batch is sent at a time, until it has arrived; what is done
// meanwhile is the next batch.
type Journal struct {
	send   func(ctx context.Context, batch int, done runnerapi.JournalEntries) error
	log    *slog.Logger
	cancel context.CancelFunc
	// disownedAfter is how long the server may reject the runner before the journal stops.
	disownedAfter time.Duration
	// stopped is closed when nothing more is sent; wake holds one when there are entries to send.
	stopped, wake chan struct{}

	mu      sync.Mutex
	pending []runnerapi.JournalEntry
	ending  bool
}

// StartJournal returns a Journal that sends until End or Abandon. It stops when the server has rejected it for
// disownedAfter.
func StartJournal(client *runnerapi.Client, disownedAfter time.Duration, log *slog.Logger) *Journal {
	ctx, cancel := context.WithCancel(context.Background())
	j := &Journal{
		send: client.AppendJournal, log: log, cancel: cancel, disownedAfter: disownedAfter,
		stopped: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	go j.run(ctx)
	return j
}

// Add records a change that an apply has done.
func (j *Journal) Add(e engine.Done) {
	if encoded(e) > longestEntry {
		e.ID = ""
	}
	j.mu.Lock()
	j.pending = append(j.pending, e)
	j.mu.Unlock()
	j.poke()
}

// encoded is how long an entry is as it is sent.
func encoded(e runnerapi.JournalEntry) int {
	data, err := json.Marshal(e)
	if err != nil {
		return 0 // there is none for texts
	}
	return len(data)
}

func (j *Journal) poke() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

func (j *Journal) run(ctx context.Context) {
	defer close(j.stopped)
	var rejected interrupt.Rejections
	var batch []runnerapi.JournalEntry // one that is tried again is the same: the first try may land last
	for number, fails := 0, 0; ; {
		if len(batch) == 0 {
			var over bool
			if batch, over = j.take(); over {
				return
			}
		}
		if len(batch) == 0 {
			select {
			case <-j.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		err := j.send(ctx, number, runnerapi.JournalEntries{Entries: batch})
		if ctx.Err() != nil {
			return
		}
		rejected.Record(err)
		switch code := runnerapi.Code(err); {
		case err == nil:
			number, fails = number+1, 0
			j.sent(len(batch))
			batch = nil
		case interrupt.IsRejection(code):
			if fails == 0 {
				j.log.Warn("journal not taken for now", "error", err)
			}
			if rejected.Last(j.disownedAfter) {
				j.log.Warn("journal given up", "error", err)
				return
			}
			select {
			case <-time.After(interrupt.Backoff(fails)):
			case <-ctx.Done():
				return
			}
			fails++
		case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge:
			j.log.Warn("a batch of the journal is left out, since the server does not take "+
				"it", "entries", len(batch), "error", err)
			j.sent(len(batch))
			batch = nil
		default:
			j.log.Warn("journal not delivered", "error", err)
			if 400 <= code && code < 500 && code != http.StatusTooManyRequests {
				return // the server does not want it
			}
		}
	}
}

// take returns what is to be sent next; over: there is nothing else and will be nothing else.
func (j *Journal) take() (batch []runnerapi.JournalEntry, over bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n, size := 0, 0
	for ; n < len(j.pending); n++ {
		if size += encoded(j.pending[n]) + 1; size > runnerapi.LargestBatch-100 && n > 0 {
			break
		}
	}
	return j.pending[:n:n], j.ending && n == 0
}

func (j *Journal) sent(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pending = j.pending[n:]
}

// End accepts nothing else and waits until all has arrived, or ctx is over.
func (j *Journal) End(ctx context.Context) {
	j.mu.Lock()
	j.ending = true
	j.mu.Unlock()
	j.poke()
	select {
	case <-j.stopped:
	case <-ctx.Done():
	}
	j.Abandon()
}

// Abandon drops what was not sent yet.
func (j *Journal) Abandon() {
	j.cancel()
	<-j.stopped
}
