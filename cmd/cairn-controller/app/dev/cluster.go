package dev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/dev/kubelet"
	children "cairn.dev/cairn/dev/process"
)

// systemNamespace is the namespace of Cairn's own objects in `cairn dev`.
const systemNamespace = "cairn-system"

// cluster is a cluster on this machine with Cairn in it.
type cluster struct {
	client.WithWatch
	kubeconfig, bin string

	plane *dev.ControlPlane
	// node is nil and processes is empty for --bare.
	node      *kubelet.Kubelet
	processes []*process
	// group ends the processes with this one.
	group *children.Group
	// webURL is the address of the web UI, and links the directory of links that sign in there. Both are empty if users
	// cannot sign in with tokens.
	webURL, links string
}

// withCluster starts a cluster with Cairn, calls use when it is ready, and stops everything when use returns, ctx is
// done or the control plane ends.
func withCluster(ctx context.Context, o options, use func(context.Context, *cluster) error) error {
	data, remove, err := dataFolder(o.data)
	if err != nil {
		return err
	}
	defer remove()
	if o.kubeconfig == "" {
		o.kubeconfig = filepath.Join(data, "kubeconfig")
	}
	if o.bin == "" {
		if o.bin, err = dev.BinDir(); err != nil {
			return err
		}
	}
	var c client.WithWatch
	plane, err := dev.Start(ctx, dev.Options{
		BinDir: o.bin, DataDir: filepath.Join(data, "controlplane"), Audit: true, AuditReads: o.auditReads,
		Install: func(ctx context.Context, config *rest.Config) (err error) {
			if c, err = newClient(config); err != nil {
				return err
			}
			return install(ctx, c, systemNamespace, o.log)
		},
		Log: o.log.WithName("controlplane"),
	})
	if err != nil {
		return err
	}
	defer func() {
		if err := plane.Stop(context.WithoutCancel(ctx)); err != nil {
			o.log.Error(err, "stop the control plane")
		}
	}()
	running, err := newCluster(ctx, o, data, plane, c)
	if err != nil {
		return err
	}
	err = running.run(ctx, use)
	if running.group != nil {
		err = errors.Join(err, running.group.Close())
	}
	return err
}

// newClient returns a client that has the types of Kubernetes and Cairn.
func newClient(config *rest.Config) (client.WithWatch, error) {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(known); err != nil {
			return nil, err
		}
	}
	return client.NewWithWatch(config, client.Options{Scheme: known})
}

// dataFolder returns the absolute path of the data directory, and a function that removes it if it is temporary.
func dataFolder(data string) (path string, remove func(), err error) {
	if data != "" {
		path, err = filepath.Abs(data)
		return path, func() {}, err
	}
	path, err = os.MkdirTemp("", "cairn-dev-")
	return path, func() { _ = os.RemoveAll(path) }, err // a temporary directory may remain
}

// newCluster creates the node and the processes of a control plane in which Cairn is installed, but does not start
// them.
func newCluster(ctx context.Context, o options, data string, plane *dev.ControlPlane, c client.WithWatch) (*cluster,
	error) {
	if err := plane.WriteKubeconfig(o.kubeconfig); err != nil {
		return nil, err
	}
	var err error
	kubeconfigs := map[string]string{}
	for _, process := range o.processes() {
		if kubeconfigs[process], err = access(ctx, c, plane, process, data, o.namespaces); err != nil {
			return nil, err
		}
	}
	cluster := &cluster{WithWatch: c, kubeconfig: o.kubeconfig, bin: o.bin, plane: plane}
	if o.bare {
		return cluster, nil
	}
	cluster.node, err = kubelet.New(kubelet.Options{
		Config:        plane.RESTConfig(),
		Dir:           filepath.Join(data, "pods"),
		PathPrefix:    o.bin,
		ShutdownGrace: time.Minute, // for engines to save their state
		Log:           o.log.WithName("kubelet"),
	})
	if err != nil {
		return nil, err
	}
	if cluster.group, err = children.NewGroup(); err != nil {
		return nil, err
	}
	if err := cluster.addProcesses(ctx, o, data, kubeconfigs); err != nil {
		return nil, err
	}
	return cluster, signIn{cluster.webURL, plane.AdminToken()}.write(data)
}

// path returns the entries of PATH for cairn, kubectl and the engines.
func (c *cluster) path() string {
	program, err := os.Executable()
	if err != nil {
		return c.bin
	}
	return filepath.Dir(program) + string(os.PathListSeparator) + c.bin
}

// run runs the cluster until use returns.
func (c *cluster) run(ctx context.Context, use func(context.Context, *cluster) error) error {
	ctx, done := context.WithCancel(ctx)
	defer done()
	g, ctx := errgroup.WithContext(ctx)
	// The server stops after the pods, so that an interrupted engine can save its state.
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	for _, p := range c.processes {
		g.Go(func() error { p.run(serving); return nil })
	}
	g.Go(func() error {
		defer stopServing()
		if c.node == nil {
			return nil
		}
		return c.node.Run(ctx)
	})
	g.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-c.plane.Done():
			return fmt.Errorf("the control plane ended: %w", c.plane.Err())
		}
	})
	g.Go(func() error {
		defer done()
		for _, p := range c.processes {
			if err := p.ready(ctx); err != nil {
				return fmt.Errorf("wait for cairn-controller %s: %w", p.name, err)
			}
		}
		return use(ctx, c)
	})
	return g.Wait()
}
