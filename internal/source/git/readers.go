package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// mostReaders is how many processes read objects at the same time, for each mirror.
const mostReaders = 4

// readers are long-lived processes of `git cat-file --batch`: an object costs a round trip through a pipe and no
// start of a process. They are started when they are needed and end when they are not, or with the Mirror.
type readers struct {
	m *Mirror

	mu    sync.Mutex
	idle  []*reader
	turns chan struct{} // has as many as are in use
	// age is counted up by close: a reader of an older age is not used again.
	age int
	// timers is how many run, or end a reader.
	timers sync.WaitGroup
}

// reader is one process. Only one caller has it at a time.
type reader struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	age int
	// bored ends it when it was idle for restTime.
	bored *time.Timer
}

// object is what a reader returns.
type object struct {
	id   string
	data []byte
}

// missing means that the mirror has no such object.
type missing struct{ name string }

func (e *missing) Error() string { return fmt.Sprintf("object %s is not in the mirror", e.name) }

func isMissing(err error) bool {
	_, is := errors.AsType[*missing](err)
	return is
}

// Blob returns the content of a file. ErrTooLarge when it has more than limit bytes, ErrEmpty when nothing
// was fetched yet.
func (m *Mirror) Blob(ctx context.Context, id string, limit int64) ([]byte, error) {
	if m.Empty() {
		return nil, errEmpty
	}
	o, err := m.readers.read(ctx, id, "blob", limit)
	return o.data, err
}

// SizeError is the ErrTooLarge of one object.
type SizeError struct {
	ID string
	// Size of the object, and the Limit of the call, in bytes.
	Size, Limit int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("object %s has %d bytes, and the limit is %d", e.ID, e.Size, e.Limit)
}

// Unwrap returns ErrTooLarge.
func (e *SizeError) Unwrap() error { return ErrTooLarge }

func (r *readers) read(ctx context.Context, name, kind string, limit int64) (object, error) {
	o := object{}
	err := r.stream(ctx, name, kind, func(id string, size int64, content io.Reader) (err error) {
		if size > limit {
			return &SizeError{ID: id, Size: size, Limit: limit}
		}
		o = object{id: id, data: make([]byte, size)}
		_, err = io.ReadFull(content, o.data)
		return err
	})
	return o, err
}

// stream returns an object to a function, which need not read all of it.
func (r *readers) stream(
	ctx context.Context, name, kind string, f func(id string, size int64, content io.Reader) error,
) error {
	if id := strings.TrimSuffix(name, "^{commit}"); !isID(id) { // anything else could be two lines, or a ref
		return fmt.Errorf("%.100q is no ID of an object", id)
	}
	p, err := r.take(ctx)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, p.kill)
	whole, err := p.ask(name, kind, f)
	if !stop() || !whole { // it was killed, or has not read all of the object
		p.end()
		p = nil
	}
	r.release(p)
	if ctx.Err() != nil {
		return stopped(ctx, "reading "+name)
	}
	if isMissing(err) && kind == "blob" || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.m.suspect.Store(true) // a file that a tree has is always there
	}
	return err
}

// ask also reports whether all of the answer was read, so that the next can be requested.
func (p *reader) ask(name, kind string, f func(string, int64, io.Reader) error) (whole bool, err error) {
	if _, err := io.WriteString(p.in, name+"\n"); err != nil {
		return false, fmt.Errorf("ask for %s: %w", name, err)
	}
	line, err := p.out.ReadSlice('\n')
	if err != nil {
		return false, fmt.Errorf("ask for %s: %w", name, err)
	}
	answer := strings.Fields(string(line))
	if len(answer) == 2 && (answer[1] == "missing" || answer[1] == "ambiguous") {
		return true, &missing{name}
	}
	if len(answer) != 3 {
		return false, fmt.Errorf("ask for %s: git answers %.100q", name, line)
	}
	size, err := strconv.ParseInt(answer[2], 10, 64)
	if err != nil || size < 0 {
		return false, fmt.Errorf("ask for %s: git answers %.100q", name, line)
	}
	content := &io.LimitedReader{R: p.out, N: size}
	if answer[1] != kind {
		err = fmt.Errorf("object %s is a %s, not a %s", name, answer[1], kind)
	} else if err = f(answer[0], size, content); err == nil && content.N > 0 {
		_, err = io.Copy(io.Discard, content)
	}
	if err != nil {
		return false, err
	}
	end, err := p.out.ReadByte()
	return err == nil && end == '\n', err
}

// take waits for one of mostReaders.
func (r *readers) take(ctx context.Context) (*reader, error) {
	select {
	case r.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, stopped(ctx, "waiting to read")
	}
	r.mu.Lock()
	age := r.age
	if n := len(r.idle); n > 0 {
		p := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.wake(p)
		r.mu.Unlock()
		return p, nil
	}
	r.mu.Unlock()
	p, err := r.start(age)
	if err != nil {
		r.release(nil)
		return nil, err
	}
	return p, nil
}

// release returns a reader to the idle ones, or the turn alone when it ended.
func (r *readers) release(p *reader) {
	r.mu.Lock()
	if p != nil && p.age == r.age {
		r.idle = append(r.idle, p)
		r.rest(p)
		p = nil
	}
	r.mu.Unlock()
	if p != nil {
		p.end()
	}
	<-r.turns
}

// start a process. It ends with the Mirror, not with the caller that happened to need it first.
func (r *readers) start(age int) (*reader, error) {
	cmd := r.m.git(r.m.ctx, command{args: []string{"cat-file", "--batch"}})
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	return &reader{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 64<<10), age: age}, nil
}

// close ends all that are idle, and the others once they are returned. New ones may be started after.
func (r *readers) close() {
	r.mu.Lock()
	idle := r.idle
	r.idle = nil
	for _, p := range idle {
		r.wake(p)
	}
	r.age++
	r.mu.Unlock()
	for _, p := range idle {
		p.end()
	}
}

// wait until none is in use, and none ends.
func (r *readers) wait() {
	for range mostReaders {
		r.turns <- struct{}{}
	}
	r.timers.Wait()
	for range mostReaders {
		<-r.turns
	}
}

func (p *reader) kill() { _ = p.cmd.Process.Kill() }

// end waits until it ended.
func (p *reader) end() {
	p.kill()
	_ = p.cmd.Wait() // killed, as asked
}

// restTime is how long an idle reader is kept: there may be a thousand mirrors, most of which are read after a
// push.
const restTime = time.Minute

// rest lets a reader that is idle end in a while. The caller holds mu.
func (r *readers) rest(p *reader) {
	r.timers.Add(1)
	p.bored = time.AfterFunc(restTime, func() {
		defer r.timers.Done()
		r.mu.Lock()
		at := slices.Index(r.idle, p)
		if at >= 0 {
			r.idle = slices.Delete(r.idle, at, at+1)
		}
		r.mu.Unlock()
		if at >= 0 { // else it was taken just now
			p.end()
		}
	})
}

// wake undoes rest. The caller holds mu.
func (r *readers) wake(p *reader) {
	if p.bored.Stop() {
		r.timers.Done()
	}
}
