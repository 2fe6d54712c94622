package scale

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

// UserAgent is that of the node's requests to the API server, which are not Cairn's.
const UserAgent = "scale-node"

// Node simulates the pods of Cairn.
type Node struct {
	// Hold returns how long the apply of a Stack takes; nil for no time.
	Hold func(namespace, stack string) time.Duration
	// Failed is called for each runner that failed.
	Failed func(pod string, err error)

	api    kubernetes.Interface
	dir    string
	pods   sync.Map // types.UID to context.CancelFunc
	work   sync.WaitGroup
	ended  atomic.Int64
	number atomic.Int64
}

// NewNode returns a node that stores its pods' tokens in a folder.
func NewNode(config *rest.Config, dir string) (*Node, error) {
	config = rest.CopyConfig(config)
	config.UserAgent, config.QPS = UserAgent, -1
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Node{api: api, dir: dir}, nil
}

// Ended returns the number of finished pods.
func (n *Node) Ended() int { return int(n.ended.Load()) }

// Run runs pods until ctx is done, and waits for those in progress.
func (n *Node) Run(ctx context.Context) {
	watched := cache.NewFilteredListWatchFromClient(n.api.CoreV1().RESTClient(), "pods", metav1.NamespaceAll,
		func(o *metav1.ListOptions) {
			o.LabelSelector, o.FieldSelector = runinfo.LabelRun, fields.Everything().String()
		})
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: watched, ObjectType: &corev1.Pod{}, Transform: onlyWhatIsRun,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) { n.begin(ctx, o.(*corev1.Pod)) },
			DeleteFunc: func(o any) {
				if pod, ok := o.(*corev1.Pod); ok {
					n.end(pod.UID)
				}
			},
		},
	})
	informer.RunWithContext(ctx)
	n.work.Wait()
}

// onlyWhatIsRun drops everything but the name of a finished pod.
func onlyWhatIsRun(o any) (any, error) {
	if pod, ok := o.(*corev1.Pod); ok {
		pod.ManagedFields = nil
		if pod.Status.Phase == corev1.PodSucceeded {
			pod.Spec = corev1.PodSpec{}
		}
	}
	return o, nil
}

func (n *Node) begin(ctx context.Context, pod *corev1.Pod) {
	if pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	if _, there := n.pods.LoadOrStore(pod.UID, cancel); there {
		cancel()
		return
	}
	n.work.Go(func() {
		defer n.end(pod.UID)
		if err := n.live(ctx, pod); err != nil && ctx.Err() == nil {
			if n.Failed != nil {
				n.Failed(pod.Namespace+"/"+pod.Name, err)
			}
			_ = n.phase(ctx, pod, corev1.PodFailed) // a failed program, or the pod is deleted
		}
		n.ended.Add(1)
	})
}

func (n *Node) end(uid types.UID) {
	if cancel, ok := n.pods.LoadAndDelete(uid); ok {
		cancel.(context.CancelFunc)()
	}
}

// live runs a pod until its end.
func (n *Node) live(ctx context.Context, pod *corev1.Pod) error {
	token := filepath.Join(n.dir, fmt.Sprint(n.number.Add(1)))
	defer os.Remove(token) //nolint:errcheck // the folder is removed with the test
	if err := n.token(ctx, pod, token); err != nil {
		return err
	}
	if err := n.phase(ctx, pod, corev1.PodRunning); err != nil {
		return err
	}
	options := runnerapi.ClientOptions{TokenFile: token, Patience: 10 * time.Minute}
	container := pod.Spec.Containers[0]
	for _, arg := range container.Command {
		if url, ok := strings.CutPrefix(arg, "--server="); ok {
			options.URL = url
		}
	}
	for _, e := range container.Env {
		if e.Name == "CAIRN_SERVER_CA_PEM" {
			options.CA = []byte(e.Value)
		}
	}
	client, err := runnerapi.NewClient(options)
	if err != nil {
		return err
	}
	defer client.Close() // as at the end of a runner's process
	r := runner{client: client, hold: n.Hold}
	if err := r.run(ctx); err != nil {
		return err
	}
	return n.phase(ctx, pod, corev1.PodSucceeded)
}

// token requests the pod's own token, as a kubelet does.
func (n *Node) token(ctx context.Context, pod *corev1.Pod, file string) error {
	seconds := int64(3600)
	got, err := n.api.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName,
		&authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{
				Audiences: []string{runnerapi.Audience}, ExpirationSeconds: &seconds,
				BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name,
					UID: pod.UID},
			},
		}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("token: %w", err)
	}
	return os.WriteFile(file, []byte(got.Status.Token), 0o600)
}

func (n *Node) phase(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase) error {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"phase":%q}}`, pod.UID, phase)
	_, err := n.api.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch,
		metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("status %s: %w", phase, err)
	}
	return nil
}
