package runner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cairn.dev/cairn/internal/runner/attempt"
	"cairn.dev/cairn/internal/runner/interrupt"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/program"
)

var quiet = slog.New(slog.DiscardHandler)

const testToken = "token-of-the-pod"

// pod is a runner in this process, with the real engine.
type pod struct {
	t         testing.TB
	work      string
	inputs    string
	output    *lockedBuffer
	interrupt func()
	ended     chan error
}

// bin is where make tools puts the engine.
func bin(t testing.TB) string {
	t.Helper()
	return filepath.Dir(program.Path(t, "tofu"))
}

// startPod starts a runner with files in its inputs folder.
func startPod(t testing.TB, s *testServer, inputs map[string]string, env ...string) *pod {
	t.Helper()
	p := &pod{t: t, work: cmp.Or(s.work, t.TempDir()), inputs: t.TempDir(), output: &lockedBuffer{},
		ended: make(chan error, 1)}
	for name, text := range inputs {
		path := filepath.Join(p.inputs, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(testToken), 0o600); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + bin(t) + ":/usr/bin:/bin"
	ctx, interrupt := interrupt.WithInterrupt(context.Background())
	p.interrupt = interrupt
	var output io.Writer = p.output
	if s.quiet {
		output = io.Discard
	}
	go func() {
		p.ended <- Run(ctx, Options{
			Server: s.server.URL, CA: s.ca(), Options: attempt.Options{
				TokenFile: token, Work: p.work, Inputs: p.inputs,
				Environ: slices.Concat(
					[]string{path, "HOME=" + filepath.Join(p.work, "home"), "CAIRN_SERVER_CA_PEM=pem"},
					program.Garbage(t), env,
				),
				Output: output, Log: quiet, HookGrace: cmp.Or(s.grace, 200*time.Millisecond),
				Cgroup: s.cgroup, DisownedAfter: 300 * time.Millisecond,
			},
		})
	}()
	t.Cleanup(interrupt)
	return p
}

// wait waits for the pod to end.
func (p *pod) wait() error {
	p.t.Helper()
	select {
	case err := <-p.ended:
		return err
	case <-time.After(2 * time.Minute):
		p.t.Fatalf("the pod does not end\n%s", p.output)
		return nil
	}
}

// run gives orders to one pod and waits for its end.
func run(t testing.TB, s *testServer, inputs map[string]string, orders ...runnerapi.Order) *pod {
	t.Helper()
	p := startPod(t, s, inputs)
	for _, order := range orders {
		s.orders <- order
	}
	s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
	if err := p.wait(); err != nil {
		t.Fatalf("%v\n%s", err, p.output)
	}
	return p
}

// plan makes an order to plan.
func (s *testServer) plan(attempt int32, source string) runnerapi.Order {
	return runnerapi.Order{
		Kind: runnerapi.OrderPlan, Attempt: attempt, Namespace: "prod", Stack: "net", Run: "net-1", Source: source,
		Patience: 5 * time.Second, Timeout: 10 * time.Minute,
	}
}

// planned runs a plan in a pod of its own and gives the order to apply it.
func (s *testServer) planned(order runnerapi.Order, inputs map[string]string) runnerapi.Order {
	s.t.Helper()
	p := run(s.t, s, inputs, order)
	done := s.done(order.Attempt).Done
	if done.Failure != nil || done.Plan == nil {
		s.t.Fatalf("%+v\n%s", done.Failure, p.output)
	}
	order.Kind, order.PlanDigest = runnerapi.OrderApply, done.Plan.Digest
	order.Attempt++
	return order
}

// steps formats the steps of a report that were done: name, then = or ! for succeeded or failed.
func steps(report runnerapi.Report) string {
	var words []string
	for _, word := range strings.Fields(allSteps(report)) {
		if !strings.HasSuffix(word, "-") && !strings.HasSuffix(word, ".") {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// allSteps formats the others too: - for skipped, . for waiting.
func allSteps(report runnerapi.Report) string {
	var words []string
	for _, step := range report.Steps {
		words = append(words, step.Name+map[string]string{"Succeeded": "=", "Failed": "!", "Running": "?",
			"Skipped": "-", "Waiting": "."}[step.State])
	}
	return strings.Join(words, " ")
}

// step finds a step of a report.
func step(t testing.TB, report runnerapi.Report, name string) runnerapi.Step {
	t.Helper()
	for _, step := range report.Steps {
		if step.Name == name {
			return step
		}
	}
	t.Fatalf("there is no step %s in %s", name, allSteps(report))
	return runnerapi.Step{}
}

func (s *testServer) resources() []string {
	var state struct{ Resources []struct{ Name string } }
	json.Unmarshal(s.state, &state)
	var names []string
	for _, r := range state.Resources {
		names = append(names, r.Name)
	}
	return names
}

// executable writes a program for a test to start. No process starts meanwhile: it would inherit the open file, and a
// file that is open for writing cannot be executed.
func executable(t testing.TB, path, script string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
}

// lockedBuffer is a buffer for many goroutines. It has no method of the buffer's but these: what else copies into it
// would do so without the lock.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// wait waits until a condition holds.
func wait(t testing.TB, so func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !so(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the condition does not hold after a minute")
		}
	}
}

// waitDone waits for the last report of an attempt.
func waitDone(t testing.TB, s *testServer, attempt int32) runnerapi.Report {
	t.Helper()
	wait(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		all := s.reports[attempt]
		return len(all) > 0 && all[len(all)-1].Done != nil
	})
	return s.done(attempt)
}
