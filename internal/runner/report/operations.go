package report

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runnerapi"
)

// Operations sends what an apply does to each resource to the server, as lines of JSON. It does not block the engine,
// and omits what is beyond the limit of the server.
type Operations struct {
	log     *Log
	secrets *redact.Redactor
	size    atomic.Int64
}

// StartOperations sends until End or Abandon.
func StartOperations(
	send func(context.Context, int64, []byte) (int64, error), secrets *redact.Redactor, log *slog.Logger,
) *Operations {
	return &Operations{log: StartLog(send, log), secrets: secrets}
}

// Add records that an operation began or ended.
func (o *Operations) Add(what engine.Done, state runnerapi.OperationState) {
	line, err := json.Marshal(runnerapi.Operation{
		At: time.Now().UTC().Truncate(time.Millisecond), Action: what.Action, State: state,
		Address: strings.ToValidUTF8(o.secrets.String(what.Address), "\ufffd"),
	})
	if err != nil || o.size.Add(int64(len(line)+1)) > runnerapi.LargestOperations {
		return
	}
	_, _ = o.log.Write(append(line, '\n')) // it takes all
}

// End waits until all is sent, at most for so long.
func (o *Operations) End(within time.Duration) { o.log.End(within) }

// Abandon drops what is not sent yet.
func (o *Operations) Abandon() { o.log.Abandon() }
