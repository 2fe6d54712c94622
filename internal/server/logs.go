package server

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/bucket"
)

const (
	// LogOffsetHeader carries the offset at which an attempt's log goes on.
	LogOffsetHeader = "Cairn-Log-Offset"
	// largestChunk of a log.
	largestChunk = 1 << 20
	// largestLog of an attempt.
	largestLog = 64 << 20
	// openLogs is how many logs' ends are remembered.
	openLogs = 10_000
)

// appendLog appends to the attempt's log, if the offset is where it ends.
func (s *Server) appendLog(w http.ResponseWriter, r *http.Request, c Caller) error {
	offset, err := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
	if err != nil || offset < 0 {
		return refusef(http.StatusBadRequest, "?offset= has to say where the bytes go")
	}
	data, free, err := s.body(w, r, c.Pod.Namespace, largestChunk)
	if err != nil {
		return err
	}
	defer free()
	next, ok, err := s.logs.append(r.Context(), logFolder(c.Pod.Namespace, c.Run.UID, c.Attempt), offset, data)
	if err != nil {
		return err
	}
	w.Header().Set(LogOffsetHeader, strconv.FormatInt(next, 10))
	if !ok {
		return refusef(http.StatusConflict, "%d", next)
	}
	s.Metrics.logged(len(data))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Logs keeps the attempts' logs in the bucket, in chunks named by their offset.
type Logs struct {
	bucket *bucket.Bucket
	// bells ring when a Run's logs grow.
	bells bells
	mu    sync.Mutex
	open  *lru.Cache[string, *logEnd]
}

// logEnd is where a log ends, as far as this process knows: another one may have written more.
type logEnd struct {
	mu    sync.Mutex
	known bool
	next  int64
}

// NewLogs keeps logs in a bucket.
func NewLogs(b *bucket.Bucket) *Logs {
	open, err := lru.New[string, *logEnd](openLogs)
	if err != nil {
		panic(err) // only for a size below one
	}
	return &Logs{bucket: b, open: open}
}

// logFolder holds the log of an attempt. The operator removes the Run's with the Run.
func logFolder(namespace string, run types.UID, attempt int32) string {
	return fmt.Sprintf("%s/%d", logsFolder(namespace, run), attempt)
}

// logsFolder holds the logs of a Run.
func logsFolder(namespace string, run types.UID) string {
	return fmt.Sprintf("logs/%s/%s", namespace, run)
}

// fit is how a chunk stands to the end of a log.
type fit int

const (
	fitsAtEnd fit = iota
	isThere
	leavesGap
)

// fitChunk says whether n bytes at an offset go on where a log ends. A log only grows and comes from one writer, so
// bytes below its end are the ones that are there.
func fitChunk(next, offset, n int64) fit {
	switch {
	case offset == next:
		return fitsAtEnd
	case offset+n <= next:
		return isThere
	}
	return leavesGap
}

// append writes a chunk if it fits, and tells where the log goes on. Before it says no it looks into the bucket.
func (l *Logs) append(ctx context.Context, folder string, offset int64, data []byte) (next int64, ok bool, err error) {
	end := l.end(folder)
	end.mu.Lock()
	defer end.mu.Unlock()
	n := int64(len(data))
	if !end.known || fitChunk(end.next, offset, n) == leavesGap {
		if end.next, err = l.find(ctx, folder); err != nil {
			return 0, false, err
		}
		end.known = true
	}
	switch fitChunk(end.next, offset, n) {
	case isThere:
		return end.next, true, nil
	case leavesGap:
		return end.next, false, nil
	}
	if n == 0 {
		return end.next, true, nil
	}
	if offset+n > largestLog {
		return 0, false, refusef(http.StatusRequestEntityTooLarge, "the log of an attempt ends at %d bytes", int64(largestLog))
	}
	if err := l.bucket.PutLoose(ctx, chunkKey(folder, offset), data); err != nil {
		end.known = false
		return 0, false, err
	}
	end.next += n
	l.bells.ring(path.Dir(folder))
	return end.next, true, nil
}

func (l *Logs) end(folder string) *logEnd {
	l.mu.Lock()
	defer l.mu.Unlock()
	end, ok := l.open.Get(folder)
	if !ok {
		end = &logEnd{}
		l.open.Add(folder, end)
	}
	return end
}

// find looks for the end of a log in the bucket.
func (l *Logs) find(ctx context.Context, folder string) (int64, error) {
	keys, err := l.bucket.List(ctx, folder)
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	last := keys[len(keys)-1]
	data, err := l.bucket.Get(ctx, last, largestChunk)
	if err != nil {
		return 0, err
	}
	offset, err := chunkOffset(folder, last)
	return offset + int64(len(data)), err
}

func chunkKey(folder string, offset int64) string { return fmt.Sprintf("%s/%012d", folder, offset) }

func chunkOffset(folder, key string) (int64, error) {
	return strconv.ParseInt(strings.TrimPrefix(key, folder+"/"), 10, 64)
}
