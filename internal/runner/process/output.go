package process

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Tail keeps the end of what is written to it.
type Tail struct {
	Limit int
	kept  bytes.Buffer
}

func (t *Tail) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(0, n-t.Limit):]
	if over := t.kept.Len() + len(p) - t.Limit; over > 0 {
		t.kept.Next(over)
	}
	t.kept.Write(p)
	return n, nil
}

// Bytes returns what is kept, until the next write.
func (t *Tail) Bytes() []byte { return t.kept.Bytes() }

// ErrAnswerTooLarge is the error of a Buffer that is full.
var ErrAnswerTooLarge = errors.New("the engine's answer is too large")

// Buffer keeps what a program prints, and fails once that is more than its limit.
type Buffer struct {
	limit int
	kept  bytes.Buffer
	full  bool
}

// NewBuffer returns a Buffer that keeps at most so many bytes.
func NewBuffer(limit int) *Buffer { return &Buffer{limit: limit} }

func (b *Buffer) Write(p []byte) (int, error) {
	if b.full = b.full || b.kept.Len()+len(p) > b.limit; b.full {
		return 0, ErrAnswerTooLarge
	}
	return b.kept.Write(p)
}

// Bytes returns what was written.
func (b *Buffer) Bytes() []byte { return b.kept.Bytes() }

// Reset frees what was written.
func (b *Buffer) Reset() { b.kept = bytes.Buffer{} }

// Overflowed reports whether the program printed more than the limit.
func (b *Buffer) Overflowed() bool { return b.full }

// merged lets a program's two outputs write to one text.
type merged struct {
	mu sync.Mutex
	to io.WriteCloser
}

func (m *merged) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.to.Write(p)
}

// pipe passes on what a program and all its descendants print, until none of them has it open or close is called.
type pipe struct {
	read, write *os.File
	done        chan struct{}
	// err is why not all of it was passed on.
	err error
}

// pipes are the one or two of a program.
type pipes []*pipe

// startPipes puts pipes between a program and its one or two outputs.
func startPipes(cmd *exec.Cmd) (pipes, error) {
	out, err := startPipe(cmd.Stdout)
	if err != nil {
		return nil, err
	}
	if cmd.Stderr == cmd.Stdout {
		cmd.Stdout, cmd.Stderr = out.write, out.write
		return pipes{out}, nil
	}
	errs, err := startPipe(cmd.Stderr)
	if err != nil {
		return nil, errors.Join(err, out.close())
	}
	cmd.Stdout, cmd.Stderr = out.write, errs.write
	return pipes{out, errs}, nil
}

func startPipe(to io.Writer) (*pipe, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &pipe{read: read, write: write, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_, p.err = io.Copy(to, &untilDeadline{file: read})
		_ = read.Close() // a closed pipe fails its writers instead of blocking them
	}()
	return p, nil
}

// close waits for outputGrace at most while a process has the pipe open still, and passes on what was written by then.
// Its error is that not all was passed on.
func (all pipes) close() error {
	var err error
	for _, p := range all {
		err = errors.Join(err, p.close())
	}
	return err
}

func (p *pipe) close() error {
	_ = p.write.Close()
	_ = p.read.SetReadDeadline(time.Now().Add(outputGrace))
	<-p.done
	return p.err
}

// pipeCapacity is how many bytes Linux keeps in a pipe.
const pipeCapacity = 64 << 10

// untilDeadline reads a pipe to its end or, once its read deadline is over, what is in it: its reader may be slow, and
// a program that has ended wrote it before.
type untilDeadline struct {
	file *os.File
	left *bytes.Reader // what was in it after the deadline; nil before
}

func (r *untilDeadline) Read(p []byte) (int, error) {
	if r.left == nil {
		n, err := r.file.Read(p)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		left, err := available(r.file)
		if err != nil {
			return 0, err
		}
		r.left = bytes.NewReader(left)
	}
	return r.left.Read(p)
}

// available returns what is in a pipe, without waiting.
func available(pipe *os.File) ([]byte, error) {
	if err := pipe.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	conn, err := pipe.SyscallConn()
	if err != nil {
		return nil, err
	}
	data, n := make([]byte, pipeCapacity), 0
	var failed error
	err = conn.Read(func(fd uintptr) bool {
		n, failed = syscall.Read(int(fd), data)
		return true
	})
	if errors.Is(failed, syscall.EAGAIN) {
		return nil, err
	}
	return data[:max(n, 0)], errors.Join(err, failed)
}
