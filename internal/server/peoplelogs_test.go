package server

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestALogIsReadFromAnyByteHoweverItWasCut(t *testing.T) {
	const text = "0123456789abcdefghijklmnopqrstuvwxyz"
	for name, chunks := range map[string][][2]int{
		"in one piece":                       {{0, 36}},
		"in pieces":                          {{0, 10}, {10, 20}, {20, 36}},
		"by two processes at once":           {{0, 10}, {10, 30}, {10, 20}, {20, 25}, {25, 36}},
		"with a piece that another one goes": {{0, 20}, {5, 10}, {20, 36}},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLogs(memoryBucket(t))
			for _, c := range chunks {
				if err := l.bucket.PutLoose(t.Context(), chunkKey("logs/ns/uid/1", int64(c[0])), []byte(text[c[0]:c[1]])); err != nil {
					t.Fatal(err)
				}
			}
			for from := range len(text) + 3 {
				got, at := "", int64(from)
				for {
					data, _, err := l.from(t.Context(), "logs/ns/uid/1", at, true)
					if err != nil {
						t.Fatal(err)
					}
					if len(data) == 0 {
						break
					}
					got, at = got+string(data), at+int64(len(data))
				}
				if want := text[min(from, len(text)):]; got != want {
					t.Errorf("from %d: got %q", from, got)
				}
			}
		})
	}
}

func TestALogIsListedOnlyWhenAsked(t *testing.T) {
	l := NewLogs(memoryBucket(t))
	if _, ok, err := l.append(t.Context(), "logs/ns/uid/1", 0, []byte("text")); err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, test := range []struct {
		at           int64
		list, listed bool
		want         string
	}{{0, true, false, "text"}, {0, false, false, "text"}, {2, false, false, ""}, {2, true, true, "xt"}, {4, false, false, ""}, {4, true, true, ""}} {
		data, listed, err := l.from(t.Context(), "logs/ns/uid/1", test.at, test.list)
		if err != nil || listed != test.listed || string(data) != test.want {
			t.Errorf("%+v: got %q, %v, %v", test, data, listed, err)
		}
	}
}

func TestAnAppendWakesThoseWhoFollowTheRun(t *testing.T) {
	l := NewLogs(memoryBucket(t))
	mine, leave := l.bells.listen(logsFolder("ns", "uid"))
	other, leaveOther := l.bells.listen(logsFolder("ns", "uid-2"))
	for i := range 3 { // news are not lost when nobody reads, and are no queue
		if _, _, err := l.append(t.Context(), logFolder("ns", "uid", 1), int64(i), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if len(mine) != 1 || len(other) != 0 {
		t.Fatalf("news: %d and %d", len(mine), len(other))
	}
	<-mine
	(&Server{logs: l}).RunChanged(&v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", UID: "uid"}})
	if len(mine) != 1 {
		t.Error("a change of the Run is no news")
	}
	leave()
	leaveOther()
	if len(l.bells.ears) > 0 {
		t.Errorf("left behind: %v", l.bells.ears)
	}
}

func TestBellsMayBeRungWhileOthersComeAndGo(t *testing.T) {
	var b bells
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			news, leave := b.listen(fmt.Sprint(i % 5))
			b.ring(fmt.Sprint(i % 5))
			<-news
			leave()
		})
	}
	all.Wait()
	if len(b.ears) > 0 {
		t.Errorf("left behind: %v", b.ears)
	}
}

// A proxy cuts what is silent for a minute, and a reader cannot tell a log that is silent from a connection that is dead.
func TestASilentLogSaysThatItLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		f := &follower{pieces: &logPieces{events: newEventStream(w)}}
		if err := f.send([]byte("plan\n")); err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); time.Since(began) < time.Minute; {
			if err := f.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if beats := strings.Count(w.Body.String(), ":\n\n"); beats != 2 {
			t.Errorf("%d beats in %q", beats, w.Body.String())
		}
	})
}

func TestAnAttemptIsOver(t *testing.T) {
	now := metav1.NowMicro()
	run := func(phase v1alpha1.RunPhase, attempts ...v1alpha1.Attempt) *v1alpha1.Run {
		return &v1alpha1.Run{Status: v1alpha1.RunStatus{Phase: phase, Attempts: attempts}}
	}
	for name, test := range map[string]struct {
		run  *v1alpha1.Run
		want bool
	}{
		"not before it begins":             {run(v1alpha1.PhaseQueued), false},
		"not while it is at work":          {run(v1alpha1.PhasePlanning, v1alpha1.Attempt{Number: 2}), false},
		"when it is finished":              {run(v1alpha1.PhasePlanning, v1alpha1.Attempt{Number: 2, FinishedAt: &now}), true},
		"when there is a later one":        {run(v1alpha1.PhasePlanning, v1alpha1.Attempt{Number: 2}, v1alpha1.Attempt{Number: 3}), true},
		"when the Run is finished":         {run(v1alpha1.PhaseCanceled), true},
		"not when an earlier one finished": {run(v1alpha1.PhasePlanning, v1alpha1.Attempt{Number: 1, FinishedAt: &now}), false},
	} {
		if got := isOver(test.run, 2); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	if strings.Contains(logFolder("ns", "uid", 12), "//") || logFolder("ns", "uid", 12) != "logs/ns/uid/12" {
		t.Error(logFolder("ns", "uid", 12))
	}
}
