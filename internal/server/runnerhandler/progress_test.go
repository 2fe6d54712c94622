package runnerhandler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/auth"
)

// written remembers what is reported and when.
type written struct {
	began time.Time
	took  time.Duration
	mu    sync.Mutex
	got   []string
	err   error
}

func (w *written) Report(_ context.Context, _ types.NamespacedName, pod types.UID, attempt int32,
	r runnerapi.Report) error {
	time.Sleep(w.took)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = append(w.got, fmt.Sprintf("%s %s/%d: %d steps, done %v", time.Since(w.began), pod, attempt, len(r.Steps),
		r.Done != nil))
	return w.err
}

func steps(n int) runnerapi.Report { return runnerapi.Report{Steps: make([]runnerapi.Step, n)} }

func from(pod types.UID) Caller { return Caller{Pod: auth.Pod{Namespace: "ns", UID: pod}, Attempt: 1} }

func inBubble(t *testing.T, to *written, do func(ctx context.Context, p *progress)) {
	synctest.Test(t, func(t *testing.T) {
		to.began = time.Now()
		p := newProgress(to, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); p.run(ctx) }()
		do(t.Context(), p)
		cancel()
		<-ended
		if len(p.byPod) > 0 {
			t.Errorf("%d pods are never forgotten", len(p.byPod))
		}
	})
}

func TestNewestProgressIsWrittenOnceASecond(t *testing.T) {
	var to written
	inBubble(t, &to, func(_ context.Context, p *progress) {
		for n := 1; n <= 5; n++ {
			p.add(from("a"), steps(n))
			time.Sleep(300 * time.Millisecond)
		}
		p.add(from("b"), steps(1))
		time.Sleep(time.Minute)
	})
	want := []string{"1s a/1: 4 steps, done false", "2.2s a/1: 5 steps, done false", "2.5s b/1: 1 steps, done false"}
	if diff := cmp.Diff(want, to.got); diff != "" {
		t.Fatal(diff)
	}
}

func TestLastReportReplacesPendingProgress(t *testing.T) {
	var to written
	inBubble(t, &to, func(ctx context.Context, p *progress) {
		p.add(from("a"), steps(1))
		time.Sleep(100 * time.Millisecond)
		if err := p.finish(ctx, from("a"), runnerapi.Report{Done: &runnerapi.Done{}}); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
	})
	if diff := cmp.Diff([]string{"100ms a/1: 0 steps, done true"}, to.got); diff != "" {
		t.Fatal(diff)
	}
}

func TestLastReportIsWrittenAfterProgressInFlight(t *testing.T) {
	to := written{took: 2 * time.Second}
	inBubble(t, &to, func(ctx context.Context, p *progress) {
		p.add(from("a"), steps(1))
		time.Sleep(1500 * time.Millisecond) // it is being written now
		if err := p.finish(ctx, from("a"), runnerapi.Report{Done: &runnerapi.Done{}}); err != nil {
			t.Error(err)
		}
	})
	want := []string{"3s a/1: 1 steps, done false", "5s a/1: 0 steps, done true"}
	if diff := cmp.Diff(want, to.got); diff != "" {
		t.Fatal(diff)
	}
}

func TestLastReportReturnsItsError(t *testing.T) {
	to := written{err: errors.New("away")}
	inBubble(t, &to, func(ctx context.Context, p *progress) {
		if err := p.finish(ctx, from("a"), runnerapi.Report{Done: &runnerapi.Done{}}); !errors.Is(err, to.err) {
			t.Errorf("got %v", err)
		}
	})
}

func TestPendingProgressIsWrittenWhenTheServerStops(t *testing.T) {
	var to written
	inBubble(t, &to, func(_ context.Context, p *progress) { p.add(from("a"), steps(1)) })
	if diff := cmp.Diff([]string{"0s a/1: 1 steps, done false"}, to.got); diff != "" {
		t.Fatal(diff)
	}
}
