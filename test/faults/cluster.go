package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	chart "cairn.dev/cairn/charts/cairn"
	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/dev/authority"
	"cairn.dev/cairn/dev/kubelet"
	"cairn.dev/cairn/dev/process"
	"cairn.dev/cairn/test/cloud"
)

// cluster is a real control plane on this machine, with Cairn's CRDs and policies and a node, and without Cairn's
// processes, which lanes have.
type cluster struct {
	// WithWatch is a client of the API server without a proxy, as a cluster administrator.
	client.WithWatch
	// dir has all files, tools the control plane and the engines, bin has cairn and cairn-runner.
	dir, tools, bin string
	// providers is a folder with the provider of the cloud.
	providers string

	plane     *dev.ControlPlane
	authority *authority.Authority
	group     *process.Group
	stopNode  func()

	mu    sync.Mutex
	lanes int
}

// startCluster starts a cluster with its files in dir. stop ends it.
func startCluster(ctx context.Context, dir, bin string) (c *cluster, err error) {
	c = &cluster{dir: dir, bin: bin, providers: filepath.Join(dir, "providers")}
	if c.tools, err = dev.BinDir(); err != nil {
		return nil, err
	}
	for _, program := range []string{"cairn-controller", "cairn-runner"} {
		if _, err := os.Stat(filepath.Join(bin, program)); err != nil {
			return nil, fmt.Errorf("%w: run make build first", err)
		}
	}
	pki := filepath.Join(dir, "pki")
	for _, folder := range []string{pki, c.providers} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	if c.authority, err = authority.Load(pki, "proxies"); err != nil {
		return nil, err
	}
	if err := cloud.Folder(c.providers); err != nil {
		return nil, err
	}
	if c.plane, err = dev.Start(ctx, c.planeOptions()); err != nil {
		return nil, err
	}
	if c.group, err = process.NewGroup(); err != nil {
		return nil, errors.Join(err, c.plane.Stop(ctx))
	}
	if err := c.fill(ctx); err != nil {
		return nil, errors.Join(err, c.stop(ctx))
	}
	return c, nil
}

func (c *cluster) planeOptions() dev.Options {
	return dev.Options{BinDir: c.tools, DataDir: filepath.Join(c.dir, "controlplane"), Audit: true}
}

func (c *cluster) fill(ctx context.Context) (err error) {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(known); err != nil {
			return err
		}
	}
	if c.WithWatch, err = client.NewWithWatch(c.plane.RESTConfig(), client.Options{Scheme: known}); err != nil {
		return err
	}
	if err := c.install(ctx); err != nil {
		return err
	}
	return c.startNode(ctx)
}

// startNode starts the simulated kubelet.
func (c *cluster) startNode(ctx context.Context) error {
	node, err := kubelet.New(kubelet.Options{
		Config: c.plane.RESTConfig(), Dir: filepath.Join(c.dir, "node"), PathPrefix: c.tools,
		ShutdownGrace: time.Second,
	})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = node.Run(running) // pods that do not run fail the story
	}()
	c.stopNode = func() {
		stop()
		<-ended
	}
	return nil
}

// install applies what the chart has except Cairn's processes, and waits until it takes effect.
func (c *cluster) install(ctx context.Context) error {
	return fs.WalkDir(chart.Manifests, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := chart.Manifests.ReadFile(path)
		if err != nil {
			return err
		}
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
		for {
			o := &unstructured.Unstructured{}
			if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if len(o.Object) == 0 {
				continue
			}
			if err := until(ctx, time.Minute, func(ctx context.Context) error {
				return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("faults"),
					client.ForceOwnership)
			}); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	})
}

// namespace creates a namespace.
func (c *cluster) namespace(ctx context.Context, name string) error {
	return client.IgnoreAlreadyExists(c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

// config returns the client configuration of a ServiceAccount of Cairn.
func (c *cluster) config(namespace, account string) (*rest.Config, error) {
	return c.plane.RESTConfigFor("system:serviceaccount:"+namespace+":"+account, "system:serviceaccounts",
		"system:serviceaccounts:"+namespace, "system:authenticated")
}

// stop ends the cluster.
func (c *cluster) stop(ctx context.Context) error {
	if c.stopNode != nil {
		c.stopNode()
	}
	// The data of the control plane is no longer needed.
	now, cancel := context.WithCancel(context.WithoutCancel(ctx))
	cancel()
	return errors.Join(c.plane.Stop(now), c.group.Close())
}

// until retries a function until it succeeds or a timeout, then it returns the last error.
func until(ctx context.Context, patience time.Duration, try func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			err := try(ctx)
			if ctx.Err() == nil {
				last = err
			}
			return err == nil, nil
		})
	if err != nil && last != nil {
		return fmt.Errorf("after %s: %w", patience, last)
	}
	return err
}
