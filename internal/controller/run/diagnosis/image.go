package diagnosis

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// imageDigest ends the image ID that a node reports for an image from a registry, as in
// registry.example.com/a@sha256:...
var imageDigest = regexp.MustCompile(`@(sha256:[0-9a-f]{64})$`)

// Image returns the image that the engine of a pod runs in, with its digest. The name is the one in the pod's spec,
// since the node may report another repository with the same content; the digest is only from the node. It is empty
// until the node reports the container, and if the node has only an ID of its own, as for an image that was imported
// into it.
func Image(pod *corev1.Pod) string {
	name, _, _ := strings.Cut(imageOf(pod, runinfo.ShellContainer), "@")
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name != runinfo.ShellContainer {
			continue
		}
		if digest := imageDigest.FindStringSubmatch(c.ImageID); digest != nil && name != "" {
			return name + "@" + digest[1]
		}
	}
	return ""
}
