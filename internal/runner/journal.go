package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/store"
)

// longestEntry is more than any entry of a journal has whose parts are of use: what is longer is told without its ID.
const longestEntry = store.LargestBatch / 4

// journal tells the store what an apply has done, while it does it: what an engine has not written into the state yet when it
// is killed is known by this alone. It never keeps the engine waiting. One batch is sent at a time, until it has arrived; what
// is done meanwhile is the next one.
type journal struct {
	send   func(ctx context.Context, batch int, done store.JournalEntries) error
	log    *slog.Logger
	cancel context.CancelFunc
	// disownedAfter is how long the store may go on to refuse the runner.
	disownedAfter time.Duration
	// stopped is closed when nothing more is sent, and wake is poked when there is something to send.
	stopped, wake chan struct{}

	mu      sync.Mutex
	pending []store.JournalEntry
	ending  bool
}

func (a *attempt) startJournal() *journal {
	ctx, cancel := context.WithCancel(context.Background())
	j := &journal{send: a.client.AppendJournal, log: a.Log, cancel: cancel, disownedAfter: a.patienceWithRefusals(), stopped: make(chan struct{}), wake: make(chan struct{}, 1)}
	go j.run(ctx)
	return j
}

// add takes note of what was done.
func (j *journal) add(d engine.Done) {
	e := store.JournalEntry{Address: d.Address, Type: d.Type, Action: d.Action, IDKey: d.IDKey, ID: d.ID}
	if encoded(e) > longestEntry {
		e.ID = ""
	}
	j.mu.Lock()
	j.pending = append(j.pending, e)
	j.mu.Unlock()
	j.poke()
}

// encoded is how long an entry is as it is sent.
func encoded(e store.JournalEntry) int {
	data, err := json.Marshal(e)
	if err != nil {
		return 0 // there is none for texts
	}
	return len(data)
}

func (j *journal) poke() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

func (j *journal) run(ctx context.Context) {
	defer close(j.stopped)
	var refused refusals
	var batch []store.JournalEntry // one that is tried again is the same: the first try may land last
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
		err := j.send(ctx, number, store.JournalEntries{Entries: batch})
		if ctx.Err() != nil {
			return
		}
		refused.note(err)
		switch code := store.Code(err); {
		case err == nil:
			number, fails = number+1, 0
			j.sent(len(batch))
			batch = nil
		case isRefusal(code):
			if fails == 0 {
				j.log.Warn("journal not taken for now", "error", err)
			}
			if refused.last(j.disownedAfter) {
				j.log.Warn("journal given up", "error", err)
				return
			}
			select {
			case <-time.After(heedAgain(fails)):
			case <-ctx.Done():
				return
			}
			fails++
		case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge:
			j.log.Warn("a batch of the journal is left out, since the store does not take it", "entries", len(batch), "error", err)
			j.sent(len(batch))
			batch = nil
		default:
			j.log.Warn("journal not delivered", "error", err)
			if 400 <= code && code < 500 && code != http.StatusTooManyRequests {
				return // the store does not want it
			}
		}
	}
}

// take gives what is to be sent next; over says that there is nothing more and will be nothing more.
func (j *journal) take() (batch []store.JournalEntry, over bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n, size := 0, 0
	for ; n < len(j.pending); n++ {
		if size += encoded(j.pending[n]) + 1; size > store.LargestBatch-100 && n > 0 {
			break
		}
	}
	return j.pending[:n:n], j.ending && n == 0
}

func (j *journal) sent(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pending = j.pending[n:]
}

// end takes no more and waits until all has arrived, or ctx is over.
func (j *journal) end(ctx context.Context) {
	j.mu.Lock()
	j.ending = true
	j.mu.Unlock()
	j.poke()
	select {
	case <-j.stopped:
	case <-ctx.Done():
	}
	j.abandon()
}

// abandon gives up what was not sent yet.
func (j *journal) abandon() {
	j.cancel()
	<-j.stopped
}

// flush waits until all that was done has arrived, since the report that follows ends the attempt: as long as any request to a store
// that is away.
func (a *attempt) flush(process context.Context, j *journal) {
	ctx, cancel := outlive(process)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, max(a.order.Patience, logLastPatience))
	defer cancel()
	j.end(ctx)
}

// saved says that the state has all that an apply did, and what its plan took in: its engine wrote it and got to its end, since it
// gave back the lock, and nothing is left that it could not write.
func (a *attempt) saved() bool {
	state, err := a.stranded()
	return err == nil && state == nil && (a.proxy.finished() || a.finishedElsewhere())
}

// followed is the reading of events that an engine writes to a file, while it writes them: the file is a named pipe.
type followed struct {
	pipe, open *os.File
	events     engine.Events
	err        error
	done       chan struct{}
}

// follow reads what an engine writes to a path, and tells heard what an apply has done.
func follow(path string, heard func(engine.Done)) (*followed, error) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	pipe, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // without that it would wait here for the engine
	if err != nil {
		return nil, err
	}
	open, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0) // so that it has no end before the engine opens it
	if err != nil {
		_ = pipe.Close()
		return nil, err
	}
	f := &followed{pipe: pipe, open: open, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.events, f.err = engine.FollowEvents(pipe, heard)
	}()
	return f, nil
}

// end gives the events once the engine has ended. Who may hold the file open still is not waited for.
func (f *followed) end() (engine.Events, error) {
	_ = f.open.Close()
	_ = f.pipe.SetReadDeadline(time.Now().Add(openPipes))
	<-f.done
	_ = f.pipe.Close()
	if os.IsTimeout(f.err) {
		f.err = nil
	}
	return f.events, f.err
}
