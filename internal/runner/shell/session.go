// Package shell lets a user work in the runner's pod. The runner holds a session open, and the user enters it
// through Kubernetes (`kubectl exec`, and so `cairn shell`) and Enter. Between the two is a named pipe: each user
// in the session has it open for writing, so that the kernel notifies the runner when the last one has left,
// however that happened.
//
//	runner:  fetch ─► init ─► open the pipe ─► wait ─┬─► all have left
//	                                                 ├─► no user entered
//	Enter:             find the pipe ─► in ─► command ─► out
//	                                             ▲
//	                            canceled, or timed out: SIGTERM to each who is in
package shell

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/runner/workspace"
)

// entryTimeout is how long a session waits for the first user.
const entryTimeout = 5 * time.Minute

// Config is what a shell starts with, in a file that only the user of the pod can read.
type Config struct {
	Dir string   `json:"dir"`
	Env []string `json:"env"`
}

// Session is a shell that users can enter.
type Session struct {
	work workspace.Dir
	pipe *os.File
	// left is closed when a user entered and all have left.
	left chan struct{}

	mu      sync.Mutex
	hold    *os.File // the runner's own end, which keeps the pipe open until a user entered
	members []int    // the processes of those who are in
	ended   string   // how the last one left
}

// Open writes the config and opens the session.
func Open(work workspace.Dir, c Config) (*Session, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(work.ShellConfig(), data, 0o600); err != nil {
		return nil, err
	}
	path := work.ShellPipe()
	if err := os.RemoveAll(path); err != nil {
		return nil, err
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	// Without O_NONBLOCK it would wait for the first user here.
	pipe, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	hold, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	s := &Session{work: work, pipe: pipe, hold: hold, left: make(chan struct{})}
	go s.watch()
	return s, nil
}

// Close ends the session and removes its files.
func (s *Session) Close() {
	s.mu.Lock()
	if s.hold != nil {
		_ = s.hold.Close()
	}
	s.mu.Unlock()
	_ = s.pipe.Close()
	_ = os.Remove(s.work.ShellPipe())
	_ = os.Remove(s.work.ShellConfig())
}

// Wait waits until the session is over, and returns how it ended. A deadline is an end like any other.
func (s *Session) Wait(ctx context.Context, text io.Writer) (message string, err error) {
	fmt.Fprintln(text, "a shell is open; what is done in it is in no log")
	began := time.Now()
	timeout := time.NewTimer(entryTimeout)
	defer timeout.Stop()
	for {
		select {
		case <-s.left:
			return fmt.Sprintf("%s after %s", s.lastExit(), shorten.Duration(time.Since(began).Round(time.Second))), nil
		case <-timeout.C:
			if !s.entered() {
				return "no user entered within " + shorten.Duration(entryTimeout), nil
			}
		case <-ctx.Done():
			if s.entered() {
				s.evict()
			}
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return context.Cause(ctx).Error(), nil
			}
			return "", context.Cause(ctx)
		}
	}
}

// watch reads who enters and leaves until the last one has left, or the session is closed.
func (s *Session) watch() {
	lines := bufio.NewScanner(s.pipe)
	for lines.Scan() {
		s.record(lines.Text())
	}
	if s.entered() {
		close(s.left)
	}
}

// record takes in a line: "in PID", or "out PID CODE".
func (s *Session) record(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var pid, code int
	if n, _ := fmt.Sscanf(line, "in %d", &pid); n == 1 && pid > 1 {
		s.members = append(s.members, pid)
		if s.hold != nil {
			_ = s.hold.Close()
			s.hold = nil
		}
	} else if n, _ := fmt.Sscanf(line, "out %d %d", &pid, &code); n == 2 {
		s.members = slices.DeleteFunc(s.members, func(p int) bool { return p == pid })
		s.ended = fmt.Sprintf("left with exit code %d", code)
	}
}

// entered reports whether a user entered.
func (s *Session) entered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hold == nil
}

// lastExit returns how the last user left.
func (s *Session) lastExit() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.members) > 0 || s.ended == "" { // the process was killed
		return "left without a word"
	}
	return s.ended
}

// evict terminates all who are in, and waits until they have left. Enter ensures that this takes no longer than a
// running engine needs.
func (s *Session) evict() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	signaled := map[int]bool{}
	for {
		s.mu.Lock()
		for _, pid := range s.members {
			if !signaled[pid] {
				signaled[pid] = true
				_ = syscall.Kill(pid, syscall.SIGTERM)
			}
		}
		s.mu.Unlock()
		select {
		case <-s.left:
			return
		case <-tick.C: // a user may have entered meanwhile
		}
	}
}
