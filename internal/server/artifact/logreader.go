package artifact

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/types"
)

// Reader reads the log of an attempt as far as it is kept. It lists the chunks once, and reads each when it gets there.
func (l *Logs) Reader(ctx context.Context, namespace string, run types.UID, attempt int32) io.Reader {
	return &logReader{ctx: ctx, logs: l, folder: AttemptLogFolder(namespace, run, attempt)}
}

type logReader struct {
	ctx    context.Context
	logs   *Logs
	folder string
	listed bool
	chunks []string
	// pos is how far it has read; data is what comes next.
	pos  int64
	data []byte
}

func (r *logReader) Read(p []byte) (int, error) {
	for len(r.data) == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

// next reads a chunk. Two servers may have written the same bytes in chunks that overlap: none is given twice.
func (r *logReader) next() error {
	if !r.listed {
		chunks, err := r.logs.bucket.List(r.ctx, r.folder)
		if err != nil {
			return err
		}
		r.chunks, r.listed = chunks, true
	}
	if len(r.chunks) == 0 {
		return io.EOF
	}
	key := r.chunks[0]
	offset, err := chunkOffset(r.folder, key)
	if err != nil {
		return err
	}
	data, err := r.logs.bucket.Get(r.ctx, key, MaxChunk)
	if err != nil {
		return err
	}
	r.chunks = r.chunks[1:]
	seen := min(max(r.pos-offset, 0), int64(len(data)))
	r.data = data[seen:]
	r.pos = max(r.pos, offset+int64(len(data)))
	return nil
}
