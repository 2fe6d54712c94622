package process

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runnerapi"
)

// slowLog is a pod's log that nothing reads for a while, as when the container runtime restarts.
type slowLog struct {
	strings.Builder
	stalled bool
}

func (l *slowLog) Write(p []byte) (int, error) {
	if !l.stalled {
		l.stalled = true
		time.Sleep(outputGrace + time.Second)
	}
	return l.Builder.Write(p)
}

const summary = `{"type":"change_summary","changes":{"add":1,"operation":"apply"}}`

// What a program printed before it ended counts, however slowly it is read.
func TestOutputBeforeTheEndIsRead(t *testing.T) {
	t.Parallel()
	var log slowLog
	launcher := &Launcher{Secrets: redact.New(), Text: &log, Cgroup: t.TempDir()}
	cmd := exec.Command("/bin/sh", "-c", "echo first; sleep 0.2; echo '"+summary+"'; echo last")
	exit, err := launcher.Run(context.Background(), cmd, Options{Name: "it", Events: true, Stop: Interrupt})
	if err != nil || exit.Code != 0 || exit.Events.Done == nil || !strings.HasSuffix(log.String(), "last\n") {
		t.Errorf("%+v, %v\n%s", exit, err, log.String())
	}
}

func TestEventsBeforeTheEndAreRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events")
	const done = `{"type":"apply_complete","hook":{"resource":{"addr":"a"},"action":"create"}}`
	var observed int
	pipe, err := OpenEventPipe(path, func(engine.Done, runnerapi.OperationState) {
		if observed++; observed == 1 {
			time.Sleep(outputGrace + time.Second)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	// The process that is left has the pipe open still.
	cmd := exec.Command("/bin/sh", "-c", "exec >events; echo '"+done+"'; sleep 0.2; echo '"+done+"'; echo '"+summary+
		"'; sleep 5 &")
	cmd.Dir = filepath.Dir(path)
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	events, err := pipe.Close()
	if err != nil || observed != 2 || events.Done == nil {
		t.Errorf("%d, %+v, %v", observed, events, err)
	}
}
