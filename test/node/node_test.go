//go:build e2e && linux

package node_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/test/node"
)

const probe = "registry.local/probe:1"

// cluster is a node with the image of probe.
type cluster struct {
	*testing.T
	*node.Node
	kube *kubernetes.Clientset
}

func TestNode(t *testing.T) {
	// A subtest, so that the node is stopped before the check for leftovers.
	t.Run("running", func(t *testing.T) {
		w := startWithProbe(t)
		for _, tt := range []struct {
			name string
			test func(cluster)
		}{
			{"kubectl logs and exec", logAndExec},
			{"pods reach Services, the API server and servers of the test", network},
			{"a volume is bound and has the fsGroup of the pod", disk},
			{"an image volume has the files of its image, read-only", imageVolume},
			{"a projected token has its audience", token},
			{"the keys of the token issuer are served", keys},
			{"running out of memory is reported", outOfMemory},
			{"a killed container is restarted", killed},
			{"a missing image is reported", noImage},
			{"every write is in the audit log", audit},
			{"the kubelet denies requests without permission", kubelet},
			{"a second node is rejected", second},
			{"a node without kubelet is not ready until it returns", lost},
		} {
			t.Run(tt.name, func(t *testing.T) { tt.test(cluster{t, w.Node, w.kube}) })
		}
	})
	t.Run("stopped without leftovers", func(t *testing.T) {
		if left := leftovers(t); len(left) > 0 {
			t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
		}
	})
	t.Run("the next node has its images only", func(t *testing.T) {
		w := start(t)
		for _, kind := range []string{"containers", "sandboxes", "leases"} {
			out, err := exec.CommandContext(t.Context(), filepath.Join(w.Tools, "ctr"),
				"--address", w.Containerd(), "--namespace", "k8s.io", kind, "ls").Output()
			w.must(err)
			if strings.Count(string(out), "\n") > 1 { // the first line has the names of the columns
				t.Errorf("it has %s of the previous node:\n%s", kind, out)
			}
		}
		w.run("talker", "serve") // its image is loaded by the previous node
	})
}

func start(t *testing.T) cluster {
	t.Helper()
	start := time.Now()
	n := node.Start(t)
	t.Logf("started in %s", time.Since(start).Round(time.Millisecond))
	kube, err := kubernetes.NewForConfig(n.Config)
	if err != nil {
		t.Fatal(err)
	}
	return cluster{t, n, kube}
}

func startWithProbe(t *testing.T) cluster {
	t.Helper()
	w := start(t)
	dir := t.TempDir()
	program, archive := filepath.Join(dir, "probe"), filepath.Join(dir, "probe.tar")
	image := node.Image{Ref: probe, Files: map[string]string{"/probe": program}, Entrypoint: []string{"/probe"}}
	for _, err := range []error{node.Build(t.Context(), "cairn.dev/cairn/test/node/probe", program),
		image.Write(archive), w.Load(t.Context(), archive)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func logAndExec(w cluster) {
	w.run("talker", "serve")
	w.kubectl("probe serves", "logs", "talker")
	w.kubectl("127.0.0.1", "exec", "talker", "--", "/probe", "read", "/etc/hosts")
}

func network(w cluster) {
	w.run("server", "serve")
	_, err := w.kube.CoreV1().Services("default").Create(w.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "greeter"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "server"},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}, metav1.CreateOptions{})
	w.must(err)
	w.run("client", "serve")
	// By its long name, by its short name, and from its own pod.
	w.kubectl("200 hello", "exec", "client", "--", "/probe", "get", "http://greeter.default.svc.cluster.local")
	w.kubectl("200 hello", "exec", "client", "--", "/probe", "get", "http://greeter")
	w.kubectl("200 hello", "exec", "server", "--", "/probe", "get", "http://greeter")
	w.kubectl("200 ok", "exec", "client", "--", "/probe", "get", "https://kubernetes.default.svc/readyz")

	l, err := (&net.ListenConfig{}).Listen(w.Context(), "tcp", net.JoinHostPort(w.Host, "0"))
	w.must(err)
	server := &http.Server{Handler: http.NotFoundHandler()}
	go server.Serve(l)
	w.Cleanup(func() { server.Close() })
	w.kubectl("404 ", "exec", "client", "--", "/probe", "get", "http://"+l.Addr().String())

	// From this machine to a pod.
	pod, err := w.kube.CoreV1().Pods("default").Get(w.Context(), "server", metav1.GetOptions{})
	w.must(err)
	answer, err := http.Get("http://" + net.JoinHostPort(pod.Status.PodIP, "8080"))
	w.must(err)
	answer.Body.Close()
}

func disk(w cluster) {
	_, err := w.kube.CoreV1().PersistentVolumeClaims("default").Create(w.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
		},
	}, metav1.CreateOptions{})
	w.must(err)
	user := int64(65532)
	w.runPod("writer", func(p *corev1.PodSpec) {
		p.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &user, RunAsGroup: &user, FSGroup: &user}
		p.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}
		p.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	}, "serve")
	w.kubectl("", "exec", "writer", "--", "/probe", "write", "/data/note", "kept")
	w.kubectl("kept", "exec", "writer", "--", "/probe", "read", "/data/note")
}

func imageVolume(w cluster) {
	w.runPod("importer", func(p *corev1.PodSpec) {
		p.Volumes = []corev1.Volume{{Name: "image", VolumeSource: corev1.VolumeSource{
			Image: &corev1.ImageVolumeSource{Reference: probe},
		}}}
		p.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "image", MountPath: "/image"}}
	}, "serve")
	w.kubectl("127.0.0.1", "exec", "importer", "--", "/image/probe", "read", "/etc/hosts")
	_, err := w.Kubectl(w.Context(), "exec", "importer", "--", "/probe", "write", "/image/note", "kept")
	if err == nil || !strings.Contains(err.Error(), "read-only file system") {
		w.Errorf("a write to the image volume: got %v", err)
	}
}

func token(w cluster) {
	seconds := int64(600)
	w.runPod("bearer", func(p *corev1.PodSpec) {
		p.Volumes = []corev1.Volume{{Name: "token",
			VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
					Audience: "audience", ExpirationSeconds: &seconds, Path: "token",
				}}},
			}}}}
		p.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "token", MountPath: "/token"}}
	}, "serve")
	token := w.kubectl("", "exec", "bearer", "--", "/probe", "read", "/token/token")
	for audience, want := range map[string]bool{"audience": true, "other": false} {
		review, err := w.kube.AuthenticationV1().TokenReviews().Create(w.Context(), &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}},
		}, metav1.CreateOptions{})
		w.must(err)
		if review.Status.Authenticated != want {
			w.Errorf("for %s: authenticated %t, want %t (%s)", audience, review.Status.Authenticated, want,
				review.Status.Error)
		}
		if pod := review.Status.User.Extra["authentication.kubernetes.io/pod-name"]; want && (len(pod) != 1 ||
			pod[0] != "bearer") {
			w.Errorf("the token is of pod %v, want bearer", pod)
		}
	}
}

func keys(w cluster) {
	for path, want := range map[string]string{
		"/.well-known/openid-configuration": `"jwks_uri":"https://kubernetes.default.svc.cluster.local/openid/v1/jwks"`,
		"/openid/v1/jwks":                   `"alg":"ES256"`,
	} {
		if got := w.kubectl("", "get", "--raw", path); !strings.Contains(got, want) {
			w.Errorf("%s has no %s: %s", path, want, got)
		}
	}
}

func outOfMemory(w cluster) {
	w.create("glutton", func(p *corev1.PodSpec) {
		p.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
		p.RestartPolicy = corev1.RestartPolicyNever
	}, "eat")
	pod := w.await("glutton", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	ended := pod.Status.ContainerStatuses[0].State.Terminated
	if ended == nil || ended.Reason != "OOMKilled" || ended.ExitCode != 137 {
		w.Errorf("got %+v, want OOMKilled and 137", ended)
	}
}

func killed(w cluster) {
	w.run("victim", "serve")
	w.must(w.KillContainer(w.Context(), "default", "victim", "probe", syscall.SIGKILL))
	pod := w.await("victim", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].RestartCount == 1 &&
			p.Status.ContainerStatuses[0].Ready
	})
	if ended := pod.Status.ContainerStatuses[0].LastTerminationState.Terminated; ended == nil || ended.ExitCode != 137 {
		w.Errorf("got %+v, want 137", ended)
	}
	// The running one of two.
	w.must(w.KillContainer(w.Context(), "default", "victim", "probe", syscall.SIGTERM))
	if err := w.KillContainer(w.Context(), "default", "victim", "nobody", syscall.SIGTERM); err == nil {
		w.Error("killing a container that does not exist succeeded")
	}
}

func noImage(w cluster) {
	w.create("empty", func(p *corev1.PodSpec) { p.Containers[0].Image = "registry.local/missing:1" }, "serve")
	w.await("empty", func(p *corev1.Pod) bool {
		if len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].State.Waiting == nil {
			return false
		}
		return p.Status.ContainerStatuses[0].State.Waiting.Reason == "ErrImagePull"
	})
}

func audit(w cluster) {
	config := rest.CopyConfig(w.Config)
	config.UserAgent = "tester"
	kube, err := kubernetes.NewForConfig(config)
	w.must(err)
	_, err = kube.CoreV1().ConfigMaps("default").Create(w.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "recorded"}}, metav1.CreateOptions{})
	w.must(err)
	w.eventually("the write to be in the audit log", func() error {
		writes, err := dev.Writes(w.AuditLog(), time.Time{}, func(x dev.Write) bool { return x.UserAgent == "tester" })
		if err == nil && (len(writes) != 1 || writes[0].Name != "recorded" || writes[0].User != "admin") {
			err = fmt.Errorf("got %+v", writes)
		}
		return err
	})
}

func kubelet(w cluster) {
	ask := func(config *rest.Config, want int) {
		w.Helper()
		client, err := rest.HTTPClientFor(config)
		w.must(err)
		answer, err := client.Get("https://172.31.255.1:10250/pods")
		w.must(err)
		answer.Body.Close()
		if answer.StatusCode != want {
			w.Errorf("got %s, want %d", answer.Status, want)
		}
	}
	config := rest.AnonymousClientConfig(w.Config)
	ask(config, http.StatusUnauthorized)
	token, err := w.kube.CoreV1().ServiceAccounts("default").CreateToken(w.Context(), "default",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	w.must(err)
	config.BearerToken = token.Status.Token
	ask(config, http.StatusForbidden)
}

func second(w cluster) {
	if _, err := node.Up(w.Context()); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("process %d runs a node already", os.Getpid())) {
		w.Errorf("got %v", err)
	}
	w.kubectl("node1", "get", "nodes") // which continues
}

func lost(w cluster) {
	ready := func(want corev1.ConditionStatus) {
		w.Helper()
		w.eventually("Ready to be "+string(want), func() error {
			n, err := w.kube.CoreV1().Nodes().Get(w.Context(), "node1", metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, c := range n.Status.Conditions {
				if c.Type == corev1.NodeReady && c.Status == want {
					return nil
				}
			}
			return errors.New("the status differs")
		})
	}
	w.StopKubelet()
	ready(corev1.ConditionUnknown)
	w.must(w.StartKubelet())
	ready(corev1.ConditionTrue)
	w.run("afterwards", "serve")
}

func (w cluster) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// kubectl runs kubectl until its output contains a text, since roles, endpoints and names take effect asynchronously.
func (w cluster) kubectl(want string, args ...string) (out string) {
	w.Helper()
	w.eventually("kubectl "+strings.Join(args, " "), func() (err error) {
		if out, err = w.Kubectl(w.Context(), args...); err == nil && !strings.Contains(out, want) {
			err = fmt.Errorf("got %q, want %q", out, want)
		}
		return err
	})
	return out
}

// run runs a pod with probe and waits until it is ready.
func (w cluster) run(name string, args ...string) {
	w.Helper()
	w.runPod(name, func(*corev1.PodSpec) {}, args...)
}

func (w cluster) runPod(name string, with func(*corev1.PodSpec), args ...string) {
	w.Helper()
	w.create(name, with, args...)
	w.await(name, func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].Ready
	})
}

func (w cluster) create(name string, with func(*corev1.PodSpec), args ...string) {
	w.Helper()
	now := int64(0)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &now,
			Containers: []corev1.Container{
				{Name: "probe", Image: probe, ImagePullPolicy: corev1.PullIfNotPresent, Args: args}},
		},
	}
	with(&pod.Spec)
	_, err := w.kube.CoreV1().Pods("default").Create(w.Context(), pod, metav1.CreateOptions{})
	w.must(err)
}

func (w cluster) await(pod string, ok func(*corev1.Pod) bool) (got *corev1.Pod) {
	w.Helper()
	w.eventually("pod "+pod, func() (err error) {
		if got, err = w.kube.CoreV1().Pods("default").Get(w.Context(), pod, metav1.GetOptions{}); err == nil &&
			!ok(got) {
			err = fmt.Errorf("its status is %s", &got.Status)
		}
		return err
	})
	return got
}

func (w cluster) eventually(what string, check func() error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	for tick := time.Tick(50 * time.Millisecond); ; {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			w.Fatalf("wait for %s: %v", what, err)
		case <-tick:
		}
	}
}
