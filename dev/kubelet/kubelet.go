package kubelet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"cairn.dev/cairn/dev/process"
)

// UserAgent of all that the kubelet asks of the API server.
const UserAgent = "cairn-kubelet"

// address of the node and of all its pods.
const address = "127.0.0.1"

// Options of a kubelet.
type Options struct {
	// Config is the access to the API server. It must be allowed to write nodes, pods, their bindings and status, and
	// events, and to read Secrets and ConfigMaps and make tokens everywhere.
	Config *rest.Config
	// NodeName is that of the node, "cairn-dev" by default.
	NodeName string
	// Dir keeps the folders of the pods. A kubelet that is started on it again knows which pods it had.
	Dir string
	// PathPrefix is a folder of programs that comes first in the PATH of containers; what an image would have.
	PathPrefix string
	// ShutdownGrace limits the time that the containers of a pod have to end when Run's ctx does. By default each pod
	// has what it asks for in terminationGracePeriodSeconds.
	ShutdownGrace time.Duration
	// Log gets what happens; the zero Logger is silent.
	Log logr.Logger
}

// Kubelet is one node.
type Kubelet struct {
	o     Options
	api   kubernetes.Interface
	group *process.Group

	mu       sync.Mutex
	pods     map[types.UID]*pod
	draining chan struct{} // closed when no pod is started any more
	running  sync.WaitGroup
}

// New makes a kubelet; Run runs it, once.
func New(o Options) (*Kubelet, error) {
	if o.NodeName == "" {
		o.NodeName = "cairn-dev"
	}
	// Processes have working directories of their own.
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, fmt.Errorf("kubelet: %w", err)
	}
	if o.PathPrefix != "" {
		if o.PathPrefix, err = filepath.Abs(o.PathPrefix); err != nil {
			return nil, fmt.Errorf("kubelet: %w", err)
		}
	}
	config := rest.CopyConfig(o.Config)
	config.UserAgent = UserAgent
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("kubelet: %w", err)
	}
	config.QPS = -1 // a pod must not wait for others; the API server says when it is too much
	o.Config = config
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubelet: %w", err)
	}
	return &Kubelet{o: o, api: api, pods: map[types.UID]*pod{}, draining: make(chan struct{})}, nil
}

// Run is the node, until ctx is done. It returns when no process of a pod is left: they are signaled to end, have their
// grace period for it, and are killed.
func (k *Kubelet) Run(ctx context.Context) (err error) {
	if err := os.MkdirAll(filepath.Join(k.o.Dir, "pods"), 0o700); err != nil {
		return fmt.Errorf("kubelet: %w", err)
	}
	if k.group, err = process.NewGroup(); err != nil {
		return fmt.Errorf("kubelet: %w", err)
	}
	defer func() { _ = k.group.Close() }()
	logs, err := k.listen(ctx)
	if err != nil {
		return fmt.Errorf("kubelet: %w", err)
	}

	// What serves the pods ends after the pods.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, serving := errgroup.WithContext(klog.NewContext(serving, k.o.Log))
	g.Go(func() error { return logs.serve(serving) })
	g.Go(func() error { return k.watch(ctx, serving, logs.port) })
	g.Go(func() error {
		defer stop()
		select {
		case <-ctx.Done():
		case <-serving.Done():
		}
		k.drain()
		return nil
	})
	if err := g.Wait(); err != nil {
		return fmt.Errorf("kubelet: %w", err)
	}
	return nil
}

// watch registers the node and then follows the pods until serving is done.
func (k *Kubelet) watch(ctx, serving context.Context, port int32) error {
	if err := k.register(ctx, port); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	informer := coreinformers.NewPodInformer(k.api, metav1.NamespaceAll, 0, cache.Indexers{})
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { k.see(serving, obj.(*corev1.Pod)) },
		UpdateFunc: func(_, obj any) { k.see(serving, obj.(*corev1.Pod)) },
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			k.lose(obj.(*corev1.Pod))
		},
	})
	if err != nil {
		return err
	}
	var swept sync.WaitGroup
	swept.Go(func() {
		if cache.WaitForCacheSync(serving.Done(), handler.HasSynced) {
			k.sweep()
			k.o.Log.Info("Node is ready", "node", k.o.NodeName)
		}
	})
	informer.RunWithContext(serving)
	swept.Wait()
	return nil
}

// see takes in the newest state of a pod. A pod that is new is run by a goroutine of its own.
func (k *Kubelet) see(ctx context.Context, obj *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pods[obj.UID]
	if p == nil {
		dir := podDir(filepath.Join(k.o.Dir, "pods", string(obj.UID)))
		do := decide(obj, k.o.NodeName, dir.started())
		if do == ignore || k.drained() {
			return
		}
		p = newPod(ctx, k, obj, dir)
		k.pods[obj.UID] = p
		k.running.Go(func() {
			if !p.run(ctx, do) {
				k.drop(p)
			}
		})
	}
	if obj.DeletionTimestamp != nil {
		p.delete(obj)
	}
}

// lose takes in that a pod is no longer in the API.
func (k *Kubelet) lose(obj *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pods[obj.UID]; p != nil {
		delete(k.pods, obj.UID)
		p.vanish()
	}
}

// drop removes a pod, so that the next event decides about it again.
func (k *Kubelet) drop(p *pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.pods, p.obj.UID)
}

// drain ends all pods and waits for them.
func (k *Kubelet) drain() {
	k.mu.Lock()
	close(k.draining)
	for _, p := range k.pods {
		grace := p.grace()
		if k.o.ShutdownGrace > 0 {
			grace = min(grace, k.o.ShutdownGrace)
		}
		p.stop(errShutdown, grace)
	}
	k.mu.Unlock()
	k.running.Wait()
}

func (k *Kubelet) drained() bool {
	select {
	case <-k.draining:
		return true
	default:
		return false
	}
}

// find returns the pod of that name, or nil.
func (k *Kubelet) find(namespace, name string) *pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pods {
		if p.obj.Namespace == namespace && p.obj.Name == name {
			return p
		}
	}
	return nil
}

// sweep removes the folders of pods that went away while no kubelet was there.
func (k *Kubelet) sweep() {
	folders, err := os.ReadDir(filepath.Join(k.o.Dir, "pods"))
	if err != nil {
		k.o.Log.Error(err, "List the folders of pods")
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range folders {
		if k.pods[types.UID(f.Name())] != nil {
			continue
		}
		if err := os.RemoveAll(filepath.Join(k.o.Dir, "pods", f.Name())); err != nil {
			k.o.Log.Error(err, "Remove the folder of a pod that is gone", "uid", f.Name())
		}
	}
}
