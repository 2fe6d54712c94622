package report

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runnerapi"
)

// operationsOf returns what the server has of the operations that add adds.
func operationsOf(t *testing.T, secrets *redact.Redactor, add func(*Operations)) []byte {
	t.Helper()
	var have bytes.Buffer
	o := StartOperations(func(_ context.Context, offset int64, data []byte) (int64, error) {
		if offset != int64(have.Len()) {
			t.Errorf("sent at %d, want %d", offset, have.Len())
		}
		have.Write(data)
		return int64(have.Len()), nil
	}, secrets, quiet)
	defer o.Abandon()
	add(o)
	o.End(time.Hour)
	return have.Bytes()
}

func TestOperationsAreLinesWithoutSecrets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		secrets := redact.New()
		secrets.Add("hunter2hunter2")
		start := time.Now().UTC()
		lines := operationsOf(t, secrets, func(o *Operations) {
			o.Add(engine.Done{Address: `a.b["hunter2hunter2"]`, Action: "create", ID: "an ID"},
				runnerapi.OperationStarted)
			time.Sleep(3 * time.Second)
			o.Add(engine.Done{Address: "a.c\n\xff", Action: "update"}, runnerapi.OperationFailed)
		})
		var got []runnerapi.Operation
		for line := range bytes.Lines(lines) {
			var o runnerapi.Operation
			if err := json.Unmarshal(line, &o); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			got = append(got, o)
		}
		want := []runnerapi.Operation{
			{At: start, Address: secrets.String(`a.b["hunter2hunter2"]`), Action: "create", State: "Started"},
			{At: start.Add(3 * time.Second), Address: "a.c\n\ufffd", Action: "update", State: "Failed"},
		}
		if diff := cmp.Diff(want, got); diff != "" || bytes.Contains(lines, []byte("hunter2")) ||
			bytes.Contains(lines, []byte("an ID")) {
			t.Errorf("%s\n%s", diff, lines)
		}
	})
}

func TestOperationsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		address := strings.Repeat("a", 1<<20)
		lines := operationsOf(t, redact.New(), func(o *Operations) {
			for range 20 {
				o.Add(engine.Done{Address: address, Action: "create"}, runnerapi.OperationStarted)
				time.Sleep(time.Second)
			}
		})
		if n := len(lines); n > runnerapi.LargestOperations || n < runnerapi.LargestOperations-2<<20 {
			t.Errorf("%d bytes", n)
		}
	})
}
