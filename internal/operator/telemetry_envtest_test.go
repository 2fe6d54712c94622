//go:build envtest

package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/dev/ports"
	"cairn.dev/cairn/test/apiserver"
)

// process is a Cairn that runs in this process.
type process struct {
	*testing.T
	metrics, health, pprof, bucket string
	log                            *lines
	stop                           func()
}

// lines are the log lines.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := ports.Free(t.Context(), "127.0.0.1")
	apiserver.Must(t, err)
	return address
}

// start runs Cairn in a namespace of its own.
func start(t *testing.T, change func(*Options)) *process {
	t.Helper()
	system := apiserver.New(t).Namespace
	r := &process{T: t, metrics: freeAddress(t), health: freeAddress(t), pprof: freeAddress(t),
		bucket: filepath.Join(t.TempDir(), "bucket"), log: &lines{}}
	store := freeAddress(t)
	o := Options{
		Namespace: system, BucketURL: "file://" + r.bucket, CacheDir: t.TempDir(), ServerAddress: store,
		ServerURL: "https://" + store, WebAddress: freeAddress(t),
		MetricsAddress: r.metrics, HealthAddress: r.health, PprofAddress: r.pprof, Server: true, again: true,
		Log: logr.FromSlogHandler(slog.NewJSONHandler(r.log, nil)),
	}
	change(&o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, apiserver.Config, o) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// get sends a request to one of its addresses.
func (r *process) get(address, path string) (int, string) {
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
	apiserver.Must(r.T, err)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	apiserver.Must(r.T, err)
	return answer.StatusCode, string(body)
}

// until waits for a response that matches.
func (r *process) until(address, path string, is func(code int, body string) bool) {
	r.Helper()
	var code int
	var body string
	err := wait.PollUntilContextTimeout(r.Context(), 50*time.Millisecond, 3*time.Minute, true,
		func(context.Context) (bool, error) {
			code, body = r.get(address, path)
			return is(code, body), nil
		})
	if err != nil {
		r.Fatalf("%s: still %d\n%s\n%s", path, code, body, r.log)
	}
}

func isReady(code int, _ string) bool { return code == http.StatusOK }

func TestMetricsHealthAndLogs(t *testing.T) {
	env := apiserver.New(t)
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "canary"},
		Spec: v1alpha1.StackSpec{Source: v1alpha1.Source{ConfigMap: &v1alpha1.ObjectRef{Name: "missing"}}}}
	env.Make(stack)
	state := &v1alpha1.State{ObjectMeta: metav1.ObjectMeta{Name: "canary"}, Status: v1alpha1.StateStatus{
		Size: 42, Resources: 3, Lock: &v1alpha1.Lock{ID: "1", Since: metav1.Unix(1000, 0)},
	}}
	env.Make(state)
	// The second operator is on standby: it is ready, and exports no fleet metrics, since sums would count them twice.
	other, lease := "another-operator", &coordinationv1.Lease{}
	r := start(t, func(o *Options) {
		o.Operator, o.LeaderElection = true, true
		now, long := metav1.NowMicro(), int32(600)
		lease = &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: "cairn-operator"},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &other, RenewTime: &now, AcquireTime: &now,
				LeaseDurationSeconds: &long},
		}
		apiserver.Must(t, apiserver.Kube.Create(t.Context(), lease))
	})
	r.until(r.health, "/readyz", isReady)
	if _, body := r.get(r.metrics, "/metrics"); !strings.Contains(body, `cairn_leader{shard="0"} 0`) ||
		strings.Contains(body, "cairn_stacks{") {
		t.Errorf("on standby it exports\n%s", body)
	}
	apiserver.Must(t, apiserver.Kube.Delete(t.Context(), lease)) // the leader ends
	if code, body := r.get(r.health, "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz is %d: %s", code, body)
	}
	in := `namespace="` + env.Namespace + `"`
	for _, want := range []string{
		`cairn_stacks{` + in + `,ready="False",reason="SourceNotFound"} 1`,
		`cairn_state_bytes{` + in + `} 42`,
		`cairn_state_resources{` + in + `} 3`,
		`cairn_state_locks{` + in + `} 1`,
		`cairn_state_locks_oldest_timestamp_seconds{` + in + `} 1000`,
		`cairn_leader{shard="0"} 1`,
		`cairn_build_info{process="serve",version=`,
		`cairn_api_writes_total{resource="stacks/status",result="success",verb="patch"}`,
		`cairn_bucket_operations_total{operation="exists",result="success"}`,
		`cairn_server_requests_total{code="204",route="GET /healthz"}`,
	} {
		r.until(r.metrics, "/metrics", func(_ int, body string) bool { return strings.Contains(body, want) })
	}
	_, body := r.get(r.metrics, "/metrics")
	if name := regexp.MustCompile(`(?m)^[^#\n]*canary.*$`).FindString(body); name != "" {
		t.Errorf("a Stack's name is in the metrics: %s", name)
	}

	// Profiles are served at their own address only.
	if code, _ := r.get(r.pprof, "/debug/pprof/goroutine?debug=1"); code != http.StatusOK {
		t.Errorf("profiles: %d", code)
	}
	for _, address := range []string{r.metrics, r.health} {
		if code, _ := r.get(address, "/debug/pprof/"); code != http.StatusNotFound {
			t.Errorf("%s serves profiles too: %d", address, code)
		}
	}

	// A deleted namespace is removed from the gauges.
	apiserver.Must(t, env.Client.Delete(t.Context(), state))
	r.until(r.metrics, "/metrics", func(_ int, body string) bool {
		return !strings.Contains(body, `cairn_state_locks{`+in)
	})

	r.stop()
	for _, line := range strings.Split(strings.TrimSpace(r.log.String()), "\n") {
		var logged struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &logged); err != nil {
			t.Errorf("not JSON: %s", line)
		}
		if strings.Contains(line, "context canceled") {
			t.Errorf("the shutdown is logged as an error: %s", line)
		}
	}
}

// TestProcessIsNotReadyWithoutItsBucket checks readiness and the log while the bucket cannot be read, and after it is
// available again.
func TestProcessIsNotReadyWithoutItsBucket(t *testing.T) {
	r := start(t, func(*Options) {})
	r.until(r.health, "/readyz", isReady)
	aside := r.bucket + ".aside"
	apiserver.Must(t, os.Rename(r.bucket, aside))
	apiserver.Must(t, os.WriteFile(r.bucket, nil, 0o600))
	r.until(r.health, "/readyz/bucket", func(code int, _ string) bool { return code == http.StatusInternalServerError })
	if code, _ := r.get(r.health, "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz is %d: a restart would not help", code)
	}
	apiserver.Must(t, os.Remove(r.bucket))
	apiserver.Must(t, os.Rename(aside, r.bucket))
	r.until(r.health, "/readyz", isReady)
	if logged := r.log.String(); !strings.Contains(logged, "the bucket cannot be read") ||
		!strings.Contains(logged, "the bucket can be read") {
		t.Errorf("not logged:\n%s", logged)
	}
}
