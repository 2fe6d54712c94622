package report

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cairn.dev/cairn/internal/runnerapi"
)

// logServer is the server's end of a log.
type logServer struct {
	mu      sync.Mutex
	data    []byte
	batches []string
	// refuse is how the next appends fail; deaf makes them arrive without an answer.
	refuse []error
	deaf   bool
	slow   time.Duration
}

func (s *logServer) append(ctx context.Context, offset int64, data []byte) (int64, error) {
	select {
	case <-time.After(s.slow):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.refuse) > 0 {
		err := s.refuse[0]
		s.refuse = s.refuse[1:]
		return 0, err
	}
	if offset != int64(len(s.data)) {
		return int64(len(s.data)), nil
	}
	s.data = append(s.data, data...)
	s.batches = append(s.batches, string(data))
	if s.deaf {
		s.deaf = false
		return 0, errors.New("connection reset")
	}
	return int64(len(s.data)), nil
}

func (s *logServer) sent() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.batches, "|")
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func TestLogIsSentImmediatelyAndThenInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s logServer
		l := StartLog(s.append, quiet)
		defer l.Abandon()
		io.WriteString(l, "one ")
		synctest.Wait()
		io.WriteString(l, "two ")
		io.WriteString(l, "three ")
		synctest.Wait()
		if got := s.sent(); got != "one " {
			t.Errorf("at once: %q", got)
		}
		time.Sleep(logPace)
		synctest.Wait()
		if got := s.sent(); got != "one |two three " {
			t.Errorf("after a while: %q", got)
		}
		time.Sleep(time.Minute)
		io.WriteString(l, "four ")
		synctest.Wait()
		if got := s.sent(); got != "one |two three |four " {
			t.Errorf("after a quiet time: %q", got)
		}
		l.Write(bytes.Repeat([]byte("x"), logBatch))
		synctest.Wait()
		if got := len(s.sent()); got < logBatch {
			t.Errorf("a full batch waits: %d bytes", got)
		}
		io.WriteString(l, "end")
		begin := time.Now()
		l.End(time.Minute)
		if took := time.Since(begin); took != 0 || !strings.HasSuffix(s.sent(), "|end") {
			t.Errorf("the end took %s", took)
		}
	})
}

func TestLogSurvivesAnUnavailableServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := logServer{refuse: []error{errors.New("away"), &runnerapi.Error{Code: 503}}}
		l := StartLog(s.append, quiet)
		defer l.Abandon()
		io.WriteString(l, "one ")
		synctest.Wait()
		io.WriteString(l, "two")
		time.Sleep(10 * logPace)
		s.mu.Lock()
		s.deaf = true
		s.mu.Unlock()
		io.WriteString(l, " three")
		synctest.Wait()
		io.WriteString(l, " four")
		l.End(time.Hour)
		if got := string(s.data); got != "one two three four" {
			t.Errorf("%q", got)
		}
	})
}

func TestRejectedLogIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := logServer{refuse: []error{&runnerapi.Error{Code: 403}}}
		l := StartLog(s.append, quiet)
		defer l.Abandon()
		io.WriteString(l, "one")
		synctest.Wait()
		io.WriteString(l, "two")
		begin := time.Now()
		l.End(time.Hour)
		if s.sent() != "" || time.Since(begin) != 0 {
			t.Errorf("%q after %s", s.sent(), time.Since(begin))
		}
	})
}

func TestLogUsesBoundedMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := logServer{slow: time.Minute}
		l := StartLog(s.append, quiet)
		defer l.Abandon()
		line := strings.Repeat("x", 1<<20-1) + "\n"
		io.WriteString(l, "first\n")
		synctest.Wait()
		for range 20 {
			io.WriteString(l, line)
		}
		if n := len(l.pending); n > logPending+1000 {
			t.Errorf("%d bytes are pending", n)
		}
		io.WriteString(l, "last\n")
		l.End(24 * time.Hour)
		got := string(s.data)
		if !strings.HasPrefix(got, "first\n") ||
			!strings.Contains(got, "bytes were left out here: the server was away") ||
			!strings.HasSuffix(got, "last\n") {
			t.Errorf("%q", got[:100])
		}
	})
}

func TestLogHasALimitedSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s logServer
		l := StartLog(s.append, quiet)
		defer l.Abandon()
		for range logTotal>>20 + 10 {
			io.WriteString(l, strings.Repeat("x", 1<<20-1)+"\n")
			synctest.Wait()
		}
		io.WriteString(l, "Error: the last line\n")
		l.End(time.Hour)
		got := string(s.data)
		if len(got) > logTotal+logTail+1000 ||
			!strings.Contains(got, "bytes were left out here: the log is too long") ||
			!strings.HasSuffix(got, "Error: the last line\n") {
			t.Errorf("%d bytes, %q", len(got), got[len(got)-100:])
		}
	})
}

// The last text stays last, even if it would have fit where a longer text before it did not.
func TestEndOfALongLogIsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s logServer
		l := StartLog(s.append, quiet)
		defer l.Abandon()
		for range logTotal>>20 - 1 {
			io.WriteString(l, strings.Repeat("x", 1<<20-1)+"\n")
			synctest.Wait()
		}
		io.WriteString(l, strings.Repeat("y", 1<<20-64)+"\n")
		synctest.Wait()
		io.WriteString(l, strings.Repeat("z", 100)+"\n")
		io.WriteString(l, "Error: the last line\n")
		l.End(time.Hour)
		if got := string(s.data); !strings.HasSuffix(got, "z\nError: the last line\n") {
			t.Errorf("%q", got[len(got)-200:])
		}
	})
}

func TestHangingLogIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := logServer{slow: 24 * time.Hour}
		l := StartLog(s.append, quiet)
		io.WriteString(l, "one")
		begin := time.Now()
		l.End(time.Second)
		l.Abandon()
		if took := time.Since(begin); took != time.Second {
			t.Errorf("took %s", took)
		}
	})
}
