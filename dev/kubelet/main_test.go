package kubelet_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/dev/kubelet"
	"cairn.dev/cairn/test/leaks"
)

// patience with whatever a test waits for.
const patience = time.Minute

// One control plane and one node for all tests of this package.
var (
	plane      *dev.ControlPlane
	api        kubernetes.Interface
	nodeDir    string
	kubeconfig string
)

// helperDir set makes the test binary a kubelet of its own, to be killed: see restart_test.go.
const helperDir = "KUBELET_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		helper(dir)
	}
	os.Exit(leaks.Run(func() int {
		code, err := run(m)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		return code
	}, func() {}))
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "kubelet-test-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	nodeDir, kubeconfig = filepath.Join(dir, "node"), filepath.Join(dir, "kubeconfig")
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	if plane, err = dev.Start(ctx, dev.Options{DataDir: filepath.Join(dir, "plane"), Audit: true}); err != nil {
		return 0, err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if stopped := plane.Stop(stopping); err == nil {
			err = stopped
		}
	}()
	if err := plane.WriteKubeconfig(kubeconfig); err != nil {
		return 0, err
	}
	if api, err = kubernetes.NewForConfig(plane.RESTConfig()); err != nil {
		return 0, err
	}
	bin, err := dev.BinDir()
	if err != nil {
		return 0, err
	}
	node, err := kubelet.New(kubelet.Options{Config: plane.RESTConfig(), Dir: nodeDir, PathPrefix: bin,
		ShutdownGrace: time.Second})
	if err != nil {
		return 0, err
	}
	running, stop := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- node.Run(running) }()
	defer func() {
		stop()
		if ended := <-ran; err == nil {
			err = ended
		}
	}()
	return m.Run(), nil
}

func helper(dir string) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err == nil {
		var node *kubelet.Kubelet
		node, err = kubelet.New(kubelet.Options{Config: config, NodeName: os.Getenv("NODE"), Dir: dir,
			Log: logr.Discard()})
		if err == nil {
			err = node.Run(context.Background())
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// newNamespace makes a namespace in which pods can be made.
func newNamespace(t testing.TB) string {
	t.Helper()
	ns, err := api.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := api.CoreV1().ServiceAccounts(ns.Name).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if e, ok := <-w.ResultChan(); !ok || e.Type != watch.Added {
		t.Fatalf("namespace %s got no service account: %v", ns.Name, e)
	}
	return ns.Name
}

// podOf reads a pod's spec, of which only the containers need be given.
func podOf(t testing.TB, name, spec string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	no := false
	pod.Spec.RestartPolicy, pod.Spec.AutomountServiceAccountToken = corev1.RestartPolicyNever, &no
	if err := yaml.UnmarshalStrict([]byte(spec), &pod.Spec); err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			list[i].Image = "none"
		}
	}
	return pod
}

func create(t testing.TB, ns, name, spec string) *corev1.Pod {
	t.Helper()
	pod, err := api.CoreV1().Pods(ns).Create(t.Context(), podOf(t, name, spec), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// await waits until the pod is as wanted, and returns it so.
func await(t testing.TB, ns, name, want string, is func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var last *corev1.Pod
	pod := follow(t, ns, name, "", func(e watch.Event) bool {
		pod, ok := e.Object.(*corev1.Pod)
		if ok && e.Type != watch.Deleted {
			last = pod
		}
		return ok && e.Type != watch.Deleted && is(pod)
	})
	if pod == nil {
		if last == nil {
			t.Fatalf("pod %s was never there", name)
		}
		status, _ := yaml.Marshal(last.Status)
		t.Fatalf("pod %s is not %s:\n%s", name, want, status)
	}
	return pod
}

// awaitGone waits until the pod is no longer in the API, and returns it as it last was. It may be gone already.
func awaitGone(t testing.TB, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	last := follow(t, pod.Namespace, pod.Name, pod.ResourceVersion, func(e watch.Event) bool {
		return e.Type == watch.Deleted
	})
	if last == nil {
		t.Fatalf("pod %s is not gone", pod.Name)
	}
	return last
}

// follow watches a pod, from that version on or from how it is now, and returns it once done says so, or nil.
func follow(t testing.TB, ns, name, version string, done func(watch.Event) bool) *corev1.Pod {
	t.Helper()
	seconds := int64(patience.Seconds())
	w, err := api.CoreV1().Pods(ns).Watch(t.Context(), metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector("metadata.name", name).String(),
		ResourceVersion: version,
		TimeoutSeconds:  &seconds,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if done(e) {
			return e.Object.(*corev1.Pod)
		}
	}
	return nil
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func isRunning(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning }

func awaitEnd(t testing.TB, ns, name string) *corev1.Pod {
	t.Helper()
	return await(t, ns, name, "at its end", ended)
}

// logOf is what a container said so far.
func logOf(t testing.TB, ns, name, container string) string {
	t.Helper()
	log, err := api.CoreV1().Pods(ns).GetLogs(name, &corev1.PodLogOptions{Container: container}).DoRaw(t.Context())
	if err != nil {
		t.Fatalf("logs of %s: %v: %s", name, err, log)
	}
	return string(log)
}

// awaitLine follows a container's log until the line is there.
func awaitLine(t testing.TB, ns, name, line string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := api.CoreV1().Pods(ns).GetLogs(name, &corev1.PodLogOptions{Follow: true}).Stream(ctx)
	if err != nil {
		t.Fatalf("logs of %s: %v", name, err)
	}
	defer stream.Close()
	for lines := bufio.NewScanner(stream); lines.Scan(); {
		if lines.Text() == line {
			return
		}
	}
	t.Fatalf("pod %s never said %q", name, line)
}

// poll waits for what has no event.
func poll(t testing.TB, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); !done(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func remove(t testing.TB, pod *corev1.Pod, grace int64) {
	t.Helper()
	err := api.CoreV1().Pods(pod.Namespace).Delete(t.Context(), pod.Name,
		metav1.DeleteOptions{GracePeriodSeconds: &grace})
	if err != nil {
		t.Fatal(err)
	}
}

// inPod is where the node has a path that is mounted into the pod.
func inPod(uid types.UID, path string) string {
	return filepath.Join(nodeDir, "pods", string(uid), "fs", path)
}

// kubectl is the real one.
func kubectl(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := dev.BinDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(bin, "kubectl")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run make tools first", err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	var said strings.Builder
	cmd.Stderr = &said
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("kubectl %s: %s", strings.Join(args, " "), said.String())
		}
	})
	return cmd
}
