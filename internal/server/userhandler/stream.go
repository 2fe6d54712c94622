package userhandler

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/userapi"
)

// follow counts a stream of a user, and returns its context.
func (s *API) follow(ctx context.Context, p auth.User) (context.Context, func(), error) {
	end, err := s.following.begin(p.GetName())
	if err != nil {
		return ctx, nil, err
	}
	if !s.followers.TryAcquire(1) {
		end()
		return ctx, nil, httpapi.Errorf(http.StatusTooManyRequests, "%d follow something here already", mostFollowers)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, longestFollow, errStopping)
	ctx, stop := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(s.Stopping, func() { stop(errStopping) })
	return ctx, func() {
		unhook()
		stop(nil)
		cancel()
		s.followers.Release(1)
		end()
	}, nil
}

const eventStreamType = "text/event-stream"

// eventStream sends server-sent events.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func newEventStream(w http.ResponseWriter) *eventStream {
	e := &eventStream{w, http.NewResponseController(w)}
	w.Header().Set("Content-Type", eventStreamType)
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that gathers would hold it back
	w.WriteHeader(http.StatusOK)
	_ = e.control.SetReadDeadline(time.Time{}) // or it would end what is held open
	return e
}

// send sends an event. One without an ID leaves the browser's place where it is.
func (e *eventStream) send(id, event string, data any) error {
	text, err := json.Marshal(data) // JSON of one line
	if err != nil {
		return err
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return e.write(fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, event, text))
}

// beat sends a comment.
func (e *eventStream) beat() error { return e.write(":\n\n") }

func (e *eventStream) write(text string) error {
	_ = e.control.SetWriteDeadline(time.Now().Add(longestSend))
	if _, err := e.w.Write([]byte(text)); err != nil { //nolint:gosec // an event stream is shown by no browser
		return err
	}
	if err := e.control.Flush(); err != nil {
		return err
	}
	_ = e.control.SetWriteDeadline(time.Time{}) // nothing is late while there is nothing to send
	return nil
}

// following is how many logs each user follows, and the ServiceAccounts of each namespace.
type following struct {
	mu   sync.Mutex
	logs map[string]int
}

// begin counts one more log of a user, up to the limit. The returned function ends it.
func (f *following) begin(name string) (end func(), err error) {
	most := map[string]int{name: mostFollowed}
	if namespace, _, err := serviceaccount.SplitUsername(name); err == nil {
		most[serviceaccount.MakeNamespaceGroupName(namespace)] = mostOfAccounts
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for who, most := range most {
		if f.logs[who] >= most {
			return nil, httpapi.Errorf(http.StatusTooManyRequests, "%s follows %d logs and watches already", who, most)
		}
	}
	if f.logs == nil {
		f.logs = map[string]int{}
	}
	for who := range most {
		f.logs[who]++
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for who := range most {
			if f.logs[who]--; f.logs[who] == 0 {
				delete(f.logs, who)
			}
		}
	}, nil
}

// logPieces send a log as server-sent events: "log", a userapi.LogPiece, whose ID is the offset that it leads to, and
// "end" at the end of the log. Characters are whole.
type logPieces struct {
	events *eventStream
	// at is the offset of what is sent next; rest is the beginning of a character.
	at   int64
	rest []byte
}

func (p *logPieces) send(data []byte) error {
	if len(data) == 0 {
		return p.events.beat()
	}
	data = append(p.rest, data...)
	whole := wholeCharacters(data)
	p.rest = append([]byte(nil), data[whole:]...)
	if whole == 0 {
		return nil
	}
	return p.piece(data[:whole])
}

func (p *logPieces) piece(data []byte) error {
	p.at += int64(len(data))
	return p.events.send(strconv.FormatInt(p.at, 10), "log", userapi.LogPiece{Text: string(data)})
}

// end sends the rest, even if a character is incomplete, and the event "end".
func (p *logPieces) end() error {
	if len(p.rest) > 0 {
		if err := p.piece(p.rest); err != nil {
			return err
		}
	}
	return p.events.send("", "end", struct{}{})
}

// wholeCharacters is how many bytes come before a character that is cut off at the end.
func wholeCharacters(data []byte) int {
	for n := len(data) - 1; n >= 0 && n >= len(data)-utf8.UTFMax; n-- {
		if utf8.RuneStart(data[n]) {
			if utf8.FullRune(data[n:]) {
				return len(data)
			}
			return n
		}
	}
	return len(data)
}
