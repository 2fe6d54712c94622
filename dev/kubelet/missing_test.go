package kubelet_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodWaitsForAMissingSecret(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, spec     string
		waiting        string
		reason, events string
	}{
		{
			name: "in a volume",
			spec: `{containers: [{name: main, command: [cat, /s/user], volumeMounts: [{name: late, mountPath: /s}]}],
				volumes: [{name: late, secret: {secretName: late}}]}`,
			waiting: "ContainerCreating: ",
			reason:  "FailedMount", events: `MountVolume.SetUp failed for volume "late" : secret "late" not found`,
		},
		{
			name:    "in a variable",
			spec:    `{containers: [{name: main, command: [echo, -n, $(USER)], env: [{name: USER, valueFrom: {secretKeyRef: {name: late, key: user}}}]}]}`,
			waiting: `CreateContainerConfigError: secret "late" not found`,
			reason:  "Failed", events: `Error: secret "late" not found`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ns := newNamespace(t)
			create(t, ns, "pod", tt.spec)
			await(t, ns, "pod", "waiting", func(pod *corev1.Pod) bool {
				for _, c := range pod.Status.ContainerStatuses {
					if w := c.State.Waiting; w != nil && pod.Status.Phase == corev1.PodPending {
						return w.Reason+": "+w.Message == tt.waiting
					}
				}
				return false
			})
			awaitEvent(t, ns, tt.reason, tt.events)
			secret(t, ns, "late", map[string]string{"user": "alice"})
			if pod := awaitEnd(t, ns, "pod"); pod.Status.Phase != corev1.PodSucceeded {
				t.Errorf("phase %s", pod.Status.Phase)
			}
			if got := logOf(t, ns, "pod", "main"); got != "alice" {
				t.Errorf("read %q", got)
			}
		})
	}
}

func secret(t *testing.T, ns, name string, data map[string]string) {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
	if _, err := api.CoreV1().Secrets(ns).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func configMap(t *testing.T, ns, name string, data map[string]string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	if _, err := api.CoreV1().ConfigMaps(ns).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func awaitEvent(t *testing.T, ns, reason, message string) {
	t.Helper()
	seconds := int64(patience.Seconds())
	w, err := api.CoreV1().Events(ns).Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &seconds})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if event, ok := e.Object.(*corev1.Event); ok && event.Reason == reason &&
			strings.Contains(event.Message, message) {
			return
		}
	}
	t.Fatalf("no event %s: %s", reason, message)
}
