// Package dev brings up a Kubernetes control plane on one machine, for `cairn dev` and for the tests: a real etcd, a
// real kube-apiserver and a kube-controller-manager with the few controllers that Cairn needs. There is no node; the
// pretend kubelet in dev/kubelet is one.
//
// Everything lives in one folder, which no one else can read, and may be kept:
//
//	lock              held while the control plane runs
//	port              of the API server, the same at each start while it is free
//	pki/              the certificate authority and the key of the service account tokens, kept; and what they signed, renewed
//	etcd/  etcd:1     the data, and the socket it is reached by: etcd has no port
//	audit.log         every write to the API, or every request, when asked for (see Writes)
//	complete          that a start was finished once
//	*.log             what the three said since they were last started
//
// Only the API server listens, on 127.0.0.1. Without requests, nothing is written: there is no leader
// election, no lease, no heartbeat.
package dev

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"cairn.dev/cairn/dev/authority"
	"cairn.dev/cairn/dev/process"
)

// Options of a control plane.
type Options struct {
	// BinDir holds etcd, kube-apiserver and kube-controller-manager; empty is what BinDir() finds.
	BinDir string
	// DataDir is kept, and taken up again by the next control plane that is given it. Empty is a temporary folder,
	// which Stop removes.
	DataDir string
	// Audit writes each change of the API to AuditLog().
	Audit bool
	// AuditReads, with Audit, writes what is only read there too; see Requests.
	AuditReads bool
	// Fsync makes etcd wait for the disk at each write. Without it everything is faster, and data survives the end of
	// any process, but not always that of the machine.
	Fsync bool
	// Install, if set, is called before the controllers start, with the access of an administrator. The garbage
	// collector reads which resources the API has when it starts, and then every 30 seconds: until it does, an object
	// of a CRD that is created later is deleted without the objects that it owns.
	Install func(context.Context, *rest.Config) error
	// Log gets what happens; the zero Logger is silent.
	Log logr.Logger
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	dir      string
	keep     bool
	log      logr.Logger
	lock     *os.File
	group    *process.Group
	pki      *authority.Authority
	endpoint string
	admin    *rest.Config
	token    string

	watchers sync.WaitGroup
	stop     sync.Once
	mu       sync.Mutex
	running  []component // in the order they were started
	stopping bool
	err      error
	done     chan struct{}
}

// startLimit is far more than the slowest machine needs.
const startLimit = 2 * time.Minute

// Start brings a control plane up and returns when all of it works: a pod can be made, and roles count. ctx limits the
// start only; Stop ends what was started.
func Start(ctx context.Context, o Options) (_ *ControlPlane, err error) {
	began := time.Now()
	if o.BinDir == "" {
		if o.BinDir, err = BinDir(); err != nil {
			return nil, err
		}
	}
	if o.BinDir, err = filepath.Abs(o.BinDir); err != nil {
		return nil, fmt.Errorf("find binaries: %w", err)
	}
	c := &ControlPlane{dir: o.DataDir, keep: o.DataDir != "", log: o.Log, done: make(chan struct{})}
	defer func() {
		if err != nil {
			now, cancel := context.WithCancel(context.WithoutCancel(ctx))
			cancel()
			err = errors.Join(err, c.Stop(now))
		}
	}()
	if err := c.prepare(ctx, o); err != nil {
		return nil, err
	}

	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not there after %s: see the logs in %s",
		startLimit, c.dir))
	defer cancel()
	// The API server is started beside etcd and tries to reach it until it is there; it needs longer to get that far.
	complete := filepath.Join(c.dir, "complete")
	fresh := !exists(complete)
	if err := c.start(etcd, o.BinDir, c.etcdArgs(o)); err != nil {
		return nil, err
	}
	if err := c.start(apiServer, o.BinDir, c.apiServerArgs(o)); err != nil {
		return nil, err
	}
	if err := c.await(ctx, "/api/v1/namespaces/default"); err != nil {
		return nil, err
	}
	if o.Install != nil {
		if err := c.await(ctx, readyPaths(false)[0]); err != nil {
			return nil, err
		}
		if err := o.Install(ctx, c.RESTConfig()); err != nil {
			return nil, err
		}
	}
	if err := c.start(controllerManager, o.BinDir, c.controllerManagerArgs()); err != nil {
		return nil, err
	}
	if err := c.await(ctx, readyPaths(fresh)...); err != nil {
		return nil, err
	}
	if err := os.WriteFile(complete, nil, 0o600); err != nil {
		return nil, fmt.Errorf("note that the start is complete: %w", err)
	}
	c.log.Info("Control plane started", "endpoint", c.endpoint, "dir", c.dir, "duration", time.Since(began))
	return c, nil
}

// readyPaths answer 200 once the control plane is up. The hooks left out of a later start only check for objects that
// are there from the first, after a second's pause.
func readyPaths(fresh bool) []string {
	ready := "/readyz"
	if !fresh {
		ready += "?exclude=poststarthook/rbac/bootstrap-roles" +
			"&exclude=poststarthook/scheduling/bootstrap-system-priority-classes"
	}
	return []string{
		ready,
		"/api/v1/namespaces/default/serviceaccounts/default",
		"/api/v1/namespaces/default/configmaps/kube-root-ca.crt",
	}
}

// prepare makes the folder and all the files that the components are started with.
func (c *ControlPlane) prepare(ctx context.Context, o Options) (err error) {
	if c.dir == "" {
		c.dir, err = os.MkdirTemp("", "cairn-dev-")
	} else if c.dir, err = filepath.Abs(c.dir); err == nil {
		err = os.MkdirAll(c.dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	if c.lock, err = lock(filepath.Join(c.dir, "lock")); err != nil {
		return err
	}
	if c.pki, err = loadPKI(filepath.Join(c.dir, "pki")); err != nil {
		return err
	}
	port, err := keptPort(ctx, filepath.Join(c.dir, "port"))
	if err != nil {
		return err
	}
	c.endpoint = fmt.Sprintf("https://127.0.0.1:%d", port)
	policy := AuditPolicy
	if o.AuditReads {
		policy = auditPolicyOfAll
	}
	if err := os.WriteFile(filepath.Join(c.dir, auditPolicyFile), []byte(policy), 0o600); err != nil {
		return fmt.Errorf("write audit policy: %w", err)
	}
	if c.admin, err = c.RESTConfigFor(Admin, "system:masters"); err != nil {
		return err
	}
	c.token = rand.Text()
	if err := os.WriteFile(filepath.Join(c.dir, tokensFile), fmt.Appendf(nil, "%s,%s,%[2]s,\"system:masters\"\n",
		c.token, Admin), 0o600); err != nil {
		return fmt.Errorf("write the admin's token: %w", err)
	}
	manager, err := c.RESTConfigFor("system:kube-controller-manager", "system:masters")
	if err != nil {
		return err
	}
	if err := writeKubeconfig(filepath.Join(c.dir, managerKubeconfig), manager); err != nil {
		return err
	}
	c.group, err = process.NewGroup()
	return err
}

// await waits until each path answers 200, in this order.
func (c *ControlPlane) await(ctx context.Context, paths ...string) error {
	client, err := rest.HTTPClientFor(c.RESTConfig())
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, path := range paths {
		for !answers(ctx, client, c.endpoint+path) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("wait for %s: %w", path, context.Cause(ctx))
			case <-c.done:
				return c.Err()
			case <-tick.C:
			}
		}
	}
	return nil
}

func answers(ctx context.Context, client *http.Client, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// AuditLog is where the writes to the API are kept, to be read with Writes.
func (c *ControlPlane) AuditLog() string { return filepath.Join(c.dir, auditLogFile) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
