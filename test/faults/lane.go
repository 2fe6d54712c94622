package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chart "cairn.dev/cairn/charts/cairn"
	"cairn.dev/cairn/dev/ports"
	"cairn.dev/cairn/test/cloud"
	"cairn.dev/cairn/test/httpstate"
)

// patience is the timeout for conditions that must become true.
const patience = 90 * time.Second

// A lane is an installation of Cairn beside others in the same cluster, which watches one namespace. It runs stories
// one after the other. A failed story leaves objects behind, so its lane is closed.
type lane struct {
	*cluster
	// space is the namespace of Stacks, own that of Cairn, dir the lane's folder: bucket and logs.
	space, own, dir string
	// store is the address of its server.
	store string
	// operators are Cairn's operators, of which one is the leader; server is its server.
	operators []*cairn
	server    *cairn
	// witness watches all changes of Runs and States.
	witness *witness

	clouds *httptest.Server
	cloud  atomic.Pointer[cloud.Cloud]
	// states is the http backend of code with a backend block, at /state of the cloud's URL; code is the Git server.
	states atomic.Pointer[httpstate.Server]
	code   *codeServer
	// ends are called at the end of close.
	ends []func()
}

// laneOptions are the options of a lane.
type laneOptions struct {
	// operators is their number; 0 is one. If there are several, one of them is the leader.
	operators int
	// store is the address at which runners reach the server, if it differs from the one that it listens on.
	store func(listen string) (url string, err error)
	// args are additional arguments of Cairn's processes; bucket returns some for a lane, for a bucket that is not a
	// folder.
	args   []string
	bucket func(ctx context.Context, l *lane) (args []string, err error)
}

// open opens a lane. close ends it.
func (c *cluster) open(ctx context.Context, o laneOptions) (_ *lane, err error) {
	c.mu.Lock()
	c.lanes++
	name := fmt.Sprintf("f%d", c.lanes)
	c.mu.Unlock()
	l := &lane{cluster: c, space: name, own: name + "-cairn", dir: filepath.Join(c.dir, name)}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, err
	}
	l.clouds = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/state" {
			l.states.Load().ServeHTTP(w, r)
			return
		}
		l.cloud.Load().ServeHTTP(w, r)
	}))
	l.cloud.Store(cloud.New())
	l.states.Store(&httpstate.Server{})
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	for _, step := range []func(context.Context) error{l.prepare, l.serveCode, l.watch,
		func(ctx context.Context) error {
			return l.processes(ctx, o)
		}} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("lane %s: %w", name, err)
		}
	}
	return l, nil
}

// prepare creates the namespaces, ServiceAccounts and permissions.
func (l *lane) prepare(ctx context.Context) error {
	for _, name := range []string{l.space, l.own} {
		if err := l.namespace(ctx, name); err != nil {
			return err
		}
	}
	for _, half := range []string{"operator", "server"} {
		access := chart.Access{Account: "cairn-" + half, Namespace: l.own, Halves: []string{half},
			Watched: []string{l.space}}
		objects, err := access.Objects()
		if err != nil {
			return err
		}
		objects = append(objects,
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: access.Account, Namespace: l.own}})
		for _, o := range objects {
			if strings.HasPrefix(o.GetNamespace(), "kube-") {
				continue // it is shared by all lanes, and not requested
			}
			if err := client.IgnoreAlreadyExists(l.Create(ctx, o)); err != nil {
				return err
			}
		}
	}
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cairn-keys", Namespace: l.own}}
	if err := l.Create(ctx, keys); err != nil {
		return err
	}
	password := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "password", Namespace: l.space},
		StringData: map[string]string{"it": canary}}
	if err := l.Create(ctx, password); err != nil {
		return err
	}
	return until(ctx, patience, func(ctx context.Context) error { // pods need it
		return l.Get(ctx, client.ObjectKey{Namespace: l.space, Name: "default"}, &corev1.ServiceAccount{})
	})
}

func (l *lane) processes(ctx context.Context, o laneOptions) (err error) {
	listen, err := ports.Free(ctx, "127.0.0.1")
	if err != nil {
		return err
	}
	store := "https://" + listen
	if o.store != nil {
		if store, err = o.store(listen); err != nil {
			return err
		}
	}
	l.store = "https://" + listen
	args := append([]string{
		"--namespace=" + l.own, "--namespaces=" + l.space, "--runner-tokens=jwks", "--client-certificates=false",
		"--publish-endpoint=false",
		"--bucket=file://" + filepath.Join(l.dir, "bucket"), "--cache=" + filepath.Join(l.dir, "cache"),
		"--allowed-address=127.0.0.0/8",
		"--listen=" + listen, "--server-url=" + store, "--web-listen=0", "--log-level=info", "--drift-interval=0",
		"--runner-image=cairn:dev", "--engine-image=cairn-tools:dev", "--runner-command=" +
			filepath.Join(l.bin, "cairn-runner"),
		"--provider-folder=" + l.providers, "--provider-offline",
	}, o.args...)
	if o.bucket != nil {
		more, err := o.bucket(ctx, l)
		if err != nil {
			return err
		}
		args = append(args, more...)
	}
	if o.operators > 1 {
		args = append(args, "--leader-elect")
		lease := leaseOf(l.own)
		if err := l.Create(ctx, lease); err != nil {
			return err
		}
	}
	for i := range max(1, o.operators) {
		actor := "operator"
		if i > 0 {
			actor = fmt.Sprintf("operator-%d", i+1)
		}
		operator, err := l.startCairn(ctx, "operator", actor, "cairn-operator", args...)
		if err != nil {
			return err
		}
		l.operators = append(l.operators, operator)
		if i == 0 { // it creates the keys, and is the leader
			if err := operator.ready(ctx); err != nil {
				return err
			}
		}
	}
	if l.server, err = l.startCairn(ctx, "server", "server", "cairn-server", args...); err != nil {
		return err
	}
	for _, c := range l.cairns() {
		if err := c.ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// cairns returns all processes of Cairn.
func (l *lane) cairns() []*cairn {
	if l.server == nil {
		return l.operators
	}
	return append(append([]*cairn(nil), l.operators...), l.server)
}

// reset ends all faults, and resets the records for a new story.
func (l *lane) reset() {
	for _, c := range l.cairns() {
		c.OnWrite(nil)
		c.OnEvent(nil)
		c.Reset()
	}
	l.code.reset()
}

// quiet returns how long Cairn has written nothing.
func (l *lane) quiet() time.Duration {
	least := time.Hour
	for _, c := range l.cairns() {
		least = min(least, c.Quiet())
	}
	return least
}

// rested returns an error unless Cairn has written nothing for a time.
func (l *lane) rested(still time.Duration) error {
	if q := l.quiet(); q < still {
		return errors.New("I6: it goes on writing")
	}
	return nil
}

// rest waits until Cairn has written nothing for a time (I6).
func (l *lane) rest(ctx context.Context, still time.Duration) error {
	return until(ctx, patience, func(context.Context) error { return l.rested(still) })
}

// close ends the lane's processes. Its files remain.
func (l *lane) close() {
	for _, c := range l.cairns() {
		c.stop()
	}
	if l.witness != nil {
		l.witness.stop()
	}
	l.clouds.Close()
	for _, end := range l.ends {
		end()
	}
}
