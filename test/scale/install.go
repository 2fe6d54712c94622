package scale

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/test/devcluster"
)

// systemNamespace is the namespace of Cairn.
const systemNamespace = "cairn-system"

// Install is a control plane with Cairn's CRDs, ServiceAccounts and running processes.
type Install struct {
	*devcluster.Cluster
	testing.TB

	Config *rest.Config
	Node   *Node
	// store is the URL of the server, and listen its address.
	store, listen string
	args          []string
}

// Start starts an API server with Cairn's CRDs and a simulated node, until the end of the test. The arguments are
// further ones of `cairn dev`.
func Start(t testing.TB, args ...string) *Install {
	t.Helper()
	c := devcluster.StartDev(t, append([]string{"--bare", "--split"}, args...))
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.UserAgent = -1, "scale"
	if c.WithWatch, err = client.NewWithWatch(config, client.Options{}); err != nil {
		t.Fatal(err)
	}
	i := &Install{Cluster: c, TB: t, Config: config}
	if i.Node, err = NewNode(config, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	i.Node.Failed = func(pod string, err error) { t.Logf("pod %s: %v", pod, err) }
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); i.Node.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	i.listen = devcluster.FreeAddress(t)
	i.store = "https://" + i.listen
	i.args = []string{
		"--namespace=" + systemNamespace, "--allowed-address=127.0.0.0/8", "--bucket=" + i.bucketURL(), "--cache=" +
			filepath.Join(c.Data, "cache"),
		"--listen=" + i.listen, "--server-url=" + i.store, "--web-listen=0", "--log-level=warn", "--drift-interval=0",
		"--runner-image=cairn", "--engine-image=tools", "--engine-image-has-runner",
	}
	return i
}

func (i *Install) bucketURL() string {
	return (&url.URL{Scheme: "file", Path: filepath.Join(i.Data, "bucket")}).String()
}

// Begin starts `cairn-controller operator` or `cairn-controller server` with further arguments, and waits until it is
// ready.
func (i *Install) Begin(half string, args ...string) *Process {
	i.Helper()
	p := i.begin(half, args...)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := p.Ready(ctx); err != nil {
		i.Fatal(err)
	}
	return p
}

func (i *Install) begin(half string, args ...string) *Process {
	i.Helper()
	metrics, health, pprof := devcluster.FreeAddress(i), devcluster.FreeAddress(i), devcluster.FreeAddress(i)
	all := append([]string{
		half, "--kubeconfig=" + filepath.Join(i.Data, half+".kubeconfig"), "--metrics-address=" + metrics,
		"--health-address=" + health, "--pprof-address=" + pprof,
	}, i.args...)
	p, err := Begin(half, filepath.Join(i.Bin, "cairn-controller"), filepath.Join(i.Data, half+".log"),
		append(all, args...)...)
	if err != nil {
		i.Fatalf("%v: run make build first", err)
	}
	p.Metrics, p.Health, p.Pprof = metrics, health, pprof
	i.Cleanup(p.Stop)
	return p
}

// Quiet waits until an operator has reconciled a number of Stacks, and its queues and workers are idle for some
// time. It returns when it became idle, and its metrics.
func (i *Install) Quiet(p *Process, stacks int, deadline time.Duration) (time.Time, Values) {
	i.Helper()
	const calm = time.Second
	var since time.Time
	var done float64
	for end := time.Now().Add(deadline); ; time.Sleep(200 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		v, err := p.Scrape(ctx)
		cancel()
		now := time.Now()
		if now.After(end) || !p.Running() {
			i.Fatalf("%s is not quiet after %s: %v; %s", p.Name, deadline, err, v.queues())
		}
		if err != nil {
			continue // it does not listen yet
		}
		total := v["controller_runtime_reconcile_total"]
		switch {
		case v["controller_runtime_reconcile_total/stack"] < float64(stacks), v["workqueue_depth"] > 0,
			v["controller_runtime_active_workers"] > 0, total != done:
			since, done = now, total
		case now.Sub(since) > calm:
			return since, v
		}
	}
}

func (v Values) queues() string {
	var text []string
	for _, name := range []string{"workqueue_depth", "controller_runtime_active_workers",
		"controller_runtime_reconcile_total", "controller_runtime_reconcile_total/stack"} {
		text = append(text, name+" "+strconv.FormatFloat(v[name], 'f', 0, 64))
	}
	return strings.Join(text, ", ")
}

// mib formats bytes in MiB.
func mib(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }
