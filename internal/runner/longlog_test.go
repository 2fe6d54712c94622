package runner

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/runnerapi"
)

// A program that prints more than a log may have does not stop the Run. The log has its beginning, a note of what was
// left out, and its end; the runner does not hold more of it than it may send.
func TestLogOfManyBytesIsCut(t *testing.T) {
	bytes := 80 << 20
	if n, err := strconv.Atoi(os.Getenv("LOG_BYTES")); err == nil {
		bytes = n
	}
	for name, line := range map[string]string{
		"lines":    "yes 0123456789abcdef0123456789abcdef0123456789abcdef | head -c %d",
		"one line": "head -c %d /dev/zero | tr '\\000' x",
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t)
			s.quiet = true
			order := s.plan(1, s.put(file("main.tf", two)))
			order.Hooks = []runnerapi.Hook{{Step: "init", When: "Before", Script: "echo begin\n" +
				fmt.Sprintf(line, bytes) + "\necho end\n"}}
			begin := time.Now()
			p := startPod(t, s, nil)
			stop, most := make(chan struct{}), make(chan uint64)
			go func() {
				var peak uint64
				for {
					select {
					case <-stop:
						most <- peak
						return
					case <-time.After(20 * time.Millisecond):
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						peak = max(peak, m.HeapInuse)
					}
				}
			}()
			s.orders <- order
			s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			close(stop)
			if failure := s.done(1).Done.Failure; failure != nil {
				t.Errorf("%+v", failure)
			}
			log := string(s.logs[1])
			peak := <-most
			t.Logf("%d bytes in the log, %s, heap at most %d MiB", len(log), time.Since(begin), peak>>20)
			if peak > 512<<20 { // with the log itself, which the test's server has in memory
				t.Errorf("the runner held %d bytes", peak)
			}
			for _, want := range []string{"begin\n", "[cairn: ", "were left out here", "end\n", "── plan ──"} {
				if !strings.Contains(log, want) {
					t.Errorf("the log does not contain %q", want)
				}
			}
			if len(log) > 64<<20 {
				t.Errorf("the log has %d bytes", len(log))
			}
		})
	}
}
