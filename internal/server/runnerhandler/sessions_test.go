package runnerhandler

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/bucket/buckettest"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/servermetrics"
)

// sessionServer is a server with a bucket, and the events that it records.
type sessionServer struct {
	*API
	testing.TB
	recorder *events.FakeRecorder
}

func newSessionServer(t testing.TB, b *bucket.Bucket) *sessionServer {
	recorder := events.NewFakeRecorder(10)
	return &sessionServer{TB: t, recorder: recorder, API: New(Options{
		Bucket: b, Log: slog.New(slog.DiscardHandler), Events: recorder,
		Metrics: servermetrics.New(prometheus.NewRegistry()),
	})}
}

// expect sends a request of the pod with a key, and checks the error: its HTTP status, or 0.
func (s *sessionServer) expect(code int, c Caller, key, pattern string) {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), "POST", "/", nil)
	r.Pattern = pattern
	if key != "" {
		r.Header.Set(runnerapi.SessionHeader, key)
	}
	err := s.checkSession(r, c)
	w := httptest.NewRecorder()
	if err != nil {
		writeError(w, err)
	}
	switch {
	case (err == nil) != (code == 0) || err != nil && w.Code != code:
		s.Fatalf("%s with key %q: %v", pattern, key, err)
	case code == http.StatusForbidden && w.Header().Get(runnerapi.ReasonHeader) != runnerapi.ReasonOtherSession:
		s.Errorf("the reason is %q", w.Header().Get(runnerapi.ReasonHeader))
	}
}

// recorded are the events since the last call.
func (s *sessionServer) recorded() (all []string) {
	for {
		select {
		case event := <-s.recorder.Events:
			all = append(all, event)
		default:
			return all
		}
	}
}

// callerIn is a pod of a Run.
func callerIn(pod string) Caller {
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "net-1", UID: "run-uid"}}
	return Caller{Pod: auth.Pod{Namespace: "prod", Name: pod, UID: types.UID("uid-of-" + pod)}, Attempt: 1}.of(run)
}

const stepsRoute = "POST /v1/steps"

func TestPodIsBoundToTheFirstKey(t *testing.T) {
	b := buckettest.New(t)
	s, pod := newSessionServer(t, b), callerIn("net-1-apply-1")
	s.expect(0, pod, "key of the runner", stepsRoute)
	s.expect(0, pod, "key of the runner", stepsRoute)
	s.expect(http.StatusForbidden, pod, "key of a thief", stepsRoute)
	s.expect(http.StatusForbidden, pod, "", stepsRoute)
	s.expect(http.StatusBadRequest, pod, strings.Repeat("k", maxSessionKey+1), stepsRoute)
	s.expect(0, callerIn("net-1-apply-2"), "another key", stepsRoute) // of the next pod
	for name, other := range map[string]*sessionServer{"another server": newSessionServer(t, b),
		"after a restart": newSessionServer(t, b)} {
		t.Run(name, func(t *testing.T) {
			other.TB = t
			other.expect(http.StatusForbidden, pod, "", stepsRoute)
			other.expect(http.StatusForbidden, pod, "key of a thief", stepsRoute)
			other.expect(0, pod, "key of the runner", stepsRoute)
		})
	}
	stored, err := b.Get(t.Context(), artifact.SessionKey(pod.Run, pod.Pod.UID), 1<<10)
	if err != nil || strings.Contains(string(stored), "runner") || len(stored) != 64 {
		t.Errorf("the bucket has %q, %v", stored, err)
	}
}

// A runner repeats its first request at another server when the response was lost.
func TestFirstRequestIsRepeatedAtOtherServers(t *testing.T) {
	b, pod := buckettest.New(t), callerIn("net-1-plan-1")
	for range 3 {
		newSessionServer(t, b).expect(0, pod, "key of the runner", stepsRoute)
	}
}

// A misuse is recorded once a minute, however many requests are sent.
func TestMisuseIsRecorded(t *testing.T) {
	b := buckettest.New(t)
	synctest.Test(t, func(t *testing.T) {
		s, pod := newSessionServer(t, b), callerIn("net-1-apply-1")
		s.expect(0, pod, "key of the runner", stepsRoute)
		if got := s.recorded(); len(got) != 0 {
			t.Fatal(got)
		}
		for range 100 {
			s.expect(http.StatusForbidden, pod, "key of a thief", stepsRoute)
		}
		got := s.recorded()
		if len(got) != 1 || !strings.Contains(got[0], "Warning TokenMisused") ||
			!strings.Contains(got[0], "net-1-apply-1") {
			t.Fatal(got)
		}
		if strings.Contains(got[0], "key of") {
			t.Error("the event has a key")
		}
		time.Sleep(misuseInterval)
		s.expect(http.StatusForbidden, pod, "", stepsRoute)
		if got := s.recorded(); len(got) != 1 {
			t.Fatal(got)
		}
	})
}

// A request without a key binds no pod. A state is stored all the same.
func TestFirstRequestHasAKey(t *testing.T) {
	s, pod := newSessionServer(t, buckettest.New(t)), callerIn("net-1-apply-1")
	s.expect(http.StatusBadRequest, pod, "", stepsRoute)
	s.expect(0, pod, "", "POST /v1/state")
	s.expect(0, pod, "key of the runner", stepsRoute)
}

// A user who can write the bucket deletes the session, and waits for a restart of the server: then a hook sends the
// first request. A state is stored all the same.
func TestLostSessionIsNotReplaced(t *testing.T) {
	now := metav1.NowMicro()
	for name, change := range map[string]func(*v1alpha1.Attempt){
		"a step is reported": func(a *v1alpha1.Attempt) {
			a.Steps = []v1alpha1.Step{{Name: "code", State: v1alpha1.StepRunning}}
		},
		"the attempt is finished": func(a *v1alpha1.Attempt) { a.FinishedAt = &now },
	} {
		t.Run(name, func(t *testing.T) {
			b, pod := buckettest.New(t), callerIn("net-1-apply-1")
			newSessionServer(t, b).expect(0, pod, "key of the runner", stepsRoute)
			attempts := []v1alpha1.Attempt{{Number: 1, PodUID: "uid-of-another"}, {Number: 2, PodUID: pod.Pod.UID}}
			change(&attempts[1])
			pod.Run.Status.Attempts = attempts
			newSessionServer(t, b).expect(0, pod, "key of the runner", stepsRoute)
			if err := b.Delete(t.Context(), artifact.SessionKey(pod.Run, pod.Pod.UID)); err != nil {
				t.Fatal(err)
			}
			restarted := newSessionServer(t, b)
			for _, key := range []string{"key of a thief", "", "key of the runner"} {
				restarted.expect(http.StatusGone, pod, key, stepsRoute)
				restarted.expect(http.StatusGone, pod, key, "PUT /v1/rescue")
			}
			restarted.expect(0, pod, "key of the runner", "POST /v1/state")
		})
	}
}

// The binding of a pod is deleted with its Run, and is valid as long as the process caches it.
func TestSessionOfADeletedRun(t *testing.T) {
	s, pod := newSessionServer(t, buckettest.New(t)), callerIn("net-1-apply-1")
	s.expect(0, pod, "key of the runner", stepsRoute)
	pod.Run = nil
	s.expect(0, pod, "key of the runner", "POST /v1/state")
	s.expect(http.StatusForbidden, pod, "key of a thief", "POST /v1/state")
	s.expect(http.StatusForbidden, pod, "", "PUT /v1/rescue")
}

// A session may be unreadable after a restart. A state is stored all the same.
func TestUnreadableSession(t *testing.T) {
	folder, pod := "file://"+t.TempDir(), callerIn("net-1-apply-1")
	newSessionServer(t, buckettest.Open(t, folder)).expect(0, pod, "key of the runner", stepsRoute)
	restarted := newSessionServer(t, buckettest.Open(t, folder)) // with other encryption keys
	restarted.expect(http.StatusGone, pod, "key of the runner", stepsRoute)
	restarted.expect(http.StatusGone, pod, "key of the runner", "PUT /v1/rescue")
	restarted.expect(0, pod, "key of the runner", "POST /v1/state")
}

// boundPods is a server for one pod of one Run, which the Run names once named is closed.
type boundPods struct {
	run   *v1alpha1.Run
	named chan struct{}
}

func (p boundPods) VerifyPod(context.Context, string) (auth.Pod, error) {
	return auth.Pod{Namespace: "prod", Name: "net-1-plan-1", UID: "pod-uid"}, nil
}

func (p boundPods) ByPod(context.Context, types.NamespacedName, types.UID) (*v1alpha1.Run, error) {
	select {
	case <-p.named:
		return p.run, nil
	default:
		return nil, nil
	}
}

func (p boundPods) Next(ctx context.Context, _ types.NamespacedName, _ types.UID, _ int32) (runnerapi.Order, error) {
	select {
	case <-p.named:
		return runnerapi.Order{Kind: runnerapi.OrderBuild, Attempt: 1, Run: "net-1", Stack: "net"}, nil
	case <-ctx.Done():
		return runnerapi.Order{Kind: runnerapi.OrderWait}, nil
	}
}

func (p boundPods) Interrupt(context.Context, types.NamespacedName, types.UID, int32) (runnerapi.Interrupt, error) {
	return runnerapi.Interrupt{}, nil
}

func (p boundPods) Report(context.Context, types.NamespacedName, types.UID, int32, runnerapi.Report) error {
	return nil
}

// Get reads the Run past the cache.
func (p boundPods) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	p.run.DeepCopyInto(o.(*v1alpha1.Run))
	return nil
}

func (p boundPods) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func newBoundPods(t *testing.T) (boundPods, func(key, method, path string) int) {
	p := boundPods{named: make(chan struct{}), run: &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "net-1", UID: "run-uid"},
		Status: v1alpha1.RunStatus{
			Attempts: []v1alpha1.Attempt{{Number: 1, Phase: v1alpha1.AttemptPlan, PodUID: "pod-uid"}}},
	}}
	mux := http.NewServeMux()
	New(Options{
		Bucket: buckettest.New(t), Log: slog.New(slog.DiscardHandler), Stopping: t.Context(),
		Pods: auth.NewPodAuthenticator(p, nil, time.Now), Runs: p, Live: p, Orders: p, Reports: p,
	}).AddRoutes(mux)
	return p, func(key, method, path string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(`{"steps":[]}`))
		r.Header.Set("Authorization", "Bearer token")
		r.Header.Set(runnerapi.AttemptHeader, "1")
		r.Header.Set(runnerapi.SessionHeader, key)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Code
	}
}

// A pod is bound before it gets an order, whether its Run names it before the request of the runner or during it. So a
// later process of the pod cannot bind it.
func TestPodIsBoundBeforeItGetsAnOrder(t *testing.T) {
	for name, waits := range map[string]bool{"the Run names the pod": false, "the Run names the pod later": true} {
		t.Run(name, func(t *testing.T) {
			pod, send := newBoundPods(t)
			if waits {
				if code := send("key of the runner", "GET", "/v1/order?wait=1ms"); code != http.StatusOK {
					t.Fatal(code)
				}
				time.AfterFunc(10*time.Millisecond, func() { close(pod.named) })
			} else {
				close(pod.named)
			}
			if code := send("key of the runner", "GET", "/v1/order"); code != http.StatusOK {
				t.Fatal(code)
			}
			for _, path := range []string{"/v1/order", "/v1/interrupt"} {
				if code := send("key of a thief", "GET", path); code != http.StatusForbidden {
					t.Errorf("%s: %d", path, code)
				}
			}
		})
	}
}

func TestRequestNeedsTheKeyOfItsPod(t *testing.T) {
	pod, send := newBoundPods(t)
	close(pod.named)
	for _, want := range []struct {
		key  string
		code int
	}{{"key of the runner", http.StatusNoContent}, {"key of a thief", http.StatusForbidden},
		{"", http.StatusForbidden}} {
		if code := send(want.key, "POST", "/v1/steps"); code != want.code {
			t.Errorf("%q: %d", want.key, code)
		}
	}
	now := metav1.NowMicro()
	pod.run.Status.Attempts[0].FinishedAt = &now
	if code := send("key of a thief", "POST", "/v1/logs?offset=0"); code != http.StatusForbidden {
		t.Errorf("the log of an attempt that has ended: %d", code)
	}
}

// BenchmarkFirstRequest is what a session adds to the first request of a pod, in a bucket that is a folder;
// BenchmarkLaterRequest to others.
func BenchmarkFirstRequest(b *testing.B) {
	s := newSessionServer(b, buckettest.Open(b, "file://"+b.TempDir()))
	for i := 0; b.Loop(); i++ {
		s.expect(0, callerIn(fmt.Sprint("net-", i)), "key of the runner", stepsRoute)
	}
}

func BenchmarkLaterRequest(b *testing.B) {
	s, pod := newSessionServer(b, buckettest.Open(b, "file://"+b.TempDir())), callerIn("net-1")
	for b.Loop() {
		s.expect(0, pod, "key of the runner", stepsRoute)
	}
}
