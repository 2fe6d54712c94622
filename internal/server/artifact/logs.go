// Package artifact stores the logs of Runs in the bucket, and names the keys of their plans.
package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cairn.dev/cairn/api/v1alpha1"

	lru "github.com/hashicorp/golang-lru/v2"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/base/broadcast"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/weightedlru"
	"cairn.dev/cairn/internal/server/httpapi"
)

const (
	// MaxChunk is the largest chunk of a log, in bytes.
	MaxChunk = 1 << 20
	// LargestLog of an attempt.
	LargestLog = 64 << 20
	// openLogs is how many logs' ends are remembered.
	openLogs = 10_000
)

// Logs keeps the attempts' logs in the bucket, in chunks named by their offset.
type Logs struct {
	bucket *bucket.Bucket
	// Changes notifies followers when a Run's logs grow.
	Changes broadcast.Broadcaster[string]
	mu      sync.Mutex
	open    *lru.Cache[string, *logEnd]
}

// logEnd is where a log ends, as far as this process knows: another one may have written more.
type logEnd struct {
	mu    sync.Mutex
	known bool
	next  int64
}

// NewLogs keeps logs in a bucket.
func NewLogs(b *bucket.Bucket) *Logs {
	return &Logs{bucket: b, open: weightedlru.Sized[string, *logEnd](openLogs)}
}

// AttemptLogFolder returns the folder with the log of an attempt. The operator deletes it with the Run.
func AttemptLogFolder(namespace string, run types.UID, attempt int32) string {
	return fmt.Sprintf("%s/%d", LogFolder(namespace, run), attempt)
}

// OperationsFolder returns the folder with the operations of an attempt, which are kept like its log.
func OperationsFolder(namespace string, run types.UID, attempt int32) string {
	return fmt.Sprintf("%s/operations-%d", LogFolder(namespace, run), attempt)
}

// LogFolder returns the folder with the logs of a Run.
func LogFolder(namespace string, run types.UID) string {
	return fmt.Sprintf("logs/%s/%s", namespace, run)
}

// fit is where a chunk begins, relative to the end of a log.
type fit int

const (
	fitsAtEnd fit = iota
	isThere
	leavesGap
)

// fitChunk returns whether n bytes at an offset continue where a log ends. A log only grows and comes from one writer,
// so bytes below its end are the ones that are there.
func fitChunk(next, offset, n int64) fit {
	switch {
	case offset == next:
		return fitsAtEnd
	case offset+n <= next:
		return isThere
	}
	return leavesGap
}

// Append writes a chunk if it starts where the log ends, and returns the offset of the end. It reads the bucket before
// it rejects a chunk. A log of more than largest bytes is rejected.
func (l *Logs) Append(
	ctx context.Context, folder string, offset int64, data []byte, largest int64,
) (next int64, ok bool, err error) {
	end := l.end(folder)
	end.mu.Lock()
	defer end.mu.Unlock()
	n := int64(len(data))
	if !end.known || fitChunk(end.next, offset, n) == leavesGap {
		if end.next, err = l.Length(ctx, folder); err != nil {
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
	if offset+n > largest {
		return 0, false, httpapi.Errorf(http.StatusRequestEntityTooLarge, "the log of an attempt ends at %d bytes",
			largest)
	}
	if err := l.bucket.PutLoose(ctx, chunkKey(folder, offset), data); err != nil {
		end.known = false
		return 0, false, err
	}
	end.next += n
	l.Changes.Notify(path.Dir(folder))
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

// Length reads the length of a log from the bucket.
func (l *Logs) Length(ctx context.Context, folder string) (int64, error) {
	keys, err := l.bucket.List(ctx, folder)
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	last := keys[len(keys)-1]
	data, err := l.bucket.Get(ctx, last, MaxChunk)
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

// ReadAt reads bytes of a log from an offset on; none when there are none yet. Usually a chunk starts at the offset.
// Where a reader starts in the middle of one, or two processes wrote the same bytes in other pieces, list has to be
// set: then the log is listed. Bytes that are lost before the end of the log are replaced by a notice of that.
func (l *Logs) ReadAt(ctx context.Context, folder string, at int64, list bool) (data []byte, listed bool, err error) {
	data, lost := l.bucket.Get(ctx, chunkKey(folder, at), MaxChunk)
	if !bucket.IsLost(lost) {
		return data, false, lost
	}
	if !list {
		return nil, false, nil
	}
	chunks, err := l.bucket.List(ctx, folder)
	if err != nil {
		return nil, true, err
	}
	after, _ := slices.BinarySearchFunc(chunks, chunkKey(folder, at+1), strings.Compare)
	if data, err := l.inMiddle(ctx, folder, chunks[:after], at); len(data) > 0 || err != nil {
		return data, true, err
	}
	if after < len(chunks) {
		// It may have been written while the log was listed.
		if data, err := l.bucket.Get(ctx, chunkKey(folder, at), MaxChunk); !bucket.IsLost(err) {
			return data, true, err
		}
		next, err := chunkOffset(folder, chunks[after])
		return lostBytes(next - at), true, err
	}
	if errors.Is(lost, bucket.ErrNotFound) {
		return nil, true, nil // the end
	}
	return nil, true, lost
}

// inMiddle reads bytes from an offset on of a chunk that starts before it.
func (l *Logs) inMiddle(ctx context.Context, folder string, chunks []string, at int64) ([]byte, error) {
	for _, chunk := range slices.Backward(chunks) {
		offset, err := chunkOffset(folder, chunk)
		if err != nil || offset+MaxChunk <= at {
			return nil, err
		}
		data, err := l.bucket.Get(ctx, chunk, MaxChunk)
		if err != nil && !bucket.IsLost(err) {
			return nil, err
		}
		if end := offset + int64(len(data)); end > at {
			return data[at-offset:], nil
		}
	}
	return nil, nil
}

// lostBytes replaces the first of n bytes that are lost, at most a chunk. It has their length, so that offsets stay the
// same.
func lostBytes(n int64) []byte {
	const notice = "\n[a part of this log is lost: the bucket does not have it as Cairn wrote it]\n"
	text := bytes.Repeat([]byte(" "), int(min(n, MaxChunk)))
	copy(text, notice)
	return text
}

// RunChanged wakes those who follow the log of a Run.
func (l *Logs) RunChanged(run *v1alpha1.Run) {
	l.Changes.Notify(LogFolder(run.Namespace, run.UID))
}
