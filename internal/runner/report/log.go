package report

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runnerapi"
)

// Limits of an attempt's log in the server.
const (
	// logBatch is sent at once; less than that waits for logPace after the last batch.
	logBatch = 256 << 10
	logPace  = 500 * time.Millisecond
	// logMost is the most that is sent at once, when much is pending.
	logMost = 1 << 20
	// logPending is how much may wait while the server is away.
	logPending = 8 << 20
	// logTotal is how long a log may be; of what is over it only the last logTail bytes are kept. With those and all
	// notes it is at most the 64 MiB that the server takes.
	logTotal = 63 << 20
	logTail  = 64 << 10
)

// Log sends an attempt's log to the server while it is written. Writing to it never blocks and never fails: when
// the server is away for too long, or the log is too long, a part is left out, and a note has its size.
type Log struct {
	append  func(ctx context.Context, offset int64, data []byte) (int64, error)
	log     *slog.Logger
	cancel  context.CancelFunc
	stopped chan struct{} // closed when nothing more is sent
	wake    chan struct{} // there is text to send

	mu      sync.Mutex
	pending []byte
	flight  int           // how much of pending is being sent, and must stay as it is
	total   int64         // how much was taken
	rest    *process.Tail // the end of what came after logTotal
	over    int           // how much that was
	ending  bool
}

// StartLog sends what is written to the log that it returns until End or Abandon.
func StartLog(send func(context.Context, int64, []byte) (int64, error), log *slog.Logger) *Log {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Log{
		append: send, log: log, cancel: cancel,
		stopped: make(chan struct{}), wake: make(chan struct{}, 1), rest: &process.Tail{Limit: logTail},
	}
	go l.run(ctx)
	return l
}

// Write takes all of p.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ending:
	case l.over > 0 || l.total+int64(len(p)) > logTotal:
		l.over += len(p)
		_, _ = l.rest.Write(p)
	default:
		l.total += int64(len(p))
		l.put(p)
	}
	return len(p), nil
}

// put appends to what is pending. When that is too much, the older half of it goes: the end of a log is the most
// relevant part.
func (l *Log) put(p []byte) {
	if len(l.pending)+len(p) > logPending {
		drop := min(max(len(p), logPending/2), len(l.pending)-l.flight)
		note := fmt.Appendf(nil, "\n[cairn: %d bytes were left out here: the server was away]\n", drop)
		l.pending = append(l.pending[:l.flight:l.flight], append(note, l.pending[l.flight+drop:]...)...)
	}
	l.pending = append(l.pending, p...)
	l.poke()
}

func (l *Log) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run sends what is pending: at once after a quiet time, otherwise in batches.
func (l *Log) run(ctx context.Context) {
	defer close(l.stopped)
	for offset := int64(0); ; {
		batch, over := l.take()
		if over {
			return
		}
		if len(batch) == 0 {
			select {
			case <-l.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		next, err := l.append(ctx, offset, batch)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			l.log.Warn("log not delivered", "error", err)
			if code := runnerapi.Code(err); 400 <= code && code < 500 {
				return // the server does not want it
			}
			next = offset
		}
		offset = l.sent(offset, next)
		l.pace(ctx)
	}
}

// take returns what is to be sent next; over: there is nothing else and will be nothing else.
func (l *Log) take() (batch []byte, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending && l.over > 0 {
		if left := l.over - len(l.rest.Bytes()); left > 0 {
			l.pending = fmt.Appendf(l.pending, "\n[cairn: %d bytes were left out here: the log is too long]\n", left)
		}
		l.pending = append(l.pending, l.rest.Bytes()...)
		l.over = 0
	}
	l.flight = min(len(l.pending), logMost)
	return l.pending[:l.flight:l.flight], l.ending && l.flight == 0
}

// sent takes note of what the server has, and returns the offset to continue from. The server knows best: a batch
// whose response was lost is not sent again.
func (l *Log) sent(offset, next int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := next - offset; 0 < n && n <= int64(l.flight) {
		l.pending = l.pending[n:]
	}
	l.flight = 0
	return next
}

// pace waits until there is enough for another batch, some time has passed, or the log ends.
func (l *Log) pace(ctx context.Context) {
	timer := time.NewTimer(logPace)
	defer timer.Stop()
	for {
		l.mu.Lock()
		enough := l.ending || len(l.pending) >= logBatch
		l.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-l.wake:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// End accepts nothing else and waits until all is sent, at most for so long.
func (l *Log) End(within time.Duration) {
	l.mu.Lock()
	l.ending = true
	l.poke()
	l.mu.Unlock()
	select {
	case <-l.stopped:
	case <-time.After(within):
	}
}

// Abandon drops what is not sent yet.
func (l *Log) Abandon() {
	l.cancel()
	<-l.stopped
}

// Tee writes to the pod's log and to the server's. Errors of the pod's are ignored: then nothing reads it.
type Tee struct {
	Pod    io.Writer
	Server *Log
}

func (t Tee) Write(p []byte) (int, error) {
	_, _ = t.Pod.Write(p)
	return t.Server.Write(p)
}
