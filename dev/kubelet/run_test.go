package kubelet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestInitContainersShareAVolume(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	create(t, ns, "pod", `
initContainers:
- {name: first, command: [sh, -c, 'echo one > "$OUT"'], env: [{name: OUT, value: /out/file}], volumeMounts: [{name: data, mountPath: /out}]}
- {name: second, command: [sh, -c, 'echo two >> "$0"', /data/file], volumeMounts: [{name: data, mountPath: /data}]}
containers:
- {name: main, command: [cat], args: [$(DIR)/file], env: [{name: DIR, value: /in}], volumeMounts: [{name: data, mountPath: /in}]}
volumes: [{name: data, emptyDir: {}}]
`)
	pod := awaitEnd(t, ns, "pod")
	if got, want := logOf(t, ns, "pod", "main"), "one\ntwo\n"; got != want {
		t.Errorf("read %q, want %q", got, want)
	}
	if pod.Status.Phase != corev1.PodSucceeded || pod.Spec.NodeName != "cairn-dev" || pod.Status.PodIP != "127.0.0.1" {
		t.Errorf("phase %s, node %s, ip %s", pod.Status.Phase, pod.Spec.NodeName, pod.Status.PodIP)
	}
	for _, c := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if end := c.State.Terminated; end == nil || end.Reason != "Completed" || end.StartedAt.IsZero() ||
			end.FinishedAt.IsZero() {
			t.Errorf("container %s: %+v", c.Name, c.State)
		}
	}
}

// What a Run downloads is as large as its providers: of finished Runs, which stay in the API, only the logs are kept.
func TestVolumesOfAnEndedPodAreRemoved(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	pod := create(t, ns, "pod", `
containers:
- {name: main, command: [sh, -c, 'echo large > "$0"; echo done', /data/provider], volumeMounts: [{name: data, mountPath: /data}]}
volumes: [{name: data, emptyDir: {}}, {name: unused, emptyDir: {}}]
`)
	awaitEnd(t, ns, "pod")
	folder := filepath.Join(nodeDir, "pods", string(pod.UID))
	poll(t, "the end of the volumes", func() bool {
		left, err := os.ReadDir(folder)
		return err == nil && len(left) == 1 && left[0].Name() == "containers"
	})
	if got := logOf(t, ns, "pod", "main"); got != "done\n" {
		t.Errorf("the log is %q", got)
	}
}

func TestEnvironmentOfTheHostIsNotInherited(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	pod := create(t, ns, "pod", `
containers:
- name: main
  command: [sh, -c, 'pwd; echo "$HOME"; echo "$TMPDIR"; echo "$IN"; test -d "$TMPDIR" && env | cut -d= -f1 | sort | grep -v "^[A-Z]*PWD\|^_" | xargs']
  workingDir: /work
  env: [{name: IN, value: /inputs}]
  volumeMounts: [{name: data, mountPath: /inputs/a/b}]
volumes: [{name: data, emptyDir: {}}]
`)
	awaitEnd(t, ns, "pod")
	got := strings.Split(strings.TrimSpace(logOf(t, ns, "pod", "main")), "\n")
	own := filepath.Join(nodeDir, "pods", string(pod.UID))
	want := []string{
		inPod(pod.UID, "work"), inPod(pod.UID, "work"), filepath.Join(own, "containers", "main", "tmp"),
		inPod(pod.UID, "inputs"),
		"HOME HOSTNAME IN PATH TMPDIR",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestExit(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	for i, tt := range []struct {
		name, container string
		phase           corev1.PodPhase
		code            int32
		reason, message string
	}{
		{"well", `command: ["true"]`, corev1.PodSucceeded, 0, "Completed", ""},
		{"a failure", `command: [sh, -c, "exit 7"]`, corev1.PodFailed, 7, "Error", ""},
		{"by a signal", `command: [sh, -c, "kill -KILL $$$$"]`, corev1.PodFailed, 137, "Error", ""},
		{"no such program", `command: [/no/such/program]`, corev1.PodFailed, 128, "StartError", "no such file"},
		{"no such program in PATH", `command: [no-such-program]`, corev1.PodFailed, 128, "StartError",
			"executable file not found in $PATH"},
		{"last words", `command: [sh, -c, "echo first; echo last >&2; exit 1"], terminationMessagePolicy: FallbackToLogsOnError`, corev1.PodFailed, 1, "Error", "first\nlast\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprintf("exit-%d", i)
			create(t, ns, name, "containers: [{name: main, "+tt.container+"}]")
			pod := awaitEnd(t, ns, name)
			got := pod.Status.ContainerStatuses[0].State.Terminated
			if got == nil || pod.Status.Phase != tt.phase || got.ExitCode != tt.code || got.Reason != tt.reason ||
				!strings.Contains(got.Message, tt.message) {
				t.Errorf("phase %s, got %+v", pod.Status.Phase, got)
			}
		})
	}
}

func TestFailedInitContainerFailsThePod(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	create(t, ns, "pod", `{initContainers: [{name: init, command: ["false"]}], containers: [{name: main, command: ["true"]}]}`)
	pod := awaitEnd(t, ns, "pod")
	if main := pod.Status.ContainerStatuses[0].State; pod.Status.Phase != corev1.PodFailed || main.Waiting == nil {
		t.Errorf("phase %s, main %+v", pod.Status.Phase, main)
	}
}

func TestContainersRunConcurrently(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	// Each waits for the other at the pipe.
	create(t, ns, "pod", `
initContainers:
- {name: init, command: [mkfifo, /data/pipe], volumeMounts: [{name: data, mountPath: /data}]}
containers:
- {name: writer, command: [sh, -c, 'echo hello > "$0"', /data/pipe], volumeMounts: [{name: data, mountPath: /data}]}
- {name: reader, command: [cat, /data/pipe], volumeMounts: [{name: data, mountPath: /data}]}
volumes: [{name: data, emptyDir: {}}]
`)
	awaitEnd(t, ns, "pod")
	if got := logOf(t, ns, "pod", "reader"); got != "hello\n" {
		t.Errorf("read %q", got)
	}
}

func TestProgramOfTheImageIsFoundInPathPrefix(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	// tofu is in the folder that the node has for programs of images, and surely not in that one.
	create(t, ns, "pod", `containers: [{name: main, command: [/usr/local/no/such/folder/tofu, version], env: [{name: CHECKPOINT_DISABLE, value: "1"}]}]`)
	awaitEnd(t, ns, "pod")
	if got := logOf(t, ns, "pod", "main"); !strings.HasPrefix(got, "OpenTofu v") {
		t.Errorf("it said %q", got)
	}
}

func TestUnsupportedPodFailsWithAReason(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	create(t, ns, "pod", `{restartPolicy: Always, containers: [{name: main, command: ["true"]}]}`)
	pod := awaitEnd(t, ns, "pod")
	if pod.Status.Phase != corev1.PodFailed || pod.Status.Reason != "UnsupportedRestartPolicy" {
		t.Errorf("phase %s, reason %s", pod.Status.Phase, pod.Status.Reason)
	}
	awaitEvent(t, ns, "UnsupportedRestartPolicy", "restartPolicy Always is not supported")
}

func TestSecretsAndConfigMapsAreMounted(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	secret(t, ns, "db", map[string]string{"user": "alice", "password": "hunter2"})
	configMap(t, ns, "code", map[string]string{"main.tf": "code"})
	create(t, ns, "pod", `
containers:
- name: main
  command: [sh, -c, 'cat "$1"; echo; stat -c %a "$1"; cat "$2"; echo; cat "$3"; echo; echo "$PASSWORD"; ls "$4"', sh, /secret/a/who, /code/main.tf, /all/name, /none]
  env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}]
  volumeMounts: [{name: db, mountPath: /secret}, {name: code, mountPath: /code}, {name: all, mountPath: /all}, {name: none, mountPath: /none}]
volumes:
- {name: db, secret: {secretName: db, items: [{key: user, path: a/who, mode: 0400}]}}
- {name: code, configMap: {name: code}}
- {name: all, projected: {sources: [{downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}]}}
- {name: none, secret: {secretName: none, optional: true}}
`)
	awaitEnd(t, ns, "pod")
	if got, want := logOf(t, ns, "pod", "main"), "alice\n400\ncode\npod\nhunter2\n"; got != want {
		t.Errorf("read %q, want %q", got, want)
	}
}

func TestTokenIsBoundToItsPod(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	create(t, ns, "pod", `
containers:
- {name: main, command: [cat, /var/run/secrets/cairn/token], volumeMounts: [{name: token, mountPath: /var/run/secrets/cairn}]}
volumes:
- {name: token, projected: {sources: [{serviceAccountToken: {path: token, audience: cairn, expirationSeconds: 600}}]}}
`)
	pod := awaitEnd(t, ns, "pod")
	token := logOf(t, ns, "pod", "main")
	review := func() authenticationv1.TokenReviewStatus {
		review, err := api.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{"cairn"}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return review.Status
	}
	status := review()
	if !status.Authenticated {
		t.Fatalf("not authenticated: %s", status.Error)
	}
	got := map[string]string{"user": status.User.Username}
	for _, key := range []string{"pod-name", "pod-uid", "node-name"} {
		got[key] = strings.Join(status.User.Extra["authentication.kubernetes.io/"+key], ",")
	}
	want := map[string]string{
		"user": "system:serviceaccount:" + ns + ":default", "pod-name": "pod", "pod-uid": string(pod.UID),
		"node-name": "cairn-dev",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPodEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	create(t, ns, "pod", `{activeDeadlineSeconds: 10, containers: [{name: main, command: [sleep, "600"]}]}`)
	pod := awaitEnd(t, ns, "pod")
	if end := pod.Status.ContainerStatuses[0].State.Terminated; pod.Status.Reason != "DeadlineExceeded" || end == nil ||
		end.ExitCode != 143 {
		t.Errorf("reason %s, state %+v", pod.Status.Reason, end)
	}
}
