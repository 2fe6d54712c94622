package process

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"cairn.dev/cairn/internal/engine"
)

// EventPipe reads the events that an engine writes to a file, while it writes them: the file is a named pipe.
type EventPipe struct {
	read, write *os.File
	events      engine.Events
	err         error
	done        chan struct{}
}

// OpenEventPipe creates the named pipe and calls observe for the operations of an apply.
func OpenEventPipe(path string, observe engine.Observer) (*EventPipe, error) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	// without that it would block here until the engine writes
	read, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	// so that it has no end before the engine opens it
	write, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		_ = read.Close()
		return nil, err
	}
	p := &EventPipe{read: read, write: write, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.events, p.err = engine.FollowEvents(&untilDeadline{file: read}, observe)
	}()
	return p, nil
}

// Close returns the events once the engine has ended. It does not wait for other processes that have the pipe open.
func (p *EventPipe) Close() (engine.Events, error) {
	_ = p.write.Close()
	_ = p.read.SetReadDeadline(time.Now().Add(outputGrace))
	<-p.done
	_ = p.read.Close()
	return p.events, p.err
}
