package kubelet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"github.com/fsnotify/fsnotify"
)

// logQuery is what is asked for of a log.
type logQuery struct {
	follow bool
	tail   int64 // lines from the end; negative: all
	limit  int64 // bytes; negative: all
}

// parseLogQuery reads the parameters that the API server passes on, and refuses those that need what is not kept.
func parseLogQuery(v url.Values) (logQuery, error) {
	q := logQuery{follow: v.Get("follow") == "true", tail: -1, limit: -1}
	for _, name := range []string{"previous", "timestamps", "sinceSeconds", "sinceTime"} {
		if s := v.Get(name); s != "" && s != "false" {
			return q, fmt.Errorf("%s is not supported: the kubelet of cairn dev keeps one log for each container, "+
				"without times", name)
		}
	}
	for name, n := range map[string]*int64{"tailLines": &q.tail, "limitBytes": &q.limit} {
		s := v.Get(name)
		if s == "" {
			continue
		}
		var err error
		if *n, err = strconv.ParseInt(s, 10, 64); err != nil || *n < 0 {
			return q, fmt.Errorf("%s is not a count: %q", name, s)
		}
	}
	return q, nil
}

// copy copies what is asked for, and with follow goes on as the log grows until ended is closed or ctx is done.
func (q logQuery) copy(ctx context.Context, w http.ResponseWriter, log *os.File, ended <-chan struct{}) error {
	info, err := log.Stat()
	if err != nil {
		return err
	}
	from, err := tailOffset(log, info.Size(), q.tail)
	if err != nil {
		return err
	}
	if _, err := log.Seek(from, io.SeekStart); err != nil {
		return err
	}
	src := &io.LimitedReader{R: log, N: math.MaxInt64}
	if q.limit >= 0 {
		src.N = q.limit
	}
	if !q.follow {
		_, err := io.Copy(w, src)
		return err
	}

	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer func() { _ = watcher.Close() }()
	if err := watcher.Add(log.Name()); err != nil {
		return err
	}
	for over := false; ; {
		if _, err := io.Copy(w, src); err != nil {
			return err
		}
		if err := http.NewResponseController(w).Flush(); err != nil || over || src.N == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			over = true // once more, for what came in between
		case <-watcher.Events:
		case err := <-watcher.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return err
			}
		}
	}
}

// tailOffset is where the last lines of a log of that size begin; negative lines: all of it. A line need not have its
// end yet.
func tailOffset(log io.ReaderAt, size, lines int64) (int64, error) {
	if lines < 0 {
		return 0, nil
	}
	if lines == 0 {
		return size, nil
	}
	const blockSize = 32 << 10
	block := make([]byte, blockSize)
	for end := size; end > 0; {
		begin := max(0, end-blockSize)
		part := block[:end-begin]
		if _, err := log.ReadAt(part, begin); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := bytes.LastIndexByte(part, '\n'); i >= 0; i = bytes.LastIndexByte(part[:i], '\n') {
			if at := begin + int64(i) + 1; at < size { // the newline that ends the log begins no line
				if lines--; lines == 0 {
					return at, nil
				}
			}
		}
		end = begin
	}
	return 0, nil
}

// lastWords are the end of a container's log, as much as a real kubelet takes for a termination message.
func lastWords(path string) string {
	const lines, most = 80, 2048
	log, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = log.Close() }()
	info, err := log.Stat()
	if err != nil {
		return ""
	}
	from, err := tailOffset(log, info.Size(), lines)
	if err != nil {
		return ""
	}
	words := make([]byte, min(most, info.Size()-from))
	if _, err := log.ReadAt(words, info.Size()-int64(len(words))); err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return string(bytes.ToValidUTF8(words, []byte("?")))
}
