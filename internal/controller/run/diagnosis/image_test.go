package diagnosis

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/internal/controller/run/runtest"
)

func TestImageOfAPod(t *testing.T) {
	const digest = runtest.ImageDigest
	for name, tt := range map[string]struct{ spec, reported, want string }{
		"a tag, on containerd or CRI-O": {"registry.example.com:5000/a:1", "registry.example.com:5000/a@" +
			digest, "registry.example.com:5000/a:1@" + digest},
		"a tag, on Docker":                    {"a:1", "docker-pullable://a@" + digest, "a:1@" + digest},
		"no tag":                              {"a", "docker.io/library/a@" + digest, "a@" + digest},
		"a digest":                            {"a@" + digest, "docker.io/library/a@" + digest, "a@" + digest},
		"the same content of another place":   {"a:1", "mirror.example.com/b@" + digest, "a:1@" + digest},
		"a reference that was changed since":  {"evil@sha256:e711", "docker.io/library/a@" + digest, "evil@" + digest},
		"an image that was never pulled":      {"a:1", digest, ""},
		"an ID of CRI-O":                      {"a:1", digest[len("sha256:"):], ""},
		"an ID of Docker":                     {"a:1", "docker://" + digest, ""},
		"a digest of another kind":            {"a:1", "a@sha512:00", ""},
		"a container that is not there yet":   {"a:1", "", ""},
		"a pod without that container at all": {"", "a@" + digest, ""},
	} {
		pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "sidecar", ImageID: "sidecar@" + digest}, {Name: "engine", ImageID: tt.reported},
		}}}
		if tt.spec != "" {
			pod.Spec.Containers = []corev1.Container{{Name: "engine", Image: tt.spec}}
		}
		if got := Image(pod); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
