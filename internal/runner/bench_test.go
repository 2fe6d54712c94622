package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"cairn.dev/cairn/internal/runnerapi"
)

// BenchmarkBare is what the engine takes by itself for what BenchmarkPod does: init, plan and apply.
func BenchmarkBare(b *testing.B) {
	for b.Loop() {
		dir := b.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(two), 0o600); err != nil {
			b.Fatal(err)
		}
		for _, args := range [][]string{{"init"}, {"plan", "-out=p"}, {"apply", "p"}} {
			cmd := exec.Command(filepath.Join(bin(b), "tofu"), args...)
			cmd.Dir = dir
			cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "CHECKPOINT_DISABLE=1"}
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
		}
	}
}

// BenchmarkPod is a plan and its apply in a new pod, from the first request for an order to the last report.
func BenchmarkPod(b *testing.B) {
	s := newTestServer(b)
	source := s.put(file("main.tf", two))
	for b.Loop() {
		s.state = nil
		p := startPod(b, s, nil)
		order := s.plan(1, source)
		order.Outputs = true
		s.orders <- order
		first := waitDone(b, s, 1)
		order.Kind, order.Attempt, order.PlanDigest = runnerapi.OrderApply, 2, first.Done.Plan.Digest
		s.orders <- order
		s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
		if err := p.wait(); err != nil || s.done(2).Done.Failure != nil {
			b.Fatalf("%v, %+v", err, s.done(2).Done.Failure)
		}
		clear(s.reports)
		clear(s.logs)
	}
}
